package policy

import (
	"encoding/json"
	"strings"

	"codex-bridge/rpc"
)

// Refusal is what is wrong with a message that is refused: the data of its error.
type Refusal struct {
	Method string `json:"method"`
	Rule   string `json:"rule"` // the configuration key, "policy.sandbox"
	Reason string `json:"reason"`
	Field  string `json:"field,omitempty"`
	// Origin is the place that says so: layer, file and line. For a rule that no
	// file sets it is the place that puts the policy in force.
	Origin string `json:"origin,omitempty"`
	Hint   string `json:"hint,omitempty"`
	// Sent and Echoed are the values of a verification that failed.
	Sent   json.RawMessage `json:"sent,omitempty"`
	Echoed json.RawMessage `json:"echoed,omitempty"`
}

// NewRefusalError returns the error of a refusal: the same in words for a person.
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

// Refusal is what Err says in its data; nil when nothing is refused.
func (d Decision) Refusal() *Refusal {
	if d.Err == nil {
		return nil
	}
	r := new(Refusal)
	if json.Unmarshal(d.Err.Data, r) != nil {
		r = &Refusal{Reason: d.Err.Message}
	}
	return r
}

// OriginFunc tells which place of the configuration decided a key: "user FILE:LINE"; ""
// when none sets it.
type OriginFunc func(key string) string

// origin is the place that set a rule, "" for a default.
func (p *Policy) ruleOrigin(rule string) string {
	if p.originOf == nil {
		return ""
	}
	return p.originOf(rule)
}

// place is origin for people who have to change something: of a default it says
// where the policy was put in force.
func (p *Policy) originOrDefault(rule string) string {
	if o := p.ruleOrigin(rule); o != "" {
		return o
	}
	if o := p.ruleOrigin(ruleMode); o != "" {
		return "default; policy is in force by " + o
	}
	return "default"
}
