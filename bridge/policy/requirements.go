package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/rpc"
)

const ruleRequirements = "requirements"

// Requirements are what the administrator of the machine requires of Codex. Codex replaces other values
// without an error (measured with 0.169), so the bridge must not send them.
type Requirements struct {
	approvals, sandboxes, reviewers, webSearch []string // nil allows all
	reduced                                    bool     // approvals are limited to a list that has the granular one without questions
	features                                   map[string]bool
	profiles                                   []string   // the allowed permissions profiles; nil allows all
	network                                    bool       // commands in the sandbox have network through Codex's proxy
	prompts                                    *rules.Set // commands about which a person must be asked; nil for none
	place                                      string     // for messages
}

// ParseRequirements parses the response to configRequirements/read. prompts are ask rules for the
// commands about which Codex asks by a requirement, which the response omits. place names the origin.
func ParseRequirements(result rpc.Value, prompts []config.Rule, place string) (*Requirements, error) {
	r := &Requirements{features: make(map[string]bool), place: place}
	v := result.Get("requirements")
	if v.Kind() != rpc.Object && !IsUnset(v) {
		return nil, fmt.Errorf("configRequirements/read: requirements is %v", v.Kind())
	}
	for _, list := range []struct {
		member string
		to     *[]string
	}{
		{"allowedApprovalPolicies", &r.approvals}, {"allowedSandboxModes", &r.sandboxes},
		{"allowedApprovalsReviewers", &r.reviewers}, {"allowedWebSearchModes", &r.webSearch},
	} {
		words := v.Get(list.member)
		if IsUnset(words) {
			continue
		}
		if words.Kind() != rpc.Array {
			return nil, fmt.Errorf("configRequirements/read: %s is %v", list.member, words.Kind())
		}
		*list.to = []string{}
		for word := range words.Elements() {
			if text, ok := word.Text(); ok { // a granular approval policy is an object
				*list.to = append(*list.to, text)
			}
			r.reduced = r.reduced || IsReduced(word) && questionsOf(word) == questions{}
		}
	}
	for name, on := range v.Get("featureRequirements").Members() {
		if is, ok := on.Bool(); ok {
			r.features[methods.FoldName(name)] = is
		}
	}
	if profiles := v.Get("allowedPermissionProfiles"); !IsUnset(profiles) {
		r.profiles = []string{}
		for name, allowed := range profiles.Members() {
			if on, ok := allowed.Bool(); ok && on {
				r.profiles = append(r.profiles, name)
			}
		}
	}
	r.network, _ = v.Get("network").Get("enabled").Bool()
	var err error
	if len(prompts) > 0 {
		r.prompts, err = rules.New([][]config.Rule{prompts})
	}
	return r, err
}

