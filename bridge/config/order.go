package config

import (
	"cmp"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"codex-bridge.example/bridge/setting"
)

// order says how a later layer may tighten a key.
type order struct {
	words string // for messages and docs: a later layer may …
	// merge returns the result of both values, and false if the later one is looser.
	merge func(earlier, later reflect.Value) (reflect.Value, bool)
	// both returns what both of two lists allow. Without it a looser value has no effect.
	both func(earlier, later []string) []string
	// neither reports whether two lists have no common value, of which the result has one.
	neither func(earlier, later []string) bool
	// strictest is the strictest word, of a list its strictest element; "" if there is none.
	strictest string
}

// strictestWord returns the word that holds in place of an unknown one, or "" if the key has no order.
func strictestWord(pattern string) string {
	switch pattern {
	case "policy.rule[].decision":
		return "deny"
	case "policy.security":
		return setting.SecurityAllowlist // Codex runs no commands under deny; see layer.exec
	case "policy_source.on_stale":
		return DenyStale
	}
	return tighten[strings.TrimSuffix(pattern, "[]")].strictest
}

// inBoth returns the value that holds if the later one is looser.
func (o order) inBoth(earlier, later reflect.Value) reflect.Value {
	if o.both == nil {
		return earlier
	}
	return reflect.ValueOf(o.both(earlier.Interface().([]string), later.Interface().([]string)))
}

