variable "cluster_name" {
  description = "The name of the EKS cluster."
  type        = string
}

variable "namespace" {
  description = "The namespace that Dovetail is installed in."
  type        = string
  default     = "dovetail"
}

variable "launcher_service_account" {
  description = "The launcher's ServiceAccount: <release>-launcher, if the chart names it."
  type        = string
  default     = "dovetail-launcher"
}

variable "reaper_service_account" {
  description = "The reaper's ServiceAccount: <release>-reaper, if the chart names it."
  type        = string
  default     = "dovetail-reaper"
}

variable "oidc_provider" {
  description = "For IRSA: the cluster's OIDC issuer without https://, with an IAM OIDC provider. Empty: EKS Pod Identity."
  type        = string
  default     = ""
}

variable "node_role_name" {
  description = "The name of the nodes' role. Empty: it is made up."
  type        = string
  default     = ""
}

variable "access_entry" {
  description = "Lets nodes join by an access entry. false only if aws-auth alone names the role."
  type        = bool
  default     = true
}

variable "instance_profile" {
  description = "Makes an instance profile for classes that name instanceProfile."
  type        = bool
  default     = false
}

variable "spot_service_linked_role" {
  description = "Makes the service-linked role of Spot. An account has it once; creating it twice fails."
  type        = bool
  default     = false
}
