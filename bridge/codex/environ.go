package codex

import (
	"maps"
	"runtime"
	"slices"
	"strings"
)

// Environ returns base with the variables of add, without those named in remove, which also
// applies to add. Names in remove are trimmed; on Windows their case does not matter.
func Environ(base []string, add map[string]string, remove []string) []string {
	return environ(base, add, remove, runtime.GOOS)
}

func environ(base []string, add map[string]string, remove []string, goos string) []string {
	same := func(a, b string) bool { return a == b }
	if goos == "windows" {
		same = strings.EqualFold
	}
	gone := func(name string) bool {
		return slices.ContainsFunc(remove, func(r string) bool { return same(strings.TrimSpace(r), name) })
	}
	var env []string
	for _, pair := range base {
		name, _, _ := strings.Cut(pair, "=")
		_, replaced := add[name]
		if !replaced && !gone(name) {
			env = append(env, pair)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(add)) {
		if !gone(name) {
			env = append(env, name+"="+add[name])
		}
	}
	return env
}

// WithoutCodex returns an environment without the variables that change where Codex has its files, or its name. Those of
// the bridge stay.
func WithoutCodex(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		return strings.HasPrefix(entry, "CODEX_") && !strings.HasPrefix(entry, "CODEX_BRIDGE_")
	})
}
