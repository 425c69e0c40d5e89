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
	path := flag.String("world", "", "pods, daemonsets, nodes and node pools: one JSON value, or several of which each is planned by itself")
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

// print plans each world of a file and writes one line for each.
func print(ctx context.Context, path string, concurrency int) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	worlds, out := json.NewDecoder(file), json.NewEncoder(os.Stdout)
	for worlds.More() {
		w := &world{}
		if err := worlds.Decode(w); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		made, err := run(ctx, w, concurrency)
		if err != nil {
			return err
		}
		if err := out.Encode(made); err != nil {
			return err
		}
	}
	return nil
}