// Within returns the policy with only those values that the requirements allow, to decide together with
// p; nil if the requirements limit nothing. The error says which key and requirement contradict each
// other.
func (p *Policy) Within(r *Requirements, method string) (*Policy, *rpc.Error) {
	t := *p
	t.required = r
	t.originOf = func(key string) string {
		if key == RuleApproval || key == RuleSandbox || key == RuleReviewers {
			return r.place
		}
		return p.RuleOrigin(key)
	}
	contradict := func(rule, reason, hint string) *rpc.Error {
		return NewRefusalError(rpc.CodeRefused, Refusal{Method: method, Rule: rule, Reason: "the machine's requirements " + reason, Origin: p.OriginOrDefault(rule), Hint: hint})
	}
	t.approvals = slices.DeleteFunc(slices.Clone(p.approvals), func(name string) bool { return !r.allowsApproval(p, name) })
	if len(t.approvals) == 0 {
		return nil, contradict(RuleApproval, "allow none of its approval policies: allowed_approval_policies has "+strings.Join(r.approvals, ", ")+r.gateHint(p),
			"change one of them, so that they have a value in common")
	}
	t.granular = p.granular && r.approvals == nil // each requirement names all parts of a granular policy
	t.reviewers = slices.DeleteFunc(slices.Clone(p.reviewers), func(name string) bool {
		return r.reviewers != nil && !slices.ContainsFunc(r.reviewers, func(allowed string) bool { return NormalizeReviewer(allowed) == name })
	})
	if len(t.reviewers) == 0 {
		return nil, contradict(RuleReviewers, "allow none of its reviewers: allowed_approvals_reviewers has "+strings.Join(r.reviewers, ", "),
			"change one of them, so that they have a value in common")
	}
	for l := ReadOnly + 1; l <= p.maxLevel; l++ {
		if r.sandboxes != nil && !slices.Contains(r.sandboxes, l.String()) {
			t.maxLevel = l - 1
			break
		}
	}
	if r.profiles != nil && (t.maxLevel != ReadOnly || !slices.Contains(r.profiles, builtinProfiles[ReadOnly])) {
		return nil, contradict(RuleSandbox, "allow only the permissions profiles "+strings.Join(r.profiles, ", ")+", and not the bridge's, which protects files",
			`remove allowed_permission_profiles from the requirements, or allow ":read-only" there with policy.sandbox = "read-only"`)
	}
	// Measured with Codex 0.169: also commands of a sandbox with networkAccess = false get the proxy, and
	// no response shows it.
	if r.network && !p.network {
		return nil, contradict(RuleNetwork, "let commands in the sandbox use the network, by experimental_network.enabled",
			"set policy.network = true, or remove experimental_network from the requirements")
	}
	for _, one := range p.pins {
		if r.features[methods.FoldName(strings.TrimPrefix(one.key, featuresKey+"."))] {
			return nil, contradict(RuleKeys, "enable "+one.key+", which the policy disables: "+one.reason,
				fmt.Sprintf("add %q to policy.config_keys, or remove it from the requirements", one.key))
		}
	}
	limits := r.webSearch != nil || len(r.features) > 0 || r.prompts != nil
	if !limits && len(t.approvals) == len(p.approvals) && t.granular == p.granular && len(t.reviewers) == len(p.reviewers) && t.maxLevel == p.maxLevel {
		return nil, nil
	}
	return &t, nil
}

// AllowsApproval reports whether Codex may get the approval policy that the bridge sends for name.
func (r *Requirements) allowsApproval(p *Policy, name string) bool {
	if name == "untrusted" && p.gate {
		name = GatedApproval
	}
	return r.approvals == nil || slices.Contains(r.approvals, name)
}

// excludesUser reports whether only models may review. r may be nil.
func (r *Requirements) excludesUser() bool {
	return r != nil && r.reviewers != nil && !slices.Contains(r.reviewers, "user")
}

// listName returns the name of a list of allowed values for messages.
func (p *Policy) listName(rule string) string {
	if p.required != nil {
		return rule + " within the machine's requirements"
	}
	return rule
}

func (r *Requirements) gateHint(p *Policy) string {
	if p.gate && slices.Contains(r.approvals, "untrusted") {
		return ", but policy.gate needs on-request in place of untrusted"
	}
	return ""
}

// requiredReason returns why the requirements exclude a value of the overlay; "" if they do not.
func (p *Policy) requiredReason(path []string, v rpc.Value) string {
	r := p.required
	if r == nil {
		return ""
	}
	switch text, _ := v.Text(); {
	case len(path) == 1 && methods.FoldName(path[0]) == "websearch" && r.webSearch != nil && !slices.Contains(r.webSearch, text):
		return "the machine's requirements allow only " + strings.Join(r.webSearch, ", ")
	case len(path) == 2 && methods.FoldName(path[0]) == featuresKey:
		required, ok := r.features[methods.FoldName(path[1])]
		if on, isBool := v.Bool(); ok && (!isBool || on != required) {
			return fmt.Sprintf("the machine's requirements set it to %t", required)
		}
	}
	return ""
}

// Never is later than the time of any remembered answer.
var Never = time.Unix(1<<40, 0)
