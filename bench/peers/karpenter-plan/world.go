package main

import (
	"time"

	"github.com/awslabs/operatorpkg/status"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpenter "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// podGroup is a pod written once with the names of all its copies: worlds of many thousand pods stay small files.
type podGroup struct {
	Names []string   `json:"names"`
	Pod   corev1.Pod `json:"pod"`
}

// world is what the benchmark writes: everything Karpenter's scheduler reads, as Kubernetes objects.
type world struct {
	Pods []podGroup `json:"pods"`
	// Running pods name their nodes.
	Running    []*corev1.Pod         `json:"running"`
	Nodes      []*corev1.Node        `json:"nodes"`
	DaemonSets []*appsv1.DaemonSet   `json:"daemonSets"`
	NodePools  []*karpenter.NodePool `json:"nodePools"`
}

// firstCreated makes ages follow the order of the file, as they do in the benchmark's own worlds.
var firstCreated = time.Unix(1700000000, 0)

// pending is every pod, as the API server holds one that kube-scheduler found no node for.
func (w *world) pending() []*corev1.Pod {
	var pods []*corev1.Pod
	for i := range w.Pods {
		for _, name := range w.Pods[i].Names {
			pod := w.Pods[i].Pod.DeepCopy()
			pod.Name, pod.Namespace, pod.UID = name, "default", types.UID(name)
			pod.CreationTimestamp = metav1.NewTime(firstCreated)
			pod.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
			}}}
			pods = append(pods, pod)
		}
	}
	return pods
}

// objects is what the scheduler asks an API server for. Node pools count only when their conditions say that they are ready.
func (w *world) objects(pods []*corev1.Pod) []client.Object {
	var all []client.Object
	for _, pool := range w.NodePools {
		for _, condition := range []string{status.ConditionReady, karpenter.ConditionTypeValidationSucceeded, karpenter.ConditionTypeNodeClassReady} {
			pool.StatusConditions().SetTrue(condition)
		}
		all = append(all, pool)
	}
	for _, set := range w.DaemonSets {
		all = append(all, set)
	}
	for _, node := range w.Nodes {
		all = append(all, node)
	}
	for _, pod := range append(pods, w.Running...) {
		all = append(all, pod)
	}
	return all
}
