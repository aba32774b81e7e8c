package apps_test

import (
	"encoding/json"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"codex-bridge/lifecycle/apps"
	"codex-bridge/lifecycle/binding"
	"codex-bridge/lifecycle/fingerprint"
)

func input(t interface{ Fatal(...any) }, p apps.Policy) string {
	f, err := p.Input()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

var key = "account"

func policy() apps.Policy {
	return apps.Policy{Enabled: true, CacheKey: &key, Plugins: []apps.Plugin{
		{ConfigKey: "b", Marketplace: "openai-curated", Name: "b", Enabled: true},
		{ConfigKey: "a", Marketplace: "openai-curated", Name: "a"},
	}}
}

// The value is that of the text it is of, made by hand.
func TestInputIsOfThis(t *testing.T) {
	want, err := fingerprint.Digest([]byte(`{"version":1,"appCacheKey":null,"policy":{"enabled":true,"allowDestructiveActions":false,"plugins":[
		{"configKey":"a","marketplaceName":"m","pluginName":"n","enabled":true,"allowDestructiveActions":true}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	got := input(t, apps.Policy{Enabled: true, Plugins: []apps.Plugin{
		{ConfigKey: "a", Marketplace: "m", Name: "n", Enabled: true, AllowDestructiveActions: true},
	}})
	if got != want {
		t.Errorf("the fingerprint is %s, want %s", got, want)
	}
}

func TestInput(t *testing.T) {
	one := input(t, policy())
	other := "another"
	for name, change := range map[string]func(*apps.Policy){
		"enabled":            func(p *apps.Policy) { p.Enabled = false },
		"destructive":        func(p *apps.Policy) { p.AllowDestructiveActions = true },
		"cache key":          func(p *apps.Policy) { p.CacheKey = &other },
		"no cache key":       func(p *apps.Policy) { p.CacheKey = nil },
		"plugin enabled":     func(p *apps.Policy) { p.Plugins[1].Enabled = true },
		"plugin destructive": func(p *apps.Policy) { p.Plugins[0].AllowDestructiveActions = true },
		"marketplace":        func(p *apps.Policy) { p.Plugins[0].Marketplace = "openai-bundled" },
		"name":               func(p *apps.Policy) { p.Plugins[0].Name = "c" },
		"key":                func(p *apps.Policy) { p.Plugins[0].ConfigKey = "c" },
		"fewer":              func(p *apps.Policy) { p.Plugins = p.Plugins[:1] },
	} {
		p := policy()
		change(&p)
		if input(t, p) == one {
			t.Errorf("%s makes no difference", name)
		}
	}
	p := policy()
	if got := p.EnabledKeys(); !slices.Equal(got, []string{"b"}) {
		t.Errorf("switched on are %q", got)
	}
}

func TestOrderOfPluginsDoesNotCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := policy()
		for range rapid.IntRange(0, 4).Draw(t, "more") {
			p.Plugins = append(p.Plugins, apps.Plugin{ConfigKey: rapid.StringMatching(`[a-c]`).Draw(t, "key"), Name: rapid.StringMatching(`[a-c]`).Draw(t, "name"),
				Enabled: rapid.Bool().Draw(t, "on"), AllowDestructiveActions: rapid.Bool().Draw(t, "destructive")})
		}
		one := input(t, p)
		p.Plugins = rapid.Permutation(p.Plugins).Draw(t, "order")
		if input(t, p) != one {
			t.Fatal("the order of plugins counts")
		}
	})
}

func TestNew(t *testing.T) {
	in := input(t, policy())
	patch := json.RawMessage(`{"apps":{"x":{"enabled":true}}}`)
	known := map[string]binding.PluginApp{"x": {ConfigKey: "b", Marketplace: "openai-curated", Plugin: "b", MCPServers: []string{"t", "s"}}}
	ids := map[string][]string{"b": {"y", "x"}}
	of := func(in string, patch json.RawMessage, known map[string]binding.PluginApp, ids map[string][]string) *apps.Config {
		c, err := apps.New(in, patch, known, ids)
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
	for name, other := range map[string]*apps.Config{
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
	if back, dropped, err := binding.Read(binding.Encode(b), "", binding.Options{}); err != nil || len(dropped) > 0 || back.PluginPolicy == nil {
		t.Errorf("what is kept of it can't be read: %v %v", err, dropped)
	}
}

func TestUnknownMarketplace(t *testing.T) {
	if c, err := apps.New("in", nil, map[string]binding.PluginApp{"x": {ConfigKey: "b", Marketplace: "elsewhere"}}, nil); err == nil {
		t.Errorf("made %+v, which no binding can hold", c)
	}
}
