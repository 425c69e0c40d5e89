// Prints what a node of each instance type has to give, as Karpenter's AWS provider computes it: one
// line a type, `name resource=amount …`, CPU in thousandths and everything else in whole units.
//
// The types come from DescribeInstanceTypes of the endpoint in AWS_ENDPOINT_URL. Interfaces and
// addresses are replaced by those of Karpenter's own table, where it has the type, so that the pods
// do not depend on the endpoint. The node class is one of AL2023 without any settings.
package main

import (
	"context"
	"fmt"
	"os"
	"sort"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	v1 "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	"github.com/aws/karpenter-provider-aws/pkg/operator/options"
	"github.com/aws/karpenter-provider-aws/pkg/providers/instancetype"
	corev1 "k8s.io/api/core/v1"
)

func main() {
	// 0.075 is the default of VM_MEMORY_OVERHEAD_PERCENT.
	ctx := options.ToContext(context.Background(), &options.Options{VMMemoryOverheadPercent: 0.075})
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return err
	}
	pages := ec2.NewDescribeInstanceTypesPaginator(ec2.NewFromConfig(cfg), &ec2.DescribeInstanceTypesInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, info := range page.InstanceTypes {
			fmt.Println(line(ctx, withOwnLimits(info), cfg.Region))
		}
	}
	return nil
}

func withOwnLimits(info ec2types.InstanceTypeInfo) ec2types.InstanceTypeInfo {
	limits, known := instancetype.Limits[string(info.InstanceType)]
	if !known {
		return info
	}
	network := *info.NetworkInfo
	network.Ipv4AddressesPerInterface = aws.Int32(int32(limits.IPv4PerInterface))
	cards := make([]ec2types.NetworkCardInfo, 0, len(limits.NetworkCards))
	for _, card := range limits.NetworkCards {
		cards = append(cards, ec2types.NetworkCardInfo{
			MaximumNetworkInterfaces: aws.Int32(int32(card.MaximumNetworkInterfaces)),
			NetworkCardIndex:         aws.Int32(int32(card.NetworkCardIndex)),
		})
	}
	network.NetworkCards = cards
	network.DefaultNetworkCardIndex = aws.Int32(int32(limits.DefaultNetworkCardIndex))
	info.NetworkInfo = &network
	return info
}

func line(ctx context.Context, info ec2types.InstanceTypeInfo, region string) string {
	it := instancetype.NewInstanceType(ctx, info, region, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil,
		v1.AMIFamilyAL2023, nil)
	fields := []string{}
	for name, amount := range it.Allocatable() {
		count := amount.Value()
		if name == corev1.ResourceCPU {
			count = amount.MilliValue()
		}
		if count != 0 {
			fields = append(fields, fmt.Sprintf("%s=%d", name, count))
		}
	}
	sort.Strings(fields)
	return it.Name + " " + strings.Join(fields, " ")
}
