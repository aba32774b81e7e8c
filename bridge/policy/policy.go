package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/bridge/rules"
)

// Policy is a compiled [policy] section.
type Policy struct {
	section        config.Policy // for Equal
	fromWorkspace  bool          // a file of a workspace sets a part of it
	mode           config.Mode
	approvals      []string // without "granular"; the first replaces a forbidden value
	granular       bool     // {"granular": {…}} is allowed
	maxLevel       Level
	network        bool
	roots          []root
	reviewers      []string // auto_review stands for guardian_subagent
	models         []string // globs; nil allows all
	model          string   // the replacement; "" if no glob is a plain name
	efforts        []string // nil allows all
	keys           []keyGlob
	pins           []pin // features of Codex that stay disabled
	pinArgs        []string
	commands       []commandGlob
	trust          string     // policy.project_trust
	gate           bool       // policy.gate
	asksEscalation bool       // policy.escalation is "ask"
	protected      [][]string // policy.protected_paths, split into names
	// protectedByName has the same paths by their first name after rules.FoldCase.
	protectedByName map[string][][]string
	joint           []*Policy     // of strictest: the policies that decide together
	required        *Requirements // of Within; nil for none

	allowsUnknown bool              // unknown methods and fields pass
	overrides     map[string]string // policy.methods
	originOf      OriginFunc
	rules         *rules.Set // nil for none

	newer         *methods.Newer // nil for none
	methods       map[string]*methodSpec
	checkedFields map[string]string // folded name of a checked field → its name
}

// New compiles cfg. where may be nil; then refusals name no place in the configuration. An error
// names the key and the allowed values.
func New(cfg config.Policy, where OriginFunc) (*Policy, error) {
	p := &Policy{section: sectionOf(cfg), fromWorkspace: cfg.FromWorkspace, mode: cfg.Mode, network: cfg.Network, gate: cfg.Gate, originOf: where}
	switch cfg.Mode {
	case config.Off:
		// Nothing of the section has an effect.
		return p, nil
	case config.Audit, config.Enforce:
	default:
		return nil, fmt.Errorf("policy.mode: %q is not off, audit or enforce", cfg.Mode)
	}
	for _, compile := range []func(config.Policy) error{
		p.compileApproval, p.compileSandbox, p.compileReviewers, p.compileModels, p.compileEfforts, p.compileKeys, p.compilePins,
		p.compileNewer, p.compileCommands, p.compileTrust, p.compileMethods, p.compileEscalation, p.compileRules,
	} {
		if err := compile(cfg); err != nil {
			return nil, err
		}
	}
	specs, fields := checkedMethods()
	p.methods, p.checkedFields = withNewerFields(specs, p.newer), fields
	return p, nil
}

// Mode returns policy.mode. Under audit the caller logs a decision and sends the original message.
func (p *Policy) Mode() config.Mode { return p.mode }

// AllowsWriting reports whether threads may write in their workspace.
func (p *Policy) AllowsWriting() bool { return p.maxLevel >= WorkspaceWrite }

func (p *Policy) compileNewer(cfg config.Policy) (err error) {
	if cfg.Newer.Name == "" {
		return nil
	}
	if p.newer, err = methods.ParseNewer(cfg.Newer.Name, cfg.Newer.Text); err != nil {
		const key = "codex.table"
		return &config.Error{File: p.OriginOrDefault(key), Key: key, Message: err.Error(), Hint: "correct this, or leave it out"}
	}
	return nil
}

// Newer returns the newer table of Codex's methods that counts beside the program's own; nil for none.
func (p *Policy) Newer() *methods.Newer { return p.newer }

func (p *Policy) compileApproval(cfg config.Policy) error {
	for _, name := range cfg.Approval {
		switch name {
		case "granular":
			p.granular = true
		case "untrusted", "on-request", "never":
			p.approvals = append(p.approvals, name)
		default:
			return fmt.Errorf("policy.approval: %q is not untrusted, on-request, never or granular", name)
		}
	}
	if len(p.approvals) == 0 {
		// A granular policy can't replace a forbidden value, because no single one is the obvious
		// choice.
		return fmt.Errorf("policy.approval: add untrusted, on-request or never; the first of them replaces a forbidden value")
	}
	return nil
}

func (p *Policy) compileSandbox(cfg config.Policy) error {
	var ok bool
	if p.maxLevel, ok = ParseMode(cfg.Sandbox); !ok {
		return fmt.Errorf("policy.sandbox: %q is not read-only, workspace-write or danger-full-access", cfg.Sandbox)
	}
	for _, text := range cfg.WritableRoots {
		r, err := parseRoot(text)
		if err != nil {
			return fmt.Errorf("policy.writable_roots: %w", err)
		}
		p.roots = append(p.roots, r)
	}
	return nil
}

func (p *Policy) compileReviewers(cfg config.Policy) error {
	for _, name := range cfg.Reviewers {
		switch name {
		case "user", "auto_review", "guardian_subagent":
			p.reviewers = append(p.reviewers, NormalizeReviewer(name))
		default:
			return fmt.Errorf("policy.reviewers: %q is not user, auto_review or guardian_subagent", name)
		}
	}
	if len(p.reviewers) == 0 {
		return fmt.Errorf("policy.reviewers: add user or auto_review")
	}
	return nil
}

func (p *Policy) compileModels(cfg config.Policy) error {
	if cfg.Models != nil {
		p.models = []string{} // allows none
	}
	for _, glob := range cfg.Models {
		if glob == "" || !doublestar.ValidatePattern(glob) {
			return fmt.Errorf("policy.models: %q is not a glob", glob)
		}
		p.models = append(p.models, glob)
		if p.model == "" && !strings.ContainsAny(glob, `*?[{\`) {
			p.model = glob
		}
	}
	return nil
}

func (p *Policy) compileEfforts(cfg config.Policy) error {
	if slices.Contains(cfg.Efforts, "") {
		return fmt.Errorf("policy.efforts: an empty name")
	}
	p.efforts = slices.Clone(cfg.Efforts)
	return nil
}

func (p *Policy) compileKeys(cfg config.Policy) error {
	for _, text := range cfg.ConfigKeys {
		g, err := parseKeyGlob(text)
		if err != nil {
			return fmt.Errorf("policy.config_keys: %w", err)
		}
		p.keys = append(p.keys, g)
	}
	return nil
}

func (p *Policy) compileMethods(cfg config.Policy) error {
	switch cfg.UnknownMethods {
	case "allow":
		p.allowsUnknown = true
	case "deny":
	default:
		return fmt.Errorf("policy.unknown_methods: %q is not deny or allow", cfg.UnknownMethods)
	}
	for name, verdict := range cfg.Methods {
		switch verdict {
		case "allow", "deny", "ask":
		default:
			return fmt.Errorf("%s: %q is not allow, deny or ask", config.Key("policy", "methods", name), verdict)
		}
	}
	p.overrides = maps.Clone(cfg.Methods)
	for name, verdict := range p.overrides {
		if verdict == "ask" && strings.HasPrefix(name, ownPrefix) {
			p.overrides[name] = "deny" // the bridge does not ask about its own methods
		}
	}
	return nil
}

func (p *Policy) compileRules(cfg config.Policy) (err error) {
	if len(cfg.Rules) > 0 {
		p.rules, err = rules.New(cfg.RuleLayers())
	}
	return err
}
