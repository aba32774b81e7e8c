package policy

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"codex-bridge.example/rpc"
)

// UserProfile is a permissions profile that the user's configuration defines, together with the
// profiles that it extends.
//
// A thread's overlay repeats what the profile denies, because another sandbox replaces the profile.
// Measured with Codex 0.169: of two entries for one path "deny" wins, wherever they are written; a
// glob denies files, not folders; and an entry below a denied folder lets no command start.
type UserProfile struct {
	Name string
	// Problem is why the bridge can't repeat the profile; "" if it can.
	Problem string
	fix     string // how to fix Problem; "": by another profile
	// Writes reports that the profile is Codex's :workspace with fewer rights. Else the bridge
	// repeats what it denies, but nothing that it lets commands write.
	Writes bool
	// base is the builtin profile at the end of the chain; "" if there is none. Commands can then
	// read only what the profile names.
	base  string
	chain []string // the names of the profile and those that it extends
	// access is "read", "write" or "deny" by key of Codex's table, and by path below that key; "."
	// is the key itself.
	access map[string]map[string]string
	depth  json.RawMessage // glob_scan_max_depth; nil if absent
	// network are the settings of the network, without null; nil if the profile has none.
	network   map[string]json.RawMessage
	networkOn bool
}

const (
	accessRead  = "read"
	accessWrite = "write"
	accessDeny  = "deny"

	globDepthKey = "glob_scan_max_depth"
	maxExtends   = 32 // profiles in a chain
)

// accessNames are the kinds of access, the narrowest first.
var accessNames = []string{accessDeny, accessRead, accessWrite}

// narrower returns the narrower of two kinds of access. "" is none.
func narrower(a, b string) string {
	switch {
	case a == "":
		return b
	case b == "" || slices.Index(accessNames, a) <= slices.Index(accessNames, b):
		return a
	}
	return b
}

// workspaceWrites are the keys with which Codex's :workspace lets commands write.
var workspaceWrites = []string{workspaceRootsKey, tmpdirKey, slashTmpKey}

// parseUserProfile reads a profile from the table `permissions`, as config/read returns it.
func parseUserProfile(permissions rpc.Value, name string) *UserProfile {
	u := &UserProfile{Name: name, access: map[string]map[string]string{}}
	forms := map[string]bool{} // whether a key has a table, by key
	networks := 0
	for at, n := name, 0; ; n++ {
		profile := permissions.Get(at)
		u.chain = append(u.chain, at)
		switch {
		case n == maxExtends:
			u.Problem = "it extends too many profiles"
		case profile.Kind() != rpc.Object:
			u.Problem = "the profile " + at + " is not in [permissions]"
		default:
			u.Problem = u.readMembers(at, profile, forms)
		}
		if u.Problem != "" {
			return u
		}
		if network := profile.Get("network"); !IsUnset(network) {
			networks++
			u.readNetwork(network)
		}
		extends := profile.Get("extends")
		if IsUnset(extends) {
			break
		}
		at = TextOf(extends)
		if at == builtinProfiles[ReadOnly] || at == builtinProfiles[WorkspaceWrite] {
			u.base = at
			break
		}
	}
	if networks > 1 {
		// Which of the settings count is not known, so that commands get no network.
		u.network, u.networkOn = map[string]json.RawMessage{}, false
	}
	u.Writes = u.isNarrowWorkspace()
	return u
}

// readMembers reads the files and folders of one profile of the chain. It returns why they can't be
// repeated, or "".
func (u *UserProfile) readMembers(name string, profile rpc.Value, forms map[string]bool) (problem string) {
	for member, v := range profile.Members() {
		if IsUnset(v) {
			continue
		}
		switch member {
		case "description", "extends", "network":
		case "filesystem":
			problem = u.readFiles(v, forms)
		case "workspace_roots":
			for _, on := range v.Members() {
				if is, ok := on.Bool(); is || !ok {
					problem = "workspace_roots adds folders"
				}
			}
		default:
			problem = "the bridge does not know " + member
		}
		if problem != "" {
			return "in [permissions." + name + "] " + problem
		}
	}
	return ""
}

