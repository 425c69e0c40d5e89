// Command hash reads objects as JSON from its input and writes the drift hash of each, by
// Karpenter's own code, as `name<TAB>hash`. Before them it writes the versions of the hashes.
//
//	crds=../../../../tests/conformance/crds
//	cd hash && GOWORK=off GOTOOLCHAIN=go1.26.10 go run . <$crds/karpenter-hash-cases.json >$crds/karpenter-hashes.txt
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"

	awsv1 "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	corev1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

type hashCase struct {
	Name     string          `json:"name"`
	CaBundle *string         `json:"caBundle"`
	Object   json.RawMessage `json:"object"`
}

func hashOf(one hashCase) (string, error) {
	var head struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(one.Object, &head); err != nil {
		return "", err
	}
	if head.Kind == "NodePool" {
		var pool corev1.NodePool
		if err := json.Unmarshal(one.Object, &pool); err != nil {
			return "", err
		}
		return pool.Hash(), nil
	}
	var class awsv1.EC2NodeClass
	if err := json.Unmarshal(one.Object, &class); err != nil {
		return "", err
	}
	return class.Hash(one.CaBundle), nil
}

func main() {
	var cases []hashCase
	if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("NodePool version\t%s\n", corev1.NodePoolHashVersion)
	fmt.Printf("EC2NodeClass version\t%s\n", awsv1.EC2NodeClassHashVersion)
	for _, one := range cases {
		hash, err := hashOf(one)
		if err != nil {
			log.Fatalf("%s: %v", one.Name, err)
		}
		fmt.Printf("%s\t%s\n", one.Name, hash)
	}
}
