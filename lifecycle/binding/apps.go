package binding

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

// PluginSettings are the host's settings for plugins.
type PluginSettings struct {
	Enabled                 bool
	AllowDestructiveActions bool
	Plugins                 []Plugin
	CacheKey                *string // of the account's apps; nil means unknown
}

// Plugin is one plugin of the host.
type Plugin struct {
	ConfigKey               string `json:"configKey"`
	Marketplace             string `json:"marketplaceName"`
	Name                    string `json:"pluginName"`
	Enabled                 bool   `json:"enabled"`
	AllowDestructiveActions bool   `json:"allowDestructiveActions"`
}

// EnabledPlugins returns the enabled plugins, in the order of their keys.
func (p PluginSettings) EnabledPlugins() []Plugin {
	on := slices.DeleteFunc(slices.Clone(p.Plugins), func(one Plugin) bool { return !one.Enabled })
	slices.SortStableFunc(on, func(a, b Plugin) int { return cmp.Compare(a.ConfigKey, b.ConfigKey) })
	return on
}

// EnabledKeys returns the sorted keys of the enabled plugins.
func (p PluginSettings) EnabledKeys() []string {
	var keys []string
	for _, plugin := range p.EnabledPlugins() {
		keys = append(keys, plugin.ConfigKey)
	}
	return keys
}

// Input returns the fingerprint of the settings. The order of plugins does not count.
func (p PluginSettings) Input() (string, error) {
	plugins := slices.Clone(p.Plugins)
	slices.SortFunc(plugins, func(a, b Plugin) int {
		return cmp.Or(cmp.Compare(a.ConfigKey, b.ConfigKey), cmp.Compare(a.Marketplace, b.Marketplace), cmp.Compare(a.Name, b.Name),
			compareBools(a.Enabled, b.Enabled), compareBools(a.AllowDestructiveActions, b.AllowDestructiveActions))
	})
	if plugins == nil {
		plugins = []Plugin{}
	}
	return hashJSON(map[string]any{
		"version": 1,
		"policy": map[string]any{
			"enabled": p.Enabled, "allowDestructiveActions": p.AllowDestructiveActions, "plugins": plugins,
		},
		"appCacheKey": p.CacheKey,
	})
}

// AppConfig is the configuration of a thread's apps.
type AppConfig struct {
	Patch  json.RawMessage // of the thread's configuration
	Output string          // the fingerprint of the AppConfig
	Input  string          // the fingerprint of the plugin settings
	Policy *PluginPolicy
}

// NewAppConfig returns the AppConfig for the fingerprint of the plugin settings, the patch
// that enables the apps, the apps by id, and the apps' ids by plugin.
func NewAppConfig(input string, patch json.RawMessage, apps map[string]PluginApp, ids map[string][]string) (*AppConfig, error) {
	policy, err := newPluginPolicy(apps, ids)
	if err != nil {
		return nil, err
	}
	if patch == nil {
		patch = json.RawMessage("null")
	}
	output, err := hashJSON(map[string]any{"version": 1, "inputFingerprint": input, "configPatch": patch, "policyContext": policy})
	if err != nil {
		return nil, err
	}
	return &AppConfig{Patch: patch, Output: output, Input: input, Policy: policy}, nil
}

// appSetting is an app's entry in Codex's configuration.
type appSetting struct {
	Enabled     bool `json:"enabled"`
	Destructive bool `json:"destructive_enabled"`
	OpenWorld   bool `json:"open_world_enabled"`
}

// AppConfigPatch returns the part of a thread's configuration that enables these apps and disables
// all others.
func AppConfigPatch(apps map[string]PluginApp) (json.RawMessage, error) {
	all := map[string]appSetting{"_default": {}}
	for id, app := range apps {
		if id == "" || id == "_default" {
			return nil, fmt.Errorf("the plugin %s has an app with the invalid id %q", app.Plugin, id)
		}
		all[id] = appSetting{Enabled: true, Destructive: app.AllowDestructiveActions, OpenWorld: true}
	}
	return json.Marshal(map[string]any{"apps": all})
}

func newPluginPolicy(apps map[string]PluginApp, ids map[string][]string) (*PluginPolicy, error) {
	p := &PluginPolicy{Apps: make(map[string]PluginApp), AppIDs: make(map[string][]string)}
	for id, app := range apps {
		if !isMarketplace(app.Marketplace) { // Read would drop the policy, and each turn would start a new thread
			return nil, fmt.Errorf("the app %q is of the marketplace %q, which is unknown", id, app.Marketplace)
		}
		app.MCPServers = sortedCopy(app.MCPServers)
		p.Apps[id] = app
	}
	for key, list := range ids {
		p.AppIDs[key] = sortedCopy(list)
	}
	var err error
	p.Fingerprint, err = hashJSON(map[string]any{"version": 1, "apps": p.Apps, "pluginAppIds": p.AppIDs})
	return p, err
}

// sortedCopy returns a sorted copy of list, never nil.
func sortedCopy(list []string) []string {
	list = append([]string{}, list...)
	slices.Sort(list)
	return list
}

func hashJSON(v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	return HashFingerprint(text)
}

// compareBools orders false before true.
func compareBools(a, b bool) int { return cmp.Compare(strconv.FormatBool(a), strconv.FormatBool(b)) }
