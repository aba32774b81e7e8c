package config

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// order says how a later layer may tighten a key. merge returns what is in
// force after both, and false when the later value is looser.
type order struct {
	words string // what a later layer may do, for messages and documentation
	merge func(earlier, later reflect.Value) (reflect.Value, bool)
}

// tighten has a row for every key that can be tightened. A key without one
// cannot be changed once an earlier layer that binds has set it.
var tighten = map[string]order{
	"policy.mode":             ranked("off", "audit", "enforce"),
	"policy.preset":           ranked(presets...),
	"policy.security":         ranked("full", "allowlist", "deny"),
	"policy.ask":              ranked("off", "on-miss", "always"),
	"policy.approval":         strictFirst("untrusted", "on-request", "granular", "never"),
	"policy.sandbox":          ranked("danger-full-access", "workspace-write", "read-only"),
	"policy.network":          only(false),
	"policy.writable_roots":   inside,
	"policy.reviewers":        strictFirst("user", "auto_review"),
	"policy.models":           emptyIsAll(narrowed(narrower)),
	"policy.efforts":          emptyIsAll(subset),
	"policy.config_keys":      narrowed(narrowerKeys),
	"policy.commands":         narrowed(narrowerCommands),
	"policy.unknown_methods":  ranked("allow", "deny"),
	"policy.gate":             only(true),
	"policy.escalation":       ranked("ask", "deny"),
	"policy.protected_paths":  union,
	"policy.project_trust":    ranked("codex", "user", "never"),
	"policy.methods.*":        ranked("allow", "ask", "deny"),
	"policy.rule[]":           {words: "add rules"},
	"approvals.remember":      ranked("always", "session", "off"),
	"approvals.ttl":           atMost,
	"approvals.max":           atMost,
	"approvals.timeout":       atMost,
	"hooks.events":            union,
	"hooks.on_failure":        ranked("allow", "deny"),
	"hooks.handler[]":         {words: "add handlers"},
	"tool_limits.timeout":     atMost,
	"tool_limits.max_timeout": atMost,
	"tool_limits.max_text":    atMost,
	"tool_limits.loops":       only(true),
	"acp.enabled":             only(false),
	"acp.allowed":             emptyIsAll(subset),
}

// ranked is a scale of words, the loosest first.
func ranked(scale ...string) order {
	return order{"only move along " + strings.Join(scale, " → "), func(a, b reflect.Value) (reflect.Value, bool) {
		return b, slices.Index(scale, b.String()) >= slices.Index(scale, a.String())
	}}
}

// only is a switch that can be moved one way.
func only(tight bool) order {
	return order{fmt.Sprintf("only change it to %t", tight), func(a, b reflect.Value) (reflect.Value, bool) {
		return b, b.Bool() == tight || a.Bool() == b.Bool()
	}}
}

var atMost = order{"only lower it", func(a, b reflect.Value) (reflect.Value, bool) {
	return b, b.Int() <= a.Int()
}}

var subset = order{"only leave values out", func(a, b reflect.Value) (reflect.Value, bool) {
	return b, each(b, func(s string) bool { return slices.Contains(texts(a), s) })
}}

// strictFirst is an order for lists of values. scale has the values, the strictest first. A later layer can
// only remove the loosest ones: an earlier value that is stricter than one of the later list stays, since a
// client that asks for it would get the looser one. The list keeps the order of the earlier layer, but a
// stricter value can become the first.
func strictFirst(scale ...string) order {
	rank := func(s string) int { return slices.Index(scale, s) }
	loose := slices.Clone(scale)
	slices.Reverse(loose)
	return order{"only leave values out, the loosest first: " + strings.Join(loose, ", "), func(a, b reflect.Value) (reflect.Value, bool) {
		earlier, later := texts(a), texts(b)
		if len(later) == 0 || !each(b, func(s string) bool { return slices.Contains(earlier, s) }) {
			return b, false
		}
		loosest := slices.MaxFunc(later, func(x, y string) int { return rank(x) - rank(y) })
		kept := slices.DeleteFunc(slices.Clone(earlier), func(s string) bool {
			return !slices.Contains(later, s) && rank(s) >= rank(loosest)
		})
		if rank(later[0]) < rank(kept[0]) {
			kept = append([]string{later[0]}, slices.DeleteFunc(kept, func(s string) bool { return s == later[0] })...)
		}
		return reflect.ValueOf(kept), true
	}}
}

func narrowed(narrower func(earlier, later string) bool) order {
	return order{"only leave patterns out or narrow them", func(a, b reflect.Value) (reflect.Value, bool) {
		return b, each(b, func(s string) bool {
			return slices.ContainsFunc(texts(a), func(e string) bool { return narrower(e, s) })
		})
	}}
}

// union keeps what the earlier layer had, so it cannot be loosened.
var union = order{"only add values", func(a, b reflect.Value) (reflect.Value, bool) {
	all := slices.Clone(texts(a))
	for _, s := range texts(b) {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return reflect.ValueOf(all), true
}}

var inside = order{"only name folders inside the earlier ones", func(a, b reflect.Value) (reflect.Value, bool) {
	return b, each(b, func(s string) bool {
		return slices.ContainsFunc(texts(a), func(root string) bool { return within(root, s) })
	})
}}

// emptyIsAll is an order of lists whose empty one restricts nothing.
func emptyIsAll(o order) order {
	return order{o.words, func(a, b reflect.Value) (reflect.Value, bool) {
		switch {
		case a.Len() == 0:
			return b, true
		case b.Len() == 0:
			return b, false
		}
		return o.merge(a, b)
	}}
}

// within says whether a clean path is a folder or something below it. It goes
// by the names alone: ${workspace} and an absolute path never meet.
func within(root, p string) bool {
	for _, sep := range []string{"/", string(filepath.Separator)} {
		if p == root || strings.HasPrefix(p, strings.TrimSuffix(root, sep)+sep) {
			return true
		}
	}
	return false
}

func texts(v reflect.Value) []string { return v.Interface().([]string) }

func each(v reflect.Value, f func(string) bool) bool {
	return !slices.ContainsFunc(texts(v), func(s string) bool { return !f(s) })
}

// workspaceMay lists what a workspace file may contain. It is content of a
// repository: it may tighten, and say how its threads are steered, but never
// name a program, an address or a setting of a thread.
var workspaceMay = []string{
	"policy",
	"approvals",
	"hooks.events",
	"hooks.on_failure",
	"tool_limits",
	"steering",
	"acp.enabled",
	"acp.allowed",
}

func workspaceAllows(pattern string) bool {
	return slices.ContainsFunc(workspaceMay, func(prefix string) bool {
		rest, ok := strings.CutPrefix(pattern, prefix)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}
