package main

import (
	"context"
	"math"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	kwok "sigs.k8s.io/karpenter/kwok/cloudprovider"
	karpenter "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/events"
)

// node is one NodeClaim that Karpenter would create, priced as if its cheapest remaining offering were launched.
type node struct {
	NodePool     string   `json:"nodePool"`
	InstanceType string   `json:"instanceType"`
	Zone         string   `json:"zone"`
	CapacityType string   `json:"capacityType"`
	Price        float64  `json:"price"`
	Pods         []string `json:"pods"`
}

// result is one run. Its own benchmark leaves preparing (the scheduler's topology and caches) out of its figures, so
// both times are told.
type result struct {
	Pods     int    `json:"pods"`
	Unplaced int    `json:"unplaced"`
	Nodes    []node `json:"nodes"`
	// Existing is pods by the node that exists and takes them.
	Existing            map[string][]string `json:"existing"`
	PricePerHour        float64             `json:"pricePerHour"`
	PrepareMilliseconds float64             `json:"prepareMilliseconds"`
	SolveMilliseconds   float64             `json:"solveMilliseconds"`
	// SolveCPUMilliseconds is processor time of all threads while solving: a busy machine stretches the clock, not this.
	SolveCPUMilliseconds float64 `json:"solveCpuMilliseconds"`
	MaxResidentBytes     int64   `json:"maxResidentBytes"`
}

func nodeNameOf(object client.Object) []string { return []string{object.(*corev1.Pod).Spec.NodeName} }

// run plans a world from nothing, with a new scheduler as every provisioning round makes one.
func run(ctx context.Context, w *world, concurrency int) (*result, error) {
	instanceTypes, err := kwok.ConstructInstanceTypes(ctx)
	if err != nil {
		return nil, err
	}
	pods := w.pending()
	api := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(w.objects(pods)...).
		WithStatusSubresource(&karpenter.NodePool{}, &karpenter.NodeClaim{}).
		WithIndex(&corev1.Pod{}, "spec.nodeName", nodeNameOf).Build()
	cloud := kwok.NewCloudProvider(ctx, api, instanceTypes)
	cluster := state.NewCluster(clock.RealClock{}, api, cloud)
	for _, set := range w.DaemonSets {
		if err := cluster.UpdateDaemonSet(ctx, set); err != nil {
			return nil, err
		}
	}
	for _, node := range w.Nodes {
		if err := cluster.UpdateNode(ctx, node); err != nil {
			return nil, err
		}
	}
	for _, pod := range w.Running {
		if err := cluster.UpdatePod(ctx, pod); err != nil {
			return nil, err
		}
	}
	recorder := events.NewRecorder(&record.FakeRecorder{})
	provisioner := provisioning.NewProvisioner(api, recorder, cloud, cluster, clock.RealClock{}, nil, nil)
	began := time.Now()
	scheduler, err := provisioner.NewScheduler(ctx, pods, cluster.DeepCopyNodes().Active(), sets.New[types.UID](),
		scheduling.DisableReservedCapacityFallback, scheduling.NumConcurrentReconciles(concurrency))
	if err != nil {
		return nil, err
	}
	prepared, before := time.Now(), usage()
	solved, err := scheduler.Solve(ctx, pods)
	at, after := time.Now(), usage()
	if err != nil {
		return nil, err
	}
	made := resultOf(solved, len(pods))
	made.PrepareMilliseconds = milliseconds(prepared.Sub(began))
	made.SolveMilliseconds, made.SolveCPUMilliseconds = milliseconds(at.Sub(prepared)), milliseconds(cpuOf(after)-cpuOf(before))
	made.MaxResidentBytes = after.Maxrss * 1024
	return made, nil
}

func usage() syscall.Rusage {
	var used syscall.Rusage
	// Asking about this process itself cannot fail.
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return used
}

func cpuOf(used syscall.Rusage) time.Duration {
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func resultOf(solved scheduling.Results, pods int) *result {
	made := &result{Pods: pods, Unplaced: len(solved.PodErrors), Nodes: []node{}, Existing: map[string][]string{}}
	for _, existing := range solved.ExistingNodes {
		for _, pod := range existing.Pods {
			made.Existing[existing.Name()] = append(made.Existing[existing.Name()], pod.Name)
		}
	}
	for _, claim := range solved.NewNodeClaims {
		one := node{Price: math.Inf(1), NodePool: claim.NodePoolName}
		for _, instanceType := range claim.InstanceTypeOptions {
			for _, offering := range instanceType.Offerings.Available().Compatible(claim.Requirements) {
				if offering.Price < one.Price {
					one.InstanceType, one.Price = instanceType.Name, offering.Price
					one.Zone = offering.Requirements.Get(corev1.LabelTopologyZone).Any()
					one.CapacityType = offering.Requirements.Get(karpenter.CapacityTypeLabelKey).Any()
				}
			}
		}
		for _, pod := range claim.Pods {
			one.Pods = append(one.Pods, pod.Name)
		}
		made.Nodes = append(made.Nodes, one)
		made.PricePerHour += one.Price
	}
	return made
}
