// Package apps is about the apps that plugins bring into a thread: which of them a host
// wants, what they may do there, and the fingerprints of both.
//
// The input is what the host has set up; the output is what has become of it, the part of
// the thread's configuration that switches the apps on. The same input can have another
// output once Codex knows other apps. It is pure and may be used by several goroutines.
package apps

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"codex-bridge/lifecycle/binding"
	"codex-bridge/lifecycle/fingerprint"
)

// Policy is what a host has set up for plugins.
type Policy struct {
	Enabled                 bool
	AllowDestructiveActions bool
	Plugins                 []Plugin
	CacheKey                *string // of the apps that the account has; nil: not known
}

// Plugin is one plugin of a host's.
type Plugin struct {
	ConfigKey               string `json:"configKey"`
	Marketplace             string `json:"marketplaceName"`
	Name                    string `json:"pluginName"`
	Enabled                 bool   `json:"enabled"`
	AllowDestructiveActions bool   `json:"allowDestructiveActions"`

	said bool // whether it may
}

// On are the plugins that are switched on, in the order of their keys.
func (p Policy) On() []Plugin {
	on := slices.DeleteFunc(slices.Clone(p.Plugins), func(one Plugin) bool { return !one.Enabled })
	slices.SortStableFunc(on, func(a, b Plugin) int { return cmp.Compare(a.ConfigKey, b.ConfigKey) })
	return on
}

// EnabledKeys are the keys of the plugins that are switched on.
func (p Policy) EnabledKeys() []string {
	var keys []string
	for _, plugin := range p.Plugins {
		if plugin.Enabled {
			keys = append(keys, plugin.ConfigKey)
		}
	}
	slices.Sort(keys)
	return keys
}

// Input is the fingerprint of what is set up. The order of plugins does not count.
func (p Policy) Input() (string, error) {
	plugins := slices.Clone(p.Plugins)
	slices.SortFunc(plugins, func(a, b Plugin) int {
		return cmp.Or(cmp.Compare(a.ConfigKey, b.ConfigKey), cmp.Compare(a.Marketplace, b.Marketplace), cmp.Compare(a.Name, b.Name),
			compare(a.Enabled, b.Enabled), compare(a.AllowDestructiveActions, b.AllowDestructiveActions))
	})
	if plugins == nil {
		plugins = []Plugin{}
	}
	return digest(map[string]any{
		"version": 1,
		"policy": map[string]any{
			"enabled": p.Enabled, "allowDestructiveActions": p.AllowDestructiveActions, "plugins": plugins,
		},
		"appCacheKey": p.CacheKey,
	})
}

// Config is the apps of a thread: what an input has become.
type Config struct {
	Patch  json.RawMessage // of the thread's configuration; nil: none
	Output string          // the fingerprint of it all
	Input  string          // that of what it was made from
	Policy *binding.PluginPolicy
}

// New makes the apps of a thread from the fingerprint of the input, the patch that
// switches them on, the apps by their id, and the apps' ids by plugin.
func New(input string, patch json.RawMessage, apps map[string]binding.PluginApp, ids map[string][]string) (*Config, error) {
	policy, err := policyOf(apps, ids)
	if err != nil {
		return nil, err
	}
	if patch == nil {
		patch = json.RawMessage("null")
	}
	output, err := digest(map[string]any{"version": 1, "inputFingerprint": input, "configPatch": patch, "policyContext": policy})
	if err != nil {
		return nil, err
	}
	return &Config{Patch: patch, Output: output, Input: input, Policy: policy}, nil
}

// setting is what Codex's configuration says of an app.
type setting struct {
	Enabled     bool `json:"enabled"`
	Destructive bool `json:"destructive_enabled"`
	OpenWorld   bool `json:"open_world_enabled"`
}

// Patch is the part of a thread's configuration that switches these apps on, and all others
// off.
func Patch(apps map[string]binding.PluginApp) (json.RawMessage, error) {
	all := map[string]setting{"_default": {}}
	for id, app := range apps {
		if id == "" || id == "_default" {
			return nil, fmt.Errorf("the plugin %s has an app with the id %q, which is none", app.Plugin, id)
		}
		all[id] = setting{Enabled: true, Destructive: app.AllowDestructiveActions, OpenWorld: true}
	}
	return json.Marshal(map[string]any{"apps": all})
}

func policyOf(apps map[string]binding.PluginApp, ids map[string][]string) (*binding.PluginPolicy, error) {
	p := &binding.PluginPolicy{Apps: make(map[string]binding.PluginApp), AppIDs: make(map[string][]string)}
	for id, app := range apps {
		if !binding.IsMarketplace(app.Marketplace) { // it would be dropped from the binding, and the thread with it each time
			return nil, fmt.Errorf("the app %q is of the marketplace %q, which is not known", id, app.Marketplace)
		}
		app.MCPServers = sorted(app.MCPServers)
		p.Apps[id] = app
	}
	for key, list := range ids {
		p.AppIDs[key] = sorted(list)
	}
	var err error
	p.Fingerprint, err = digest(map[string]any{"version": 1, "apps": p.Apps, "pluginAppIds": p.AppIDs})
	return p, err
}

// sorted is the list in order, and never null.
func sorted(list []string) []string {
	list = append([]string{}, list...)
	slices.Sort(list)
	return list
}

func digest(v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	return fingerprint.Digest(text)
}

// compare puts what is off before what is on.
func compare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
