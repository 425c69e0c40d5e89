# Dovetail's side of AWS for one EKS cluster, as in ../cloudformation.yaml: the role of its nodes, a role each for
# the launcher and the reaper, and the queue of interruption notices. The policies are those of ../../iam.

terraform {
  required_version = ">= 1.5"
  required_providers {
    aws = { source = "hashicorp/aws", version = ">= 5.40" }
  }
}

data "aws_caller_identity" "current" {}
data "aws_partition" "current" {}
data "aws_region" "current" {}

locals {
  account   = data.aws_caller_identity.current.account_id
  partition = data.aws_partition.current.partition
  # `name` is deprecated in version 6 of the provider, and `region` is not there in version 5; `id` is the region in both.
  region = data.aws_region.current.id
  events = jsondecode(file("${path.module}/../events.json"))
  accounts = {
    launcher = var.launcher_service_account
    reaper   = var.reaper_service_account
  }
  by_oidc = var.oidc_provider != ""
  policies = {
    for service in keys(local.accounts) : service => templatefile("${path.module}/../../iam/${service}.json", {
      AWS_PARTITION      = local.partition
      AWS_REGION         = local.region
      AWS_ACCOUNT_ID     = local.account
      CLUSTER_NAME       = var.cluster_name
      INTERRUPTION_QUEUE = aws_sqs_queue.interruption.name
      NODE_ROLE          = aws_iam_role.node.name
    })
  }
  trusts = {
    for service, account in local.accounts : service => local.by_oidc ? templatefile("${path.module}/../../iam/trust-irsa.json", {
      AWS_PARTITION   = local.partition
      AWS_ACCOUNT_ID  = local.account
      OIDC_PROVIDER   = var.oidc_provider
      NAMESPACE       = var.namespace
      SERVICE_ACCOUNT = account
      }) : templatefile("${path.module}/../../iam/trust-pod-identity.json", {
      AWS_PARTITION   = local.partition
      AWS_REGION      = local.region
      AWS_ACCOUNT_ID  = local.account
      CLUSTER_NAME    = var.cluster_name
      NAMESPACE       = var.namespace
      SERVICE_ACCOUNT = account
    })
  }
}

resource "aws_iam_role" "node" {
  name        = var.node_role_name != "" ? var.node_role_name : null
  name_prefix = var.node_role_name != "" ? null : "dovetail-node-"
  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { Service = "ec2.${data.aws_partition.current.dns_suffix}" }
      Action    = "sts:AssumeRole"
    }]
  })
}

resource "aws_iam_role_policy_attachment" "node" {
  for_each = toset([
    "AmazonEKSWorkerNodePolicy",
    "AmazonEKS_CNI_Policy",
    "AmazonEC2ContainerRegistryPullOnly",
    "AmazonSSMManagedInstanceCore",
  ])
  role       = aws_iam_role.node.name
  policy_arn = "arn:${local.partition}:iam::aws:policy/${each.key}"
}

resource "aws_iam_instance_profile" "node" {
  count       = var.instance_profile ? 1 : 0
  name_prefix = "dovetail-node-"
  role        = aws_iam_role.node.name
}

resource "aws_eks_access_entry" "node" {
  count         = var.access_entry ? 1 : 0
  cluster_name  = var.cluster_name
  principal_arn = aws_iam_role.node.arn
  type          = "EC2_LINUX"
}

# The module does not make the service-linked role of Spot: an account has it once, and `terraform destroy` of one
# cluster would take it from all others. A failed check is a warning: nothing else depends on the role.
check "spot_service_linked_role" {
  data "aws_iam_roles" "spot" {
    path_prefix = "/aws-service-role/spot.amazonaws.com/"
  }

  assert {
    condition     = length(data.aws_iam_roles.spot.names) > 0
    error_message = "The account cannot launch Spot instances yet. Once for all clusters: aws iam create-service-linked-role --aws-service-name spot.amazonaws.com"
  }
}

resource "aws_iam_policy" "service" {
  for_each    = local.policies
  name_prefix = "dovetail-${each.key}-"
  policy      = each.value
}

resource "aws_iam_role" "service" {
  for_each           = local.trusts
  name_prefix        = "dovetail-${each.key}-"
  assume_role_policy = each.value
}

resource "aws_iam_role_policy_attachment" "service" {
  for_each   = local.accounts
  role       = aws_iam_role.service[each.key].name
  policy_arn = aws_iam_policy.service[each.key].arn
}

resource "aws_eks_pod_identity_association" "service" {
  for_each        = local.by_oidc ? {} : local.accounts
  cluster_name    = var.cluster_name
  namespace       = var.namespace
  service_account = each.value
  role_arn        = aws_iam_role.service[each.key].arn
}

resource "aws_sqs_queue" "interruption" {
  name                      = var.queue_name != "" ? var.queue_name : null
  name_prefix               = var.queue_name != "" ? null : "dovetail-"
  message_retention_seconds = 300
  sqs_managed_sse_enabled   = true
}

resource "aws_cloudwatch_event_rule" "interruption" {
  for_each      = local.events
  name_prefix   = "dovetail-"
  description   = "Dovetail, cluster ${var.cluster_name}: ${each.key}"
  event_pattern = jsonencode(each.value)
}

resource "aws_cloudwatch_event_target" "interruption" {
  for_each = local.events
  rule     = aws_cloudwatch_event_rule.interruption[each.key].name
  arn      = aws_sqs_queue.interruption.arn
}

resource "aws_sqs_queue_policy" "interruption" {
  queue_url = aws_sqs_queue.interruption.url
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid       = "RulesOfThisStack"
        Effect    = "Allow"
        Principal = { Service = "events.amazonaws.com" }
        Action    = "sqs:SendMessage"
        Resource  = aws_sqs_queue.interruption.arn
        Condition = {
          StringEquals = { "aws:SourceAccount" = local.account }
          ArnEquals    = { "aws:SourceArn" = [for rule in aws_cloudwatch_event_rule.interruption : rule.arn] }
        }
      },
      {
        Sid       = "NothingInTheClear"
        Effect    = "Deny"
        Principal = "*"
        Action    = "sqs:*"
        Resource  = aws_sqs_queue.interruption.arn
        Condition = { Bool = { "aws:SecureTransport" = "false" } }
      },
    ]
  })
}