// readFiles adds the table `filesystem` of one profile of the chain. If several profiles have the
// same entry, the narrowest counts.
func (u *UserProfile) readFiles(files rpc.Value, forms map[string]bool) (problem string) {
	if files.Kind() != rpc.Object {
		return "filesystem is not a table"
	}
	for key, v := range files.Members() {
		if IsUnset(v) {
			continue
		}
		if key == globDepthKey {
			if u.depth == nil { // of the innermost profile
				u.depth = CloneRaw(v)
			}
			continue
		}
		table := v.Kind() == rpc.Object
		// Measured with Codex 0.169: a text replaces the whole table of the extended profile.
		if had, known := forms[key]; known && had != table {
			return fmt.Sprintf("filesystem has %q as a text, and a profile of the chain as a table", key)
		}
		forms[key] = table
		if !table && !u.add(key, ".", TextOf(v)) {
			return fmt.Sprintf("filesystem has an unknown access for %q", key)
		}
		for sub, access := range v.Members() {
			if !u.add(key, sub, TextOf(access)) {
				return fmt.Sprintf("filesystem has an unknown access for %q in %q", sub, key)
			}
		}
	}
	return ""
}

func (u *UserProfile) add(key, sub, access string) (ok bool) {
	if !slices.Contains(accessNames, access) {
		return false
	}
	if u.access[key] == nil {
		u.access[key] = map[string]string{}
	}
	u.access[key][sub] = narrower(u.access[key][sub], access)
	return true
}

// repeatableNetwork are the settings of a profile's network that the bridge repeats.
var repeatableNetwork = []string{
	"enabled", "mode", "domains", "unix_sockets", "allow_local_binding", "allow_upstream_proxy", "proxy_url", "enable_socks5", "socks_url",
	"enable_socks5_udp", "dangerously_allow_non_loopback_proxy", "dangerously_allow_all_unix_sockets",
}

// readNetwork reads the table `network`. With a setting that the bridge does not repeat, such as
// mitm, which can send secrets, commands get no network.
func (u *UserProfile) readNetwork(v rpc.Value) {
	u.network = map[string]json.RawMessage{}
	u.networkOn, _ = v.Get("enabled").Bool()
	for name, setting := range v.Members() {
		switch {
		case IsUnset(setting):
		case !slices.Contains(repeatableNetwork, name):
			u.network, u.networkOn = map[string]json.RawMessage{}, false
			return
		default:
			u.network[name] = withoutNull(setting)
		}
	}
}

// withoutNull returns the JSON of a value without the members that are null, which TOML has not.
func withoutNull(v rpc.Value) json.RawMessage {
	if v.Kind() != rpc.Object {
		return CloneRaw(v)
	}
	members := map[string]json.RawMessage{}
	for name, member := range v.Members() {
		if !IsUnset(member) {
			members[name] = withoutNull(member)
		}
	}
	raw, _ := json.Marshal(members) // raw JSON of a parsed text: it can't fail
	return raw
}

// isNarrowWorkspace reports whether the profile extends :workspace and lets commands write nothing
// else.
func (u *UserProfile) isNarrowWorkspace() bool {
	if u.base != builtinProfiles[WorkspaceWrite] {
		return false
	}
	for key, subs := range u.access {
		for sub, access := range subs {
			known := sub == "." && slices.Contains(workspaceWrites, key)
			if access == accessWrite && !known || access != accessWrite && known && key == workspaceRootsKey {
				return false
			}
		}
	}
	return true
}

// Level returns the highest level that a thread with the profile can have under the bridge.
func (u *UserProfile) level() Level {
	if u.Writes {
		return WorkspaceWrite
	}
	return ReadOnly
}

