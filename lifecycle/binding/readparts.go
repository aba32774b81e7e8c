package binding

import (
	"errors"
	"fmt"
	"slices"

	"codex-bridge.example/rpc"
)

// contextEngine reads the engine. An invalid projection is dropped alone.
func (r *reader) contextEngine(field string) *ContextEngine {
	v := r.v.Get(field)
	if !v.Exists() {
		return nil
	}
	id, hasID := v.Get("engineId").Text()
	policy, hasPolicy := v.Get("policyFingerprint").Text()
	if !isVersion(v.Get("schemaVersion")) || !hasID || !hasPolicy {
		r.drop(field, "it is no context engine of version 1")
		return nil
	}
	c := &ContextEngine{EngineID: id, Policy: policy}
	if p := v.Get("projection"); p.Exists() {
		if c.Projection = readProjectionRecord(p); c.Projection == nil {
			r.drop(field+".projection", "it is no "+threadBootstrap+" of version 1")
		}
	}
	return c
}

func readProjectionRecord(v rpc.Value) *Projection {
	epoch, _ := v.Get("epoch").Text()
	fingerprint, ok := v.Get("fingerprint").Text()
	if !isVersion(v.Get("schemaVersion")) || !v.Get("mode").Is(threadBootstrap) || blank(epoch) || !ok && v.Get("fingerprint").Exists() {
		return nil
	}
	return &Projection{Epoch: epoch, Fingerprint: fingerprint}
}

// pluginPolicy reads the policy of the plugins' apps. It says what apps may do, so one invalid entry
// drops all of it.
func (r *reader) pluginPolicy(field string) *PluginPolicy {
	v := r.v.Get(field)
	if !v.Exists() {
		return nil
	}
	p, err := pluginPolicy(v)
	if err != nil {
		r.drop(field, err.Error())
		return nil
	}
	return p
}

func pluginPolicy(v rpc.Value) (*PluginPolicy, error) {
	fingerprint, ok := v.Get("fingerprint").Text()
	if !ok {
		return nil, errors.New("it has no fingerprint")
	}
	apps, ids := v.Get("apps"), v.Get("pluginAppIds")
	if apps.Kind() != rpc.Object || ids.Exists() && ids.Kind() != rpc.Object {
		return nil, errors.New("apps and pluginAppIds have to be objects")
	}
	p := &PluginPolicy{Fingerprint: fingerprint, Apps: make(map[string]PluginApp), AppIDs: make(map[string][]string)}
	for id, entry := range apps.Members() {
		app, err := pluginApp(entry)
		if err != nil {
			return nil, fmt.Errorf("the app %q: %w", id, err)
		}
		p.Apps[id] = app
	}
	for key, list := range ids.Members() {
		if p.AppIDs[key], ok = texts(list); !ok {
			return nil, fmt.Errorf("pluginAppIds of %q is not a list of strings", key)
		}
	}
	return p, nil
}

var marketplaces = []string{"openai-curated", "openai-bundled", "openai-primary-runtime"}

// isMarketplace reports whether a marketplace is known, so that the names of its apps can be trusted.
func isMarketplace(name string) bool { return slices.Contains(marketplaces, name) }

func pluginApp(v rpc.Value) (PluginApp, error) {
	if v.Get("appId").Exists() {
		return PluginApp{}, errors.New("it is of an older form, with an appId")
	}
	key, hasKey := v.Get("configKey").Text()
	marketplace, _ := v.Get("marketplaceName").Text()
	plugin, hasPlugin := v.Get("pluginName").Text()
	destructive, hasDestructive := v.Get("allowDestructiveActions").Bool()
	servers, hasServers := texts(v.Get("mcpServerNames"))
	switch {
	case !hasKey || !hasPlugin || !hasDestructive || !hasServers:
		return PluginApp{}, errors.New("configKey, pluginName, allowDestructiveActions and mcpServerNames have to be there")
	case !isMarketplace(marketplace):
		return PluginApp{}, fmt.Errorf("%q is no known marketplace", marketplace)
	}
	return PluginApp{key, marketplace, plugin, destructive, servers}, nil
}

// texts reads a list of strings.
func texts(v rpc.Value) ([]string, bool) {
	if v.Kind() != rpc.Array {
		return nil, false
	}
	list := make([]string, 0, v.Len())
	for e := range v.Elements() {
		text, ok := e.Text()
		if !ok {
			return nil, false
		}
		list = append(list, text)
	}
	return list, true
}
