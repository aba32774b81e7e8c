package assembly

import (
	"context"
	"errors"
	"strings"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/hello"
	"codex-bridge.example/bridge/problem"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/cmd/codex-bridge/internal/compat"
	"codex-bridge.example/cmd/codex-bridge/internal/configured"
	"codex-bridge.example/cmd/codex-bridge/internal/decisionlog"
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
		"files": files, "profile": strings.TrimSuffix(PolicyProfile(cfg.Policy), ": "), "rules": list, "ruleCount": len(cfg.Policy.Rules),
		"sandbox": cfg.Policy.Sandbox, "approval": cfg.Policy.Approval, "escalation": cfg.Policy.Escalation,
		"remember": cfg.Approvals.Remember, "rememberMs": time.Duration(cfg.Approvals.TTL).Milliseconds(), "timeoutMs": time.Duration(cfg.Approvals.Timeout).Milliseconds(),
	}
	if table := compat.StatusOfTable(cfg); table != nil {
		status["table"] = table
	}
	if source := configured.StatusOfSource(cfg); source != nil {
		status["policySource"] = source
	}
	return status
}

// PolicyProfile returns the preset, security and ask settings as a prefix, or "".
func PolicyProfile(p config.Policy) string {
	var settings []string
	for _, one := range [][2]string{{"preset", p.Preset}, {"security", p.Security}, {"ask", p.Ask}} {
		if one[1] != "" {
			settings = append(settings, one[0]+" "+one[1])
		}
	}
	if settings == nil {
		return ""
	}
	return strings.Join(settings, ", ") + ": "
}

// showFleet adds the fleet log to bridge/status, if there is one.
func showFleet(hi *hello.Hello, cfg *config.Config, record *decisionlog.Log) {
	sink, err := decisionlog.NewSink(cfg)
	if err != nil {
		return
	}
	hi.AddStatus("fleet", func() any {
		ctx, cancel := context.WithTimeout(context.Background(), decisionlog.FleetGrace)
		defer cancel()
		state := decisionlog.FleetState{Location: sink.Location()}
		s, err := record.Existing(ctx)
		if err == nil {
			state, err = decisionlog.ReadFleetState(ctx, s, sink.Location())
		}
		if err != nil && !errors.Is(err, store.ErrNotExist) {
			state.Error = problem.Text(err)
		}
		return state
	})
}
