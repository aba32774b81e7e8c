package binding_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"codex-bridge.example/lifecycle/binding"
)

func inputOf(t interface{ Fatal(...any) }, p binding.PluginSettings) string {
	f, err := p.Input()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

var accountKey = "account"

func somePlugins() binding.PluginSettings {
	return binding.PluginSettings{Enabled: true, CacheKey: &accountKey, Plugins: []binding.Plugin{
		{ConfigKey: "b", Marketplace: "openai-curated", Name: "b", Enabled: true},
		{ConfigKey: "a", Marketplace: "openai-curated", Name: "a"},
	}}
}

// The fingerprint is the hash of a text that was written by hand.
func TestInputMatchesKnownText(t *testing.T) {
	want, err := binding.HashFingerprint([]byte(`{"version":1,"appCacheKey":null,"policy":{"enabled":true,"allowDestructiveActions":false,"plugins":[
		{"configKey":"a","marketplaceName":"m","pluginName":"n","enabled":true,"allowDestructiveActions":true}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	got := inputOf(t, binding.PluginSettings{Enabled: true, Plugins: []binding.Plugin{
		{ConfigKey: "a", Marketplace: "m", Name: "n", Enabled: true, AllowDestructiveActions: true},
	}})
	if got != want {
		t.Errorf("the fingerprint is %s, want %s", got, want)
	}
}

func TestPluginInput(t *testing.T) {
	one := inputOf(t, somePlugins())
	other := "another"
	for name, change := range map[string]func(*binding.PluginSettings){
		"enabled":            func(p *binding.PluginSettings) { p.Enabled = false },
		"destructive":        func(p *binding.PluginSettings) { p.AllowDestructiveActions = true },
		"cache key":          func(p *binding.PluginSettings) { p.CacheKey = &other },
		"no cache key":       func(p *binding.PluginSettings) { p.CacheKey = nil },
		"plugin enabled":     func(p *binding.PluginSettings) { p.Plugins[1].Enabled = true },
		"plugin destructive": func(p *binding.PluginSettings) { p.Plugins[0].AllowDestructiveActions = true },
		"marketplace":        func(p *binding.PluginSettings) { p.Plugins[0].Marketplace = "openai-bundled" },
		"name":               func(p *binding.PluginSettings) { p.Plugins[0].Name = "c" },
		"key":                func(p *binding.PluginSettings) { p.Plugins[0].ConfigKey = "c" },
		"fewer":              func(p *binding.PluginSettings) { p.Plugins = p.Plugins[:1] },
	} {
		p := somePlugins()
		change(&p)
		if inputOf(t, p) == one {
			t.Errorf("%s makes no difference", name)
		}
	}
	p := somePlugins()
	if got := p.EnabledKeys(); !slices.Equal(got, []string{"b"}) {
		t.Errorf("switched on are %q", got)
	}
}

func TestOrderOfPluginsDoesNotCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := somePlugins()
		for range rapid.IntRange(0, 4).Draw(t, "more") {
			p.Plugins = append(p.Plugins, binding.Plugin{ConfigKey: rapid.StringMatching(`[a-c]`).Draw(t, "key"), Name: rapid.StringMatching(`[a-c]`).Draw(t, "name"),
				Enabled: rapid.Bool().Draw(t, "on"), AllowDestructiveActions: rapid.Bool().Draw(t, "destructive")})
		}
		one := inputOf(t, p)
		p.Plugins = rapid.Permutation(p.Plugins).Draw(t, "order")
		if inputOf(t, p) != one {
			t.Fatal("the order of plugins counts")
		}
	})
}

func TestNewAppConfig(t *testing.T) {
	in := inputOf(t, somePlugins())
	patch := json.RawMessage(`{"apps":{"x":{"enabled":true}}}`)
	known := map[string]binding.PluginApp{"x": {ConfigKey: "b", Marketplace: "openai-curated", Plugin: "b", MCPServers: []string{"t", "s"}}}
	ids := map[string][]string{"b": {"y", "x"}}
	of := func(in string, patch json.RawMessage, known map[string]binding.PluginApp, ids map[string][]string) *binding.AppConfig {
		c, err := binding.NewAppConfig(in, patch, known, ids)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	one := of(in, patch, known, ids)
	again := of(in, json.RawMessage(` {"apps" : {"x":{"enabled":true}}}`),
		map[string]binding.PluginApp{"x": {ConfigKey: "b", Marketplace: "openai-curated", Plugin: "b", MCPServers: []string{"s", "t"}}},
		map[string][]string{"b": {"x", "y"}})
	if one.Output != again.Output || one.Policy.Fingerprint != again.Policy.Fingerprint {
		t.Error("white space, or the order of names, counts")
	}
	for name, other := range map[string]*binding.AppConfig{
		"input": of("other", patch, known, ids),
		"patch": of(in, nil, known, ids),
		"apps":  of(in, patch, nil, ids),
		"ids":   of(in, patch, known, nil),
		"destructive": of(in, patch, map[string]binding.PluginApp{
			"x": {ConfigKey: "b", Marketplace: "openai-curated", Plugin: "b", MCPServers: []string{"s", "t"}, AllowDestructiveActions: true},
		}, ids),
	} {
		if other.Output == one.Output {
			t.Errorf("%s makes no difference to the output", name)
		}
		if differs := other.Policy.Fingerprint != one.Policy.Fingerprint; differs != (name != "input" && name != "patch") {
			t.Errorf("%s makes a difference to what the apps may do: %v", name, differs)
		}
	}
	b := binding.Binding{ThreadID: "t", PluginPolicy: one.Policy}
	if back, dropped, err := binding.Read(binding.Encode(b), "", time.Time{}); err != nil || len(dropped) > 0 || back.PluginPolicy == nil {
		t.Errorf("what is kept of it can't be read: %v %v", err, dropped)
	}
}

func TestUnknownMarketplace(t *testing.T) {
	if c, err := binding.NewAppConfig("in", nil, map[string]binding.PluginApp{"x": {ConfigKey: "b", Marketplace: "elsewhere"}}, nil); err == nil {
		t.Errorf("made %+v, which no binding can hold", c)
	}
}
