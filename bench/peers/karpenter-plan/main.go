// Plans a benchmark's world with Karpenter's own scheduler, for comparison: a world (pods, daemonsets and node pools as
// Kubernetes objects) and instance types in the KWOK provider's format in, one JSON result with its times out.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"

	"sigs.k8s.io/controller-runtime/pkg/log"

	kwokoptions "sigs.k8s.io/karpenter/kwok/options"
	"sigs.k8s.io/karpenter/pkg/operator/injection"
	"sigs.k8s.io/karpenter/pkg/operator/logging"
	"sigs.k8s.io/karpenter/pkg/operator/options"
	"sigs.k8s.io/karpenter/pkg/test"
)

func main() {
	catalog := flag.String("catalog", "", "instance types, JSON in the KWOK provider's format")
	path := flag.String("world", "", "pods, daemonsets and node pools, JSON")
	concurrency := flag.Int("concurrency", 5, "Karpenter's own: how many nodes it tries a pod on at once (its benchmark uses 5)")
	flag.Parse()
	log.SetLogger(logging.NopLogger)
	ctx := options.ToContext(injection.WithControllerName(context.Background(), "provisioner"), test.Options())
	ctx = kwokoptions.ToContext(ctx, &kwokoptions.Options{InstanceTypesFilePath: *catalog})
	if err := print(ctx, *path, *concurrency); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func print(ctx context.Context, path string, concurrency int) error {
	w, err := readWorld(path)
	if err != nil {
		return err
	}
	made, err := run(ctx, w, concurrency)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(made)
}
