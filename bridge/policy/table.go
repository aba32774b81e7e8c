package policy

import (
	"maps"
	"slices"
	"sync"

	"codex-bridge.example/bridge/methods"
)

// rule checks and rewrites fields of params. Fields of one rule depend on each other.
type rule struct {
	fields []string
	apply  func(f *findings, fields []string)
}

// methodSpec says which params a method may have.
type methodSpec struct {
	// opensThread: the method opens a thread, and its response echoes the settings.
	opensThread bool
	// startsThread: the method is thread/start, so that omitted fields come from Codex's
	// configuration and not from a stored thread.
	startsThread bool
	// noThread: the method names no thread.
	noThread bool
	// usesDefaults: an omitted model or effort comes from Codex's configuration. Measured with
	// Codex 0.169: so it does for a fork, but a resume restores the thread's.
	usesDefaults bool
	// confirmed: clients wait until Codex notifies them of what they sent. Measured with the TUI of
	// Codex 0.169: after a changed thread/settings/update it holds every later prompt back.
	confirmed bool
	rules     []rule
	// unchecked are members that no rule limits.
	unchecked []string
	// known are the fields of the rules and the unchecked ones. Others are removed as unknown.
	known map[string]bool
}

// methodTable returns the methods whose fields the package checks, from the table in package methods.
func methodTable() map[string]*methodSpec {
	table := make(map[string]*methodSpec)
	for row := range methods.Rows() {
		if row.Side == methods.ClientRequest && (row.Verdict == methods.Rewrite || row.Verdict == methods.Gate) {
			table[row.Method] = newMethodSpec(row)
		}
	}
	return table
}

func newMethodSpec(row methods.Row) *methodSpec {
	m := &methodSpec{
		opensThread:  row.Class == methods.Thread && row.Verdict == methods.Rewrite,
		startsThread: row.Method == "thread/start",
		noThread:     row.Class != methods.Thread && row.Verdict == methods.Rewrite,
		usesDefaults: row.Method == "thread/start" || row.Method == "thread/fork",
		confirmed:    row.Class == methods.Thread && row.Verdict == methods.Gate,
		known:        make(map[string]bool),
	}
	named := make(map[string][]string)
	for _, name := range row.Rules {
		named[name] = nil
	}
	for _, field := range row.Params {
		if field.Rule == methods.Unjudged {
			continue
		}
		m.known[field.Name] = true
		switch field.Rule {
		case methods.AnyValue, methods.KnownThread:
			m.unchecked = append(m.unchecked, field.Name)
		default:
			named[field.Rule] = append(named[field.Rule], field.Name)
		}
	}
	for _, one := range fieldRules {
		if fields, ok := named[one.name]; ok {
			m.rules = append(m.rules, rule{fields, one.apply})
			delete(named, one.name)
		}
	}
	for name := range named { // a test builds all
		panic("bridge/methods: " + row.Method + " has the rule " + name + ", which is not in fieldRules")
	}
	return m
}

// checkedMethods returns methodTable and checkedNames, which all policies share.
var checkedMethods = sync.OnceValues(func() (map[string]*methodSpec, map[string]string) {
	table := methodTable()
	return table, checkedNames(table)
})

// withNewerFields returns the methods with the fields that a newer table adds to them.
func withNewerFields(table map[string]*methodSpec, newer *methods.Newer) map[string]*methodSpec {
	if newer == nil {
		return table
	}
	all := maps.Clone(table)
	for name, spec := range table {
		fields := newer.Fields(name)
		if fields == nil {
			continue
		}
		more := *spec
		more.unchecked, more.known = slices.Concat(spec.unchecked, fields), maps.Clone(spec.known)
		for _, field := range fields {
			more.known[field] = true
		}
		all[name] = &more
	}
	return all
}

// checkedNames maps the folded names of all checked fields to the names.
func checkedNames(table map[string]*methodSpec) map[string]string {
	names := make(map[string]string)
	for _, m := range table {
		for _, r := range m.rules {
			for _, f := range r.fields {
				names[methods.FoldName(f)] = f
			}
		}
	}
	return names
}
