package policy

// never are the keys of an overlay that don't pass whatever policy.config_keys
// says: each would set again what a rule has just set, or switch off what
// watches the thread. A key stands for everything below it.
var never = []struct {
	path   []string // folded
	reason string
}{
	{[]string{"approvalpolicy"}, "the field approvalPolicy is the one that is judged; a default of untrusted here makes codex fail"},
	{[]string{"sandboxmode"}, "the field sandbox is the one that is judged"},
	{[]string{"sandboxworkspacewrite"}, "network and writable roots are set by policy.network and policy.writable_roots"},
	{[]string{"defaultpermissions"}, "the field permissions is the one that is judged"},
	{[]string{"permissions"}, "a profile made by the client could allow anything"},
	{[]string{"approvalsreviewer"}, "the field approvalsReviewer is the one that is judged"},
	{[]string{"projects"}, "trust in a folder, and with it the folder's own configuration, is not the client's to give"},
	{[]string{"bypasshooktrust"}, "it would run hooks that nobody trusts"},
	{[]string{"hooks"}, "hooks watch the thread; the client must not add or replace them"},
	{[]string{"features", "hooks"}, "it switches hooks off"},
	// Measured: codex still takes the old names, with a notice.
	{[]string{"features", "codexhooks"}, "it is the old name of features.hooks and switches hooks off"},
	{[]string{"features", "pluginhooks"}, "it switches the hooks of plugins off"},
	// Measured: with a plugin, or with all of them, their hooks are switched off.
	{[]string{"plugins"}, "it switches plugins off, and their hooks with them, or brings one in"},
	{[]string{"features", "plugins"}, "it switches plugins off, and their hooks with them"},
	{[]string{"profile"}, "a profile is a whole configuration"},
	{[]string{"profiles"}, "a profile is a whole configuration"},
}

// neverReason says why a key never passes, or "". A key above a forbidden one
// counts only when it is a leaf: it would replace the whole table.
func neverReason(path []string, leaf bool) string {
	folded := make([]string, 0, len(path))
	for _, s := range path {
		if s = fold(s); s != "" {
			folded = append(folded, s)
		}
	}
	for _, n := range never {
		k := min(len(n.path), len(folded))
		if k == 0 || !equal(n.path[:k], folded[:k]) {
			continue
		}
		if k == len(n.path) || leaf {
			return n.reason
		}
	}
	return ""
}

func equal(a, b []string) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
