variable "cluster_name" {
  description = "The name of the EKS cluster."
  type        = string

  validation {
    condition     = can(regex("^[0-9A-Za-z][0-9A-Za-z_-]{0,99}$", var.cluster_name))
    error_message = "Give the name of an EKS cluster, not its ARN: at most 100 letters, digits, _ and -, the first a letter or a digit."
  }
}

variable "namespace" {
  description = "The namespace that Dovetail is installed in."
  type        = string
  default     = "dovetail"

  validation {
    condition     = can(regex("^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$", var.namespace))
    error_message = "Give the name of a namespace: at most 63 lower-case letters, digits and -, a letter or a digit at both ends."
  }
}

variable "launcher_service_account" {
  description = "The launcher's ServiceAccount: <release>-launcher, if the chart names it."
  type        = string
  default     = "dovetail-launcher"

  validation {
    condition     = can(regex("^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$", var.launcher_service_account))
    error_message = "Give the name of a ServiceAccount, without its namespace: lower-case letters, digits, - and dots, a letter or a digit at both ends."
  }
}

variable "reaper_service_account" {
  description = "The reaper's ServiceAccount: <release>-reaper, if the chart names it."
  type        = string
  default     = "dovetail-reaper"

  validation {
    condition     = can(regex("^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$", var.reaper_service_account))
    error_message = "Give the name of a ServiceAccount, without its namespace: lower-case letters, digits, - and dots, a letter or a digit at both ends."
  }
}

variable "oidc_provider" {
  description = "For IRSA: the cluster's OIDC issuer without https://, with an IAM OIDC provider. Empty: EKS Pod Identity."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^([0-9A-Za-z.-]+(/[0-9A-Za-z/_-]+)?)?$", var.oidc_provider))
    error_message = "Give the issuer without https:// and no ARN, such as oidc.eks.us-west-2.amazonaws.com/id/0123. Of an issuer with it: trimprefix(issuer, \"https://\")."
  }
}

variable "node_role_name" {
  description = "The name of the nodes' role. Empty: it is made up."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^[\\w+=,.@-]{0,64}$", var.node_role_name))
    error_message = "Give the name of a role, not its ARN and without a path: at most 64 letters, digits and _+=,.@-."
  }
}

variable "queue_name" {
  description = "The name of the queue, for the chart's interruptionQueue. Only one cluster may use it. Empty: it is made up."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^[0-9A-Za-z_-]{0,80}$", var.queue_name))
    error_message = "Give the name of an SQS queue, not its URL or ARN: at most 80 letters, digits, _ and -."
  }
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
