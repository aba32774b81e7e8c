package main

import (
	"strings"
	"time"

	"codex-bridge.example/bridge/config"
)

// maxStatusRules bounds the rules in bridge/status.
const maxStatusRules = 500

// ruleStatus is a rule in bridge/status.
type ruleStatus struct {
	Tool      string `json:"tool,omitempty"`
	Command   string `json:"command,omitempty"`
	Path      string `json:"path,omitempty"`
	Escalated bool   `json:"escalated,omitempty"`
	Decision  string `json:"decision"`
	Reason    string `json:"reason,omitempty"`
	Owner     string `json:"owner,omitempty"`
	Ticket    string `json:"ticket,omitempty"`
	Until     string `json:"until,omitempty"`
	Expired   bool   `json:"expired,omitempty"`
	Approvers string `json:"approvers,omitempty"`
	Count     int    `json:"approverCount,omitempty"`
	Origin    string `json:"origin"`
}

// configurationStatus returns the member configuration of bridge/status: the files that were read, the
// preset, security and ask settings, and the rules with their places.
func configurationStatus(cfg *config.Config) any {
	list := make([]ruleStatus, 0, len(cfg.Policy.Rules))
	for _, r := range cfg.Policy.Rules[:min(len(cfg.Policy.Rules), maxStatusRules)] {
		list = append(list, ruleStatus{r.Tool, r.Command, r.Path, r.Escalated, r.Decision, r.Why(), r.Owner, r.Ticket, r.Until, r.IsExpired(time.Now()), r.Approvers, r.ApproverCount, r.Origin.String()})
	}
	files := cfg.Files()
	if files == nil {
		files = []string{}
	}
	status := map[string]any{
		"files": files, "profile": strings.TrimSuffix(policyProfile(cfg.Policy), ": "), "rules": list, "ruleCount": len(cfg.Policy.Rules),
		"sandbox": cfg.Policy.Sandbox, "approval": cfg.Policy.Approval, "escalation": cfg.Policy.Escalation,
		"remember": cfg.Approvals.Remember, "rememberMs": time.Duration(cfg.Approvals.TTL).Milliseconds(), "timeoutMs": time.Duration(cfg.Approvals.Timeout).Milliseconds(),
	}
	if table := statusOfTable(cfg); table != nil {
		status["table"] = table
	}
	if source := statusOfSource(cfg); source != nil {
		status["policySource"] = source
	}
	return status
}
