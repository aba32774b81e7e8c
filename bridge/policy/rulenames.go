package policy

// These are the rules that refusals and changes name: keys of the configuration, and words for rules without a key.
const (
	RuleMode       = "policy.mode"
	RuleApproval   = "policy.approval"
	RuleGate       = "policy.gate"
	RuleReviewers  = "policy.reviewers"
	RuleSandbox    = "policy.sandbox"
	RuleNetwork    = "policy.network"
	RuleRoots      = "policy.writable_roots"
	RuleProtected  = "policy.protected_paths"
	RuleEscalation = "policy.escalation"
	RuleModels     = "policy.models"
	RuleEfforts    = "policy.efforts"
	RuleKeys       = "policy.config_keys"
	RuleRule       = "policy.rule"
	RuleApprovers  = "policy.rule.approvers"
	RuleMethods    = "policy.methods"
	RuleUnknown    = "policy.unknown_methods"
	RuleSecrets    = "secrets"  // State.Secrets; doctor has the same name
	RuleProtocol   = "protocol" // Codex could not read it, or not as it was meant
)
