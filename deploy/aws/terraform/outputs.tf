output "node_role" {
  description = "For `role` of each EC2NodeClass."
  value       = aws_iam_role.node.name
}

output "node_instance_profile" {
  description = "For `instanceProfile` of classes without a role. null: none was made."
  value       = one(aws_iam_instance_profile.node[*].name)
}

output "launcher_role" {
  description = "With IRSA, for the annotation eks.amazonaws.com/role-arn of the launcher's ServiceAccount."
  value       = aws_iam_role.service["launcher"].arn
}

output "reaper_role" {
  description = "With IRSA, for the annotation eks.amazonaws.com/role-arn of the reaper's ServiceAccount."
  value       = aws_iam_role.service["reaper"].arn
}

output "interruption_queue" {
  description = "The chart's interruptionQueue."
  value       = aws_sqs_queue.interruption.name
}
