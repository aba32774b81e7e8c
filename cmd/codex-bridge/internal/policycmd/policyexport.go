package policycmd

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/setting"
	"codex-bridge.example/bridge/toml"
	"codex-bridge.example/cmd/codex-bridge/internal/configured"
	"codex-bridge.example/cmd/codex-bridge/internal/output"
)

// PolicyExportCmd is the command "codex-bridge policy export".
type PolicyExportCmd struct {
	Requirements bool `required:"" help:"Print the part of the policy that Codex enforces by itself, as its requirements.toml; comments name the rest."`
}

// Run prints the part of the policy that Codex enforces by itself.
func (c PolicyExportCmd) Run(out io.Writer) error {
	cfg, err := configured.LoadStrict()
	if err != nil {
		return err
	}
	if cfg.Policy.Mode == config.Off {
		return errors.New("policy.mode is off, so there is no policy to export; set it to enforce or audit")
	}
	required, rest := requirementsOf(cfg)
	p := output.NewPrinter(out)
	p.Line("# Made by \"codex-bridge policy export --requirements\". Only the bridge holds:")
	for _, one := range rest {
		p.Line("# - %s", display.Line(one))
	}
	if p.Failure() != nil {
		return p.Failure()
	}
	return toml.Encode(out, required)
}

// requirements are the keys of Codex's requirements.toml that hold a part of a policy.
type requirements struct {
	Approvals []any             `toml:"allowed_approval_policies"`
	Reviewers []string          `toml:"allowed_approvals_reviewers"`
	Sandboxes []string          `toml:"allowed_sandbox_modes"`
	Features  map[string]bool   `toml:"features,omitempty"`
	Rules     *requirementRules `toml:"rules"`
}

type requirementRules struct {
	Prefixes []prefixRule `toml:"prefix_rules"`
}

type prefixRule struct {
	Pattern       []prefixToken `toml:"pattern"`
	Decision      string        `toml:"decision"`
	Justification string        `toml:"justification,omitempty"`
}

type prefixToken struct {
	Token string `toml:"token"`
}

// requirementsOf returns the requirements that refuse nothing that the bridge needs or the policy
// allows, and the rest of the policy by keys.
func requirementsOf(cfg *config.Config) (r requirements, rest []string) {
	p := &cfg.Policy
	for _, word := range p.Approval {
		switch word {
		case setting.OnFailure: // Codex dropped it
		case "granular": // a requirement names all parts of one
			rest = append(rest, "policy.approval granular: Codex itself allows no granular policies")
		default:
			r.Approvals = append(r.Approvals, word)
		}
	}
	if p.Gate && slices.Contains(p.Approval, setting.Untrusted) && !slices.Contains(p.Approval, setting.OnRequest) {
		r.Approvals = append(r.Approvals, setting.OnRequest) // what Codex has while the bridge asks in its place
		rest = append(rest, "policy.gate: Codex itself must accept on-request, which the bridge sends in place of untrusted")
	}
	if !slices.Contains(p.Approval, setting.Never) {
		r.Approvals = append(r.Approvals, policy.WithoutQuestions()) // what Codex has in place of never
	}
	r.Reviewers = p.Reviewers
	for _, mode := range []string{setting.ReadOnly, setting.WorkspaceWrite, setting.DangerFullAccess} {
		r.Sandboxes = append(r.Sandboxes, mode)
		if mode == p.Sandbox {
			break
		}
	}
	if cfg.Hooks.On {
		r.Features = map[string]bool{"hooks": true} // the bridge's gate and rules need them
	}
	for _, layer := range p.RuleLayers() {
		for i, rule := range layer {
			words := prefixWords(rule)
			if rule.Decision != "deny" || words == nil || slices.ContainsFunc(layer[:i], func(earlier config.Rule) bool { return mayAllow(earlier, words) }) {
				rest = append(rest, ruleName(rule))
				continue
			}
			if r.Rules == nil {
				r.Rules = new(requirementRules)
			}
			r.Rules.Prefixes = append(r.Rules.Prefixes, newPrefixRule(rule, words))
		}
	}
	return r, append(rest, bridgeOnly(p)...)
}

// bridgeOnly returns the keys for which Codex 0.169 has no requirement.
func bridgeOnly(p *config.Policy) (all []string) {
	if !p.Network {
		all = append(all, "policy.network = false: network in the sandbox")
	}
	for _, one := range []struct {
		set bool
		why string
	}{
		{true, "policy.writable_roots, protected_paths: folders that commands may change"},
		{len(p.Models)+len(p.Efforts) > 0, "policy.models, efforts: Codex only has defaults"},
		{true, "policy.config_keys: keys that a client may set"},
		{true, "policy.commands, methods, unknown_methods: Codex's commands and methods"},
		{p.Escalation == "deny", "policy.escalation = \"deny\": Codex asks before an action leaves the sandbox"},
		{true, "policy.project_trust: configuration of repositories"},
	} {
		if one.set {
			all = append(all, one.why)
		}
	}
	return all
}

func ruleName(rule config.Rule) string {
	name := fmt.Sprintf("policy.rule %s", rule.Decision)
	for _, part := range [][2]string{{"tool", rule.Tool}, {"command", rule.Command}, {"path", rule.Path}} {
		if part[1] != "" {
			name += fmt.Sprintf(" %s=%q", part[0], part[1])
		}
	}
	return name + placeSuffix(rule.Origin.String())
}

// prefixWords returns the words of a command of which a rule matches every continuation: plain words
// with ** behind them; nil for another rule.
func prefixWords(rule config.Rule) []string {
	words := strings.Fields(rule.Command)
	if rule.Tool != "" && rule.Tool != "shell" || rule.Path != "" || len(words) < 2 || words[len(words)-1] != "**" {
		return nil
	}
	words = words[:len(words)-1]
	if slices.ContainsFunc(words, func(word string) bool { return !isPlainWord(word) }) {
		return nil
	}
	return words
}

// isPlainWord reports whether a word of a rule matches only itself, in Codex and in the bridge.
func isPlainWord(word string) bool { return !strings.ContainsAny(word, `*?[]{}\'"$=`+"`") }

// mayAllow reports whether an earlier rule of the same layer may match a command of a prefix, and is no
// deny rule.
func mayAllow(earlier config.Rule, prefix []string) bool {
	if earlier.Decision == "deny" || earlier.Tool != "" && !config.Match(earlier.Tool, "shell") {
		return false
	}
	for i, word := range strings.Fields(earlier.Command) {
		if i == len(prefix) || !isPlainWord(word) {
			break
		}
		if word != prefix[i] {
			return false
		}
	}
	return true
}

func newPrefixRule(rule config.Rule, words []string) prefixRule {
	out := prefixRule{Decision: "forbidden", Justification: rule.Reason}
	for _, word := range words {
		out.Pattern = append(out.Pattern, prefixToken{word})
	}
	return out
}
