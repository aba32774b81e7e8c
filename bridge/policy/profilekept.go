package policy

import (
	"maps"
	"slices"

	"codex-bridge.example/rpc"
)

// keepNarrowed keeps the denials that an earlier policy of the thread has put into the request. That policy may have
// known more, such as the roots that it removed, or the thread's stored profile.
func (c *request) keepNarrowed(profile *Profile) {
	if !c.st.Rewritten {
		return
	}
	table := c.params.Get("config").Get(permissionsKey)
	profile.Entries = withNarrowed(profile.Entries, table.Get(profile.nameOf(profileVariant{})), accessDeny, accessRead)
	for at, access := range table.Get(profile.nameOf(profileVariant{roots: true})).Get("filesystem").Members() {
		if access.Is(accessRead) && WithinAny(profile.Roots, at) {
			profile.RootEntries[at] = accessRead
		}
	}
	if profile.HasReadOnly() {
		profile.ReadOnly = withNarrowed(profile.ReadOnly, table.Get(profile.nameOf(profileVariant{readOnly: true})), accessDeny) // "read" could add something
	}
}

// withNarrowed adds the entries of a profile with these kinds of access. Each path gets the narrower of both.
func withNarrowed(entries map[string]any, profile rpc.Value, kinds ...string) map[string]any {
	all := maps.Clone(entries)
	if all == nil {
		all = map[string]any{}
	}
	for key, v := range profile.Get("filesystem").Members() {
		subs := map[string]string{}
		switch v.Kind() {
		case rpc.String:
			subs["."] = TextOf(v)
		case rpc.Object:
			for sub, access := range v.Members() {
				subs[sub] = TextOf(access)
			}
		}
		had := map[string]string{}
		switch entry := all[key].(type) {
		case string:
			had["."] = entry
		case map[string]string:
			had = maps.Clone(entry)
		}
		for sub, access := range subs {
			if slices.Contains(kinds, access) {
				had[sub] = narrower(had[sub], access)
			}
		}
		if len(had) > 0 {
			all[key] = entryOf(had)
		}
	}
	return all
}