// tighten has a row for each key that a later layer may change. A workspace file can set other keys
// only if no earlier file has.
var tighten = map[string]order{
	"codex.min_version":       versions("only raise it", func(earlier, later string) bool { return setting.CompareVersions(later, earlier) >= 0 }),
	"codex.max_version":       versions("only lower it", lowers),
	"policy.mode":             ranked("off", "audit", "enforce"),
	"policy.preset":           ranked(presets...),
	"policy.security":         ranked("full", "allowlist", "deny"),
	"policy.ask":              ranked("off", "on-miss", "always"),
	"policy.approval":         strictFirst(nil, "untrusted", "on-request", "granular", "never"),
	"policy.sandbox":          ranked(sandboxOrder...),
	"policy.network":          only(false),
	"policy.writable_roots":   covered("name folders inside the earlier ones", within),
	"policy.reviewers":        strictFirst(map[string]string{"guardian_subagent": "auto_review"}, "user", "auto_review"),
	"policy.models":           emptyIsAll(covered("remove patterns or narrow them", narrower)),
	"policy.efforts":          emptyIsAll(subset),
	"policy.config_keys":      covered("remove patterns or narrow them", narrowerKeys),
	"policy.commands":         covered("remove patterns or narrow them", narrowerCommands),
	"policy.unknown_methods":  ranked("allow", "deny"),
	"policy.gate":             only(true),
	"policy.escalation":       ranked("ask", "deny"),
	"policy.exec_rules":       ranked("off", "auto", "on"),
	"policy.protected_paths":  union,
	"policy.project_trust":    ranked("codex", "user", "never"),
	"policy.methods.*":        ranked("allow", "ask", "deny"),
	"policy.rule[]":           {words: "add rules"},
	"approvals.remember":      ranked("always", "session", "off"),
	"approvals.ttl":           atMost,
	"approvals.max":           atMost,
	"approvals.timeout":       atMost,
	"serve.answer":            ranked(AnyClient, Starter),
	"approvals.desk.runner":   union,
	"approvals.desk.timeout":  atMost,
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

// sandboxOrder has the sandboxes, the loosest first.
var sandboxOrder = []string{"danger-full-access", "workspace-write", "read-only"}

// ranked is the order of a word. scale has the values, the loosest first.
func ranked(scale ...string) order {
	return order{strictest: scale[len(scale)-1], words: "only move along " + strings.Join(scale, " → "), merge: func(a, b reflect.Value) (reflect.Value, bool) {
		return b, slices.Index(scale, b.String()) >= slices.Index(scale, a.String())
	}}
}

// only is the order of a switch.
func only(tight bool) order {
	return order{words: fmt.Sprintf("only change it to %t", tight), merge: func(a, b reflect.Value) (reflect.Value, bool) {
		return b, b.Bool() == tight || a.Bool() == b.Bool()
	}}
}

// atMost is the order of a number.
var atMost = order{words: "only lower it", merge: func(a, b reflect.Value) (reflect.Value, bool) {
	return b, b.Int() <= a.Int()
}}

// versions is the order of a version of Codex.
func versions(words string, isStricter func(earlier, later string) bool) order {
	return order{words: words, merge: func(a, b reflect.Value) (reflect.Value, bool) {
		return b, isStricter(a.String(), b.String())
	}}
}

// lowers reports whether a later maximum of versions is at most the earlier one. An empty one is no limit.
func lowers(earlier, later string) bool {
	return earlier == "" || later != "" && setting.CompareVersions(later, earlier) <= 0
}

// listOrder is an order of lists.
func listOrder(words string, merge func(earlier, later []string) ([]string, bool)) order {
	return order{words: "only " + words, merge: func(a, b reflect.Value) (reflect.Value, bool) {
		list, ok := merge(a.Interface().([]string), b.Interface().([]string))
		return reflect.ValueOf(list), ok
	}}
}

// covered is the order of lists in which an earlier value covers each later one.
func covered(words string, covers func(earlier, later string) bool) order {
	o := listOrder(words, func(earlier, later []string) ([]string, bool) {
		for _, s := range later {
			if !slices.ContainsFunc(earlier, func(e string) bool { return covers(e, s) }) {
				return nil, false
			}
		}
		return later, true
	})
	o.both = func(earlier, later []string) []string {
		all := []string{}
		for _, pair := range [][2][]string{{earlier, later}, {later, earlier}} {
			for _, s := range pair[1] {
				if slices.ContainsFunc(pair[0], func(e string) bool { return covers(e, s) }) && !slices.Contains(all, s) {
					all = append(all, s)
				}
			}
		}
		return all
	}
	return o
}

var subset = covered("remove values", func(earlier, later string) bool { return earlier == later })

// union keeps the values of the earlier layer.
var union = listOrder("add values", func(earlier, later []string) ([]string, bool) {
	all := slices.Clone(earlier)
	for _, s := range later {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all, true
})

// strictFirst is an order of lists of values. scale has the values, the strictest first; aliases have the
// other names of a value. A client that asks for a value of a list gets it, and otherwise the first of the
// list. For no request the result of two lists gives a looser value than one of both does: its first value is
// the stricter of both first ones, and a value stays if each list has it or would give a looser one in its
// place. It is never empty.
func strictFirst(aliases map[string]string, scale ...string) order {
	name := func(s string) string { return cmp.Or(aliases[s], s) }
	rank := func(s string) int { return slices.Index(scale, name(s)) }
	has := func(list []string, s string) bool {
		return slices.ContainsFunc(list, func(other string) bool { return name(other) == name(s) })
	}
	both := func(earlier, later []string) []string {
		first := earlier[0]
		if rank(later[0]) < rank(first) {
			first = later[0]
		}
		lets := func(list []string, s string) bool { return has(list, s) || rank(s) <= rank(list[0]) }
		kept := []string{first}
		for _, s := range slices.Concat(earlier, later) {
			if lets(earlier, s) && lets(later, s) && !slices.Contains(kept, s) && (slices.Contains(earlier, s) || !has(kept, s)) {
				kept = append(kept, s)
			}
		}
		return kept
	}
	loosestFirst := slices.Clone(scale)
	slices.Reverse(loosestFirst)
	o := listOrder("remove values, the loosest first: "+strings.Join(loosestFirst, ", "), func(earlier, later []string) ([]string, bool) {
		kept := both(earlier, later)
		return kept, !slices.ContainsFunc(later, func(s string) bool { return !has(kept, s) })
	})
	o.both, o.strictest = both, scale[0]
	o.neither = func(earlier, later []string) bool {
		return !slices.ContainsFunc(later, func(s string) bool { return has(earlier, s) })
	}
	return o
}

// emptyIsAll is an order of lists in which nil allows all, and an empty list nothing.
func emptyIsAll(o order) order {
	return order{words: o.words, merge: func(a, b reflect.Value) (reflect.Value, bool) {
		switch {
		case a.IsNil():
			return b, true
		case b.IsNil():
			return b, false
		}
		return o.merge(a, b)
	}, both: func(earlier, later []string) []string {
		if later == nil {
			return earlier
		}
		return o.both(earlier, later)
	}}
}

// nilIsAll reports whether nil as the list of a key allows all. A file then writes an empty list.
func nilIsAll(pattern string) bool {
	return slices.Contains([]string{"policy.models", "policy.efforts", "acp.allowed"}, pattern)
}

// within reports whether a clean path is a folder or below it. It compares names: ${workspace} is not
// within an absolute path.
func within(folder, p string) bool {
	for _, sep := range []string{"/", string(filepath.Separator)} {
		if p == folder || strings.HasPrefix(p, strings.TrimSuffix(folder, sep)+sep) {
			return true
		}
	}
	return false
}

// workspaceKeys are the keys that a workspace file may have, with the keys below them. The file is
// content of a repository, so it must not name a program, an address or a setting of a thread.
var workspaceKeys = []string{
	"policy",
	"approvals",
	"hooks.events",
	"hooks.on_failure",
	"tool_limits",
	"steering",
	"acp.enabled",
	"acp.allowed",
}

func workspaceAllows(pattern string) bool { return isBelow(workspaceKeys, pattern) }

// bundleKeys are the further keys that a bundle may have. It may not name a program, so that a stolen key of a
// publisher starts none.
var bundleKeys = []string{"hooks.timeout", "hooks.max_revisions", "compat.ignore_unknown"}

func bundleAllows(pattern string) bool {
	return workspaceAllows(pattern) || isBelow(bundleKeys, pattern)
}

// isBelow reports whether a key is one of a list, or below one.
func isBelow(keys []string, pattern string) bool {
	return slices.ContainsFunc(keys, func(prefix string) bool {
		rest, ok := strings.CutPrefix(pattern, prefix)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	}) && !strings.HasPrefix(pattern, "approvals.desk")
}
