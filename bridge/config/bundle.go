package config

import (
	"slices"
	"strings"
)

// PolicySource is the [policy_source] section: a repository with a signed bundle of policy.
type PolicySource struct {
	URL     string   `toml:"url"`     // https or file; empty for none; may have a password, never print it
	Root    string   `toml:"root"`    // the file of the trusted root.json
	Refresh Duration `toml:"refresh"` // how often the bridge looks for a new bundle
	MaxAge  Duration `toml:"max_age"` // a bundle that was not confirmed for so long is stale
	OnStale string   `toml:"on_stale"`
}

// Values of OnStale.
const (
	KeepStale = "keep" // a stale bundle stays in force
	DenyStale = "deny" // no thread opens and no turn begins
)

// Bundle is what a policy source has.
type Bundle struct {
	Name string // in messages, in place of a file: "bundle v7 policy.toml"
	Text string // TOML
	// TableName and Table are those of a newer table of Codex's methods in the bundle; "" for none.
	TableName, Table string
	// Missing says why there is no bundle that counts, and how to fix that; "" if there is one. A stale bundle
	// may have both, so that a restart loosens nothing.
	Missing string
	File    string // changes with the bundle, so Watch reads it
}

// table returns the newer table of the bundle; nil for none.
func (b Bundle) table() *tableFile {
	if b.Table == "" {
		return nil
	}
	return &tableFile{name: b.TableName, text: b.Table}
}

// LoadBundle checks and merges a bundle without other files. Its error is as that of Load.
func LoadBundle(b Bundle, opts Options) (*Config, error) {
	return build([]source{{layer: ManagedBundle, file: b.Name, text: b.Text, table: b.table()}}, opts)
}

// addBundle adds the bundle of the first file with a [policy_source] section to that file. A file that is not
// valid gets none: it does not count, and the content that counts in its place has a bundle of its own.
func addBundle(list []source, opts Options) {
	if opts.Bundle == nil {
		return
	}
	for i, s := range list {
		if s.layer == Workspace {
			return // such a file can't name a source
		}
		from, ok := policySource(s, opts.Home)
		if !ok {
			continue
		}
		if from.URL != "" && from.Root != "" {
			b := opts.Bundle(from)
			list[i].bundle = &b
		}
		return
	}
}

// policySource returns the policy source of a file; false if it has none.
func policySource(s source, home string) (from PolicySource, ok bool) {
	if s.err != nil || !strings.Contains(s.text, "policy_source") {
		return from, false
	}
	l, _ := decode(s, home, true)
	if l == nil {
		return from, false
	}
	m := &merger{cfg: Default()}
	for _, f := range l.leaves {
		if strings.HasPrefix(f.pattern, "policy_source.") {
			put(m.root(), f.parts, f.value)
		}
	}
	_, ok = l.sections["policy_source"]
	return m.cfg.PolicySource, ok
}

// withBundle returns the bundle of a file as the layer before it, and the file.
func (s source) withBundle() []source {
	if s.bundle == nil || s.bundle.Text == "" {
		return []source{s}
	}
	before := UserBundle
	if s.layer == Managed {
		before = ManagedBundle
	}
	return []source{{layer: before, file: s.bundle.Name, text: s.bundle.Text, table: s.bundle.table()}, s}
}

// missingBundle returns Policy.Missing of files.
func missingBundle(sources []source) string {
	i := slices.IndexFunc(sources, func(s source) bool { return s.bundle != nil })
	if i < 0 {
		return ""
	}
	return sources[i].bundle.Missing
}

// checkSource checks the keys of [policy_source] against each other.
func (m *merger) checkSource() {
	switch s := m.cfg.PolicySource; {
	case s.URL != "" && s.Root == "":
		m.failKeys("policy_source.url", "", "needs root", "name the file of the trusted root.json")
	case s.Root != "" && s.URL == "":
		m.failKeys("policy_source.root", "", "needs url", "name the repository, or remove root")
	}
}
