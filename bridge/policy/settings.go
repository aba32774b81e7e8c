package policy

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MaxLevel returns policy.sandbox.
func (p *Policy) MaxLevel() Level { return p.maxLevel }

// AllowsNetwork returns policy.network.
func (p *Policy) AllowsNetwork() bool { return p.network }

// AsksEscalation reports whether a person may let a call leave the sandbox, by policy.escalation.
func (p *Policy) AsksEscalation() bool { return p.asksEscalation }

// HasGate returns policy.gate.
func (p *Policy) HasGate() bool { return p.gate }

// AllowsUnknown returns whether policy.unknown_methods lets unknown methods and fields pass.
func (p *Policy) AllowsUnknown() bool { return p.allowsUnknown }

// LimitsModels reports whether the policy has policy.models.
func (p *Policy) LimitsModels() bool { return p.models != nil }

// LimitsEfforts reports whether the policy has policy.efforts.
func (p *Policy) LimitsEfforts() bool { return p.efforts != nil }

// Missing returns why the bundle of [policy_source] does not count; "" if it does, or if there is none.
func (p *Policy) Missing() string { return p.section.Missing }

// FromWorkspace reports whether a file of a workspace sets a part of the policy.
func (p *Policy) FromWorkspace() bool { return p.fromWorkspace }

// Settings returns the values that give a thread its sandbox and approval policy. With others, the
// thread of a recorded call would have other rights. Under audit it has those that the client wants.
func (p *Policy) Settings() string {
	return string(p.mode) + " " + strings.Join(p.approvals, ",") + " " + strconv.FormatBool(p.granular) + " " + p.maxLevel.String() + " " + strconv.FormatBool(p.gate)
}

// RuleEnds returns the times after now at which a rule ends, sorted. Between them, the policy decides alike. A rule
// that ends never makes the policy looser.
func (p *Policy) RuleEnds(now time.Time) (ends []time.Time) {
	for i := range p.section.Rules {
		if at := p.section.Rules[i].Ends(); at.After(now) {
			ends = append(ends, at)
		}
	}
	slices.SortFunc(ends, time.Time.Compare)
	return slices.CompactFunc(ends, time.Time.Equal)
}

// RootPaths returns the folders of policy.writable_roots outside the workspace.
func (p *Policy) RootPaths(home string) (paths []string) {
	for _, r := range p.roots {
		switch {
		case r.base == literalRoot:
			paths = append(paths, r.rest)
		case r.base == homeRoot && home != "":
			paths = append(paths, filepath.Join(home, r.rest))
		}
	}
	return paths
}

// AssumedThread returns a thread in a folder with the settings that the policy gives a thread without
// any, for explanations.
func (p *Policy) AssumedThread(folder string) *Thread {
	t := &Thread{Workspace: folder, Cwd: folder, Sandbox: p.maxLevel.String(), Approval: json.RawMessage(`"on-request"`)}
	if len(p.approvals) > 0 {
		t.Approval = JSONString(p.approvals[0])
		if p.gate && p.approvals[0] == "untrusted" {
			t.Approval, t.Gated = JSONString(GatedApproval), true
		}
	}
	return t
}
