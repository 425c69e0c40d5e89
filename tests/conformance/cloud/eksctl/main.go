// Checks a configuration file as eksctl does before it calls AWS: unknown fields, then its own rules.
package main

import (
	"fmt"
	"os"

	api "github.com/weaveworks/eksctl/pkg/apis/eksctl.io/v1alpha5"
	"sigs.k8s.io/yaml"
)

func check(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	config := api.NewClusterConfig()
	if err := yaml.UnmarshalStrict(text, config); err != nil {
		return err
	}
	api.SetClusterConfigDefaults(config)
	if err := api.ValidateClusterConfig(config); err != nil {
		return err
	}
	for index, group := range config.ManagedNodeGroups {
		if err := api.SetManagedNodeGroupDefaults(group, config.Metadata, false); err != nil {
			return err
		}
		if err := api.ValidateManagedNodeGroup(index, group); err != nil {
			return err
		}
	}
	for _, addon := range config.Addons {
		if err := addon.Validate(); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	if err := check(os.Args[1]); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
