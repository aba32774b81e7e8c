package config

// Mode says what the bridge does with its decisions.
type Mode string

const (
	// Off passes everything. The default without a [policy] section.
	Off Mode = "off"
	// Audit decides and logs, and changes nothing.
	Audit Mode = "audit"
	// Enforce decides, rewrites and refuses. The default of a [policy] section
	// that names no mode.
	Enforce Mode = "enforce"
)

// Policy is the [policy] section: what a client may ask of Codex. The zero
// value is not useful; Default gives the values of the contract.
type Policy struct {
	Mode           Mode              `toml:"mode"`
	Preset         string            `toml:"preset"`          // "" | "yolo" | "full" | "guardian" | "auto" | "ask": what approval, sandbox and reviewers are where nothing more particular is said
	Security       string            `toml:"security"`        // "" | "deny" | "allowlist" | "full": how freely commands are run
	Ask            string            `toml:"ask"`             // "" | "off" | "on-miss" | "always": when somebody is asked about them
	Approval       []string          `toml:"approval"`        // allowed approval policies; the first replaces a forbidden one
	Sandbox        string            `toml:"sandbox"`         // the most that is allowed: read-only < workspace-write < danger-full-access
	Network        bool              `toml:"network"`         // network inside the sandbox
	WritableRoots  []string          `toml:"writable_roots"`  // absolute, or with ${workspace}; ~ is expanded
	Reviewers      []string          `toml:"reviewers"`       // allowed approvalsReviewer values; the first replaces a forbidden one
	Models         []string          `toml:"models"`          // globs; nil = all; the first concrete one replaces a forbidden one
	Efforts        []string          `toml:"efforts"`         // nil = all
	ConfigKeys     []string          `toml:"config_keys"`     // globs of dotted keys of an overlay that pass, segment by segment
	Commands       []string          `toml:"commands"`        // codex commands that may be reached through the bridge
	UnknownMethods string            `toml:"unknown_methods"` // "deny" | "allow"
	Gate           bool              `toml:"gate"`
	Escalation     string            `toml:"escalation"` // "deny" | "ask"
	ProtectedPaths []string          `toml:"protected_paths"`
	ProjectTrust   string            `toml:"project_trust"` // "never" | "user" | "codex"
	Methods        map[string]string `toml:"methods"`       // method → "allow" | "deny" | "ask"
	Rules          []Rule            `toml:"rule"`
}

// Rule is one [[policy.rule]]. The first match of a layer wins; deny beats
// allow between layers.
type Rule struct {
	Tool      string `toml:"tool"`      // shell | file | mcp | a dynamic tool's name | glob
	Command   string `toml:"command"`   // words of one simple shell command; * is one word, ** any rest
	Path      string `toml:"path"`      // for file changes
	Escalated bool   `toml:"escalated"` // speaks of commands that leave the sandbox
	Decision  string `toml:"decision"`  // deny | allow | ask
	Reason    string `toml:"reason"`

	// Origin is where the rule is written; its Layer groups the rules.
	Origin Origin `toml:"-"`
}

// RuleLayers returns the rules grouped by layer, managed first, each group in
// the order of its file. Layers without rules are left out.
func (p *Policy) RuleLayers() [][]Rule {
	var groups [][]Rule
	for i, r := range p.Rules {
		if i == 0 || r.Origin.Layer != p.Rules[i-1].Origin.Layer {
			groups = append(groups, nil)
		}
		last := len(groups) - 1
		groups[last] = append(groups[last], r)
	}
	return groups
}