// withBoth returns a profile that denies what either of two does. The bridge's name for the profile of a thread does
// not say whether Codex alone would have recorded u, or would take the default other.
func (u *UserProfile) withBoth(other *UserProfile) *UserProfile {
	switch {
	case u.Problem != "":
		return u
	case other.Problem != "":
		return other
	case (u.base == "") != (other.base == ""):
		return &UserProfile{Name: u.Name, Problem: "the default is " + other.Name + " now, and only one of both lets commands read just what it names", fix: "resume the thread with one of both as permissions"}
	}
	both := *u
	both.Writes = u.Writes && other.Writes
	if other.base == builtinProfiles[ReadOnly] {
		both.base = other.base
	}
	both.access = map[string]map[string]string{}
	for _, one := range []*UserProfile{u, other} {
		for key, subs := range one.access {
			if both.access[key] == nil {
				both.access[key] = map[string]string{}
			}
			for sub, access := range subs {
				both.access[key][sub] = narrower(both.access[key][sub], access)
			}
		}
	}
	if !bytes.Equal(u.depth, other.depth) {
		both.depth = nil
	}
	both.networkOn = u.networkOn && other.networkOn
	switch mine, theirs := u.networkLimits(), other.networkLimits(); {
	case len(mine) == 0:
		both.network = other.network
	case len(theirs) > 0 && !reflect.DeepEqual(mine, theirs):
		return &UserProfile{Name: u.Name, Problem: "the default is " + other.Name + " now, with other limits of the network", fix: "resume the thread with one of both as permissions"}
	}
	return &both
}

// networkLimits returns the settings of the network besides whether it is on.
func (u *UserProfile) networkLimits() map[string]json.RawMessage {
	limits := maps.Clone(u.network)
	delete(limits, "enabled")
	return limits
}

// UserProfile returns the user's own profile that is the default, or would be without the command line
// and the project; nil if that is a builtin one, or none.
func (d *Defaults) UserProfile() *UserProfile { return d.userProfile(d.userProfileName()) }

// userProfileName returns the name of UserProfile, or a name of another kind.
func (d *Defaults) userProfileName() string { return cmp.Or(d.Replaced, d.Permissions) }

// userProfile returns the user's own profile of that name; nil if the name is not of such a profile.
func (d *Defaults) userProfile(name string) *UserProfile {
	if !namesUserProfile(name) {
		return nil
	}
	if u := d.Profiles[name]; u != nil {
		return u
	}
	return &UserProfile{Name: name, Problem: "[permissions] does not have it"}
}

// Hint says how to fix a profile that the bridge can't keep.
func (u *UserProfile) Hint() string {
	return cmp.Or(u.fix, "change [permissions."+u.Name+"], or name another profile in default_permissions")
}

// Denials returns what the bridge keeps of the profile, for people: "deny **/.env" and the like,
// sorted.
func (u *UserProfile) Denials() (all []string) {
	for key, subs := range u.access {
		for sub, access := range subs {
			if access == accessWrite {
				continue
			}
			at := key
			if sub != "." {
				at = strings.TrimSuffix(key, "/") + "/" + sub
			}
			all = append(all, access+" "+strings.TrimPrefix(at, workspaceRootsKey+"/"))
		}
	}
	slices.Sort(all)
	return all
}

// workspaceEntries returns the entries that narrow a workspace-write thread. If the profile itself
// does not let commands write, a thread has that sandbox only by request: then entries stay away
// with which it would not have it.
func (u *UserProfile) workspaceEntries() map[string]map[string]string {
	out := map[string]map[string]string{}
	for key, subs := range u.access {
		for sub, access := range subs {
			base := sub == "." && slices.Contains(workspaceWrites, key)
			if access == accessWrite || !u.Writes && base && access == accessRead {
				continue
			}
			if out[key] == nil {
				out[key] = map[string]string{}
			}
			out[key][sub] = access
		}
	}
	return out
}

// readOnlyEntries returns the entries for a thread whose commands write nothing: those of the
// profile, with "read" in place of "write".
func (u *UserProfile) readOnlyEntries() map[string]any {
	entries := map[string]any{}
	for key, subs := range u.access {
		lowered := map[string]string{}
		for sub, access := range subs {
			lowered[sub] = narrower(access, accessRead)
		}
		entries[key] = entryOf(lowered)
	}
	u.addDepth(entries)
	return entries
}

// addDepth adds the depth to which Codex looks for files that globs match.
func (u *UserProfile) addDepth(entries map[string]any) {
	if u.depth != nil {
		entries[globDepthKey] = u.depth
	}
}

// entryOf returns the entry of Codex's table for the access below a key. Measured with Codex 0.169:
// special keys such as :tmpdir take no table.
func entryOf(subs map[string]string) any {
	if access, only := subs["."]; only && len(subs) == 1 {
		return access
	}
	return maps.Clone(subs)
}
