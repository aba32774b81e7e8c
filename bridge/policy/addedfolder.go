package policy

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"codex-bridge.example/bridge/display"
	"codex-bridge.example/rpc"
)

// WithoutTrust returns a thread/start to which the bridge has added the cwd, so that Codex trusts no project
// because of it. State.Defaults must be known for that folder. A request without an approval policy gets the one
// that Codex takes in an unknown project.
//
// Measured with Codex 0.169: a cwd with more than read-only stores the project as trusted, and loads it at once.
// The same Codex, started in the folder, does neither without a cwd. An entry in the overlay prevents it. It
// needs a trust_level, and with "untrusted" Codex reads no AGENTS.md. So a thread that opens read-only gets none.
func WithoutTrust(m *rpc.Message, st State) ([]byte, error) {
	cwd, _ := m.Params.Get("cwd").Text()
	folder, err := st.ResolveCwd(cwd)
	if err != nil {
		return nil, fmt.Errorf("the folder %q can't be resolved: %w", display.Clip(cwd), err)
	}
	patch := rpc.NewPatch(m)
	patch.Set(m.Params, "cwd", JSONString(folder)) // as Codex names its start folder
	overlay := m.Params.Get("config")
	own, err := overlayTrust(overlay)
	if err != nil {
		return nil, err
	}
	level := knownTrust(st, own, folder)
	if level == trustUnset && opensReadOnly(m.Params, st.Defaults) || level == trusted && st.Defaults.Projects.Own[trustKey(folder)] {
		return patch.Bytes(), nil
	}
	var levels trustTable
	for _, key := range own.keys {
		levels.add(key, own.level(key))
	}
	if level == trusted {
		levels.add(folder, trusted)
	} else if !levels.addUntrusted(folder) {
		return nil, errors.New(tooDeep)
	}
	if overlay.Kind() == rpc.Object {
		patch.Set(overlay, projectsKey, levels.json())
	} else {
		patch.Set(m.Params, "config", slices.Concat([]byte(`{"`+projectsKey+`":`), levels.json(), []byte("}")))
	}
	if level == trustUnset && IsUnset(m.Params.Get("approvalPolicy")) && IsUnset(overlay.Get(approvalPolicyKey)) && st.Defaults.Approval == nil {
		patch.Set(m.Params, "approvalPolicy", JSONString("on-request"))
	}
	return patch.Bytes(), nil
}

// overlayTrust returns the entries of the table projects in an overlay. A dotted form is an error: a random one of
// two forms counts.
func overlayTrust(overlay rpc.Value) (own trustTable, err error) {
	if overlay.Kind() != rpc.Object && !IsUnset(overlay) {
		return own, errors.New("config is not an object")
	}
	for key := range overlay.Members() {
		if strings.HasPrefix(key, projectsKey+".") {
			return own, fmt.Errorf("config has %q", display.Clip(key))
		}
	}
	levels, err := parseTrust(overlay.Get(projectsKey))
	if err != nil {
		return own, err
	}
	for _, key := range slices.Sorted(maps.Keys(levels)) {
		own.add(key, map[bool]trustLevel{true: trusted, false: untrusted}[levels[key]])
	}
	return own, nil
}

// knownTrust returns the trust that Codex has in the project of a folder, by its configuration and by own, the
// entries of the overlay. If entries differ, the strictest counts.
func knownTrust(st State, own trustTable, folder string) trustLevel {
	keys := []string{folder}
	if st.Repositories != nil {
		if roots, err := st.Repositories.Roots(folder); err == nil {
			keys = append(keys, roots...)
		}
	}
	level, projects := trustUnset, st.Defaults.Projects
	for _, key := range keys {
		key = trustKey(key)
		is, said := projects.Own[key]
		overlay := own.level(key)
		switch {
		case overlay == untrusted, overlay == trustUnset && said && !is:
			return untrusted
		case overlay == trusted, said, slices.Contains(projects.Others, key):
			level = trusted
		}
	}
	return level
}

// AsksForReadOnly reports whether the params of a thread/start name the sandbox read-only, and nothing that could be more.
func AsksForReadOnly(params rpc.Value) bool {
	return params.Get("sandbox").Is(ReadOnly.String()) && IsUnset(params.Get("permissions"))
}

// opensReadOnly reports whether a thread/start in a project that Codex does not know opens read-only.
func opensReadOnly(params rpc.Value, d *Defaults) bool {
	if !IsUnset(params.Get("permissions")) || !IsUnset(params.Get("sandbox")) {
		return AsksForReadOnly(params)
	}
	for key := range params.Get("config").Members() {
		first, _, _ := strings.Cut(key, ".")
		if slices.Contains([]string{"sandbox_mode", workspaceWriteKey, permissionsKey, defaultPermissionsKey}, first) {
			return false
		}
	}
	return d.Permissions == "" && (d.Sandbox == "" || d.Sandbox == ReadOnly.String())
}
