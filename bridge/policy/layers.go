package policy

import (
	"slices"
	"strings"

	"codex-bridge.example/rpc"
)

const (
	sandboxModeKey = "sandbox_mode"
	flagsLayer     = "sessionFlags"
	projectLayer   = "project"
)

// activeLayers returns the layers of config/read that count, the strongest first. Measured with Codex
// 0.169: the configuration of an untrusted project is listed, too, with a disabledReason.
func activeLayers(layers rpc.Value) (active []rpc.Value) {
	for layer := range layers.Elements() {
		if IsUnset(layer.Get("disabledReason")) {
			active = append(active, layer)
		}
	}
	return active
}

// sandboxWins reports whether sandbox_mode counts and not default_permissions. Measured with Codex
// 0.169: of two layers, the first one that has either key gives the sandbox; in one layer
// default_permissions wins.
func sandboxWins(layers rpc.Value) bool {
	for _, layer := range activeLayers(layers) {
		cfg := layer.Get("config")
		mode, profile := !IsUnset(cfg.Get(sandboxModeKey)), !IsUnset(cfg.Get(defaultPermissionsKey))
		if mode || profile {
			return !profile
		}
	}
	return false
}

// parseRank sets BeatsMode and BeatsProfile. Measured with Codex 0.169: the overlay of a request is in one
// layer with the command line, and in one layer default_permissions wins over sandbox_mode. The machine's
// managed configuration wins over that layer.
func (d *Defaults) parseRank(layers rpc.Value) {
	for _, layer := range activeLayers(layers) {
		kind, cfg := TextOf(layer.Get("name").Get("type")), layer.Get("config")
		mode, profile := !IsUnset(cfg.Get(sandboxModeKey)), !IsUnset(cfg.Get(defaultPermissionsKey))
		switch {
		case strings.HasPrefix(kind, managedLayer):
			d.BeatsMode, d.BeatsProfile = d.BeatsMode || mode || profile, d.BeatsProfile || mode || profile
		case kind == flagsLayer:
			d.BeatsMode = d.BeatsMode || profile
		}
	}
}

// parseReplaced sets Replaced. A profile that the command line or managed_config.toml names is the user's or
// the administrator's choice, because clients can't name one there. If both a project and the user's files
// name profiles, the bridge can't keep what each denies.
func (d *Defaults) parseReplaced(layers rpc.Value) {
	var names []string
	for _, layer := range activeLayers(layers) {
		kind, cfg := TextOf(layer.Get("name").Get("type")), layer.Get("config")
		name := TextOf(cfg.Get(defaultPermissionsKey))
		strong := kind == flagsLayer || strings.HasPrefix(kind, managedLayer)
		if strong && name == d.Permissions && namesUserProfile(name) {
			return
		}
		if strong {
			continue
		}
		if namesUserProfile(name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
		if slices.Contains(ownLayers, kind) && (name != "" || !IsUnset(cfg.Get(sandboxModeKey))) {
			break
		}
	}
	if len(names) == 0 {
		return
	}
	if names[0] != d.Permissions {
		d.Replaced = names[0]
	}
	if u := d.Profiles[names[0]]; u != nil && len(names) > 1 {
		u.refuseProject("the configuration of a project names it in default_permissions in place of " + names[1])
	}
}

// parseDisabled sets Disabled: the sandbox of the project's configuration that Codex does not load yet, if it would count.
func (d *Defaults) parseDisabled(layers rpc.Value) {
	for layer := range layers.Elements() {
		cfg := layer.Get("config")
		mode, profile := TextOf(cfg.Get(sandboxModeKey)), TextOf(cfg.Get(defaultPermissionsKey))
		switch {
		case mode == "" && profile == "":
			continue
		case !IsUnset(layer.Get("disabledReason")) && layer.Get("name").Get("type").Is(projectLayer):
			d.Disabled = &Defaults{Sandbox: mode, Permissions: profile}
		}
		return // a stronger layer has a sandbox
	}
}

// refuseProjectProfiles refuses the profiles that a project's configuration changes. Measured with Codex
// 0.169: the tables of a trusted project win over the user's, entry by entry.
func (d *Defaults) refuseProjectProfiles(layers rpc.Value) {
	for _, layer := range activeLayers(layers) {
		if !layer.Get("name").Get("type").Is(projectLayer) {
			continue
		}
		for name := range layer.Get("config").Get(permissionsKey).Members() {
			for _, u := range d.Profiles {
				if slices.Contains(u.chain, name) {
					u.refuseProject("the configuration of a project has [permissions." + name + "], too, and may allow what yours denies")
				}
			}
		}
	}
}

// refuseProject sets the problem of a profile that a project's configuration causes.
func (u *UserProfile) refuseProject(problem string) {
	if u.Problem == "" {
		u.Problem = problem
		u.fix = "remove that from the project's .codex/config.toml, or do not trust the project"
	}
}
