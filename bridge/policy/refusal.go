package policy

import (
	"encoding/json"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/rpc"
)

// RuleNobody is the rule of a refusal for want of a person who answers.
const RuleNobody = "approvals.nobody"

// Refusal describes a refused message. It is the data of the error.
type Refusal struct {
	Method string `json:"method"`
	Rule   string `json:"rule"` // the configuration key, "policy.sandbox"
	Reason string `json:"reason"`
	Field  string `json:"field,omitempty"`
	// Origin is the layer, file and line that set the rule. For a default it names the place that
	// enables the policy.
	Origin string `json:"origin,omitempty"`
	Hint   string `json:"hint,omitempty"`
	// Allowed is what a turn gets in place of a forbidden setting of a thread; nil: the turn keeps that of the thread.
	Allowed json.RawMessage `json:"allowed,omitempty"`
	// Sent and Echoed are the values of a failed verification.
	Sent   json.RawMessage `json:"sent,omitempty"`
	Echoed json.RawMessage `json:"echoed,omitempty"`
}

// NewRefusalError returns an error with r as data and as a message for people.
func NewRefusalError(code rpc.Code, r Refusal) *rpc.Error {
	var b strings.Builder
	b.WriteString(r.Method + ": ")
	if r.Field != "" {
		b.WriteString(r.Field + ": ")
	}
	b.WriteString(r.Reason + " (" + r.Rule)
	if r.Origin != "" {
		b.WriteString(", " + r.Origin)
	}
	b.WriteString(")")
	if r.Hint != "" {
		b.WriteString("; " + r.Hint)
	}
	return rpc.WithData(rpc.Errorf(code, "%s", b.String()), r)
}

// Sentence returns the refusal for the user: the reason, the setting and its place, and how to fix it. Some rules
// are no settings, such as a missing answer.
func (r Refusal) Sentence() string {
	s := strings.TrimSuffix(r.Reason, ".")
	if config.IsSetting(r.Rule) || r.Rule == RuleUser {
		s += ". The setting is " + r.Rule
		if r.Origin != "" {
			s += " in " + r.Origin
		}
	}
	if r.Hint != "" {
		s += "; " + strings.TrimSuffix(r.Hint, ".")
	}
	return s + "."
}

// Refusal returns the data of d.Err; nil if the message is not refused.
func (d Decision) Refusal() *Refusal {
	if d.Err == nil {
		return nil
	}
	r := new(Refusal)
	if jsonv2.Unmarshal(d.Err.Data, r) != nil {
		r = &Refusal{Reason: d.Err.Message}
	}
	return r
}

// OriginFunc returns the place in the configuration that set a key, as "user FILE:LINE"; "" for a
// default.
type OriginFunc func(key string) string

// RuleOrigin returns the place that set a rule; "" for a default.
func (p *Policy) RuleOrigin(rule string) string {
	if rule == RuleUser {
		return originUser
	}
	if p.originOf == nil {
		return ""
	}
	return p.originOf(rule)
}

// OriginOrDefault returns the place that set a rule, for a message. For a default it names the
// place that enables the policy.
func (p *Policy) OriginOrDefault(rule string) string {
	if o := p.RuleOrigin(rule); o != "" {
		return o
	}
	if o := p.RuleOrigin(RuleMode); o != "" {
		return "default; the policy is enabled by " + o
	}
	return "default"
}
