package threads

import (
	"context"
	"encoding/json"
	"fmt"

	"codex-bridge.example/lifecycle/binding"
	"codex-bridge.example/rpc"
)

// maxPages is the maximum number of pages of Codex's list of apps.
const maxPages = 100

// decide returns the decision about the session's thread. If the decision needs the apps of the plugins, it
// reads them from Codex. If that fails, a valid thread stays.
func (r *request) decide(ctx context.Context) binding.Decision {
	d := binding.Decide(r.previous, r.inputs)
	if d.Action == binding.ActionBuild {
		if err := r.build(ctx); err != nil {
			r.o.Log.Warn("the apps of a session's plugins can't be looked up; its thread goes on with those it has", "session", r.session.Key, "error", err)
			r.inputs.Plugins.Failed = true
		}
		d = binding.Decide(r.previous, r.inputs)
	}
	return d
}

// build sets inputs.Plugins.Config to the apps of the session's plugins, once.
func (r *request) build(ctx context.Context) error {
	if r.inputs.Plugins.Config != nil {
		return nil
	}
	installed, err := r.installed(ctx)
	if err != nil {
		return err
	}
	known := make(map[string]binding.PluginApp)
	ids := make(map[string][]string)
	for _, p := range r.session.Plugins.EnabledPlugins() {
		at, ok := installed[plugin{p.Marketplace, p.Name}]
		if !ok {
			r.o.Log.Warn("a plugin of a session is not installed, or is switched off in codex; it brings no apps", "plugin", p.Name, "marketplace", p.Marketplace)
		}
		detail := rpc.Value{}
		if ok {
			if detail, err = r.detail(ctx, p, at); err != nil {
				return err
			}
		}
		ids[p.ConfigKey] = []string{}
		for app := range detail.Get("apps").Elements() {
			id, _ := app.Get("id").Text()
			if ids[p.ConfigKey] = append(ids[p.ConfigKey], id); known[id].ConfigKey == "" { // the first plugin's, by its key
				known[id] = binding.PluginApp{
					ConfigKey: p.ConfigKey, Marketplace: p.Marketplace, Plugin: p.Name,
					AllowDestructiveActions: p.AllowDestructiveActions, MCPServers: texts(detail.Get("mcpServers")),
				}
			}
		}
	}
	if err := r.reachable(ctx, known); err != nil {
		return err
	}
	patch, err := binding.AppConfigPatch(known)
	if err != nil {
		return err
	}
	r.inputs.Plugins.Config, err = binding.NewAppConfig(r.inputs.Plugins.Input, patch, known, ids)
	return err
}

// plugin identifies a plugin.
type plugin struct{ marketplace, name string }

// installed returns the enabled plugins with the path of their marketplace's file; "" for a marketplace
// without one.
func (r *request) installed(ctx context.Context) (map[plugin]string, error) {
	result, err := r.peer.Call(ctx, "plugin/installed", map[string]any{})
	if err != nil {
		return nil, fmt.Errorf("which plugins are installed: %w", err)
	}
	found := make(map[plugin]string)
	for marketplace := range result.Get("marketplaces").Elements() {
		name, _ := marketplace.Get("name").Text()
		path, _ := marketplace.Get("path").Text()
		for p := range marketplace.Get("plugins").Elements() {
			installed, _ := p.Get("installed").Bool()
			enabled, _ := p.Get("enabled").Bool()
			if own, _ := p.Get("name").Text(); installed && enabled {
				found[plugin{name, own}] = path
			}
		}
	}
	return found, nil
}

// detail returns Codex's description of a plugin.
func (r *request) detail(ctx context.Context, p binding.Plugin, path string) (rpc.Value, error) {
	args := map[string]any{"pluginName": p.Name}
	if path != "" {
		args["marketplacePath"] = path
	} else {
		args["remoteMarketplaceName"] = p.Marketplace
	}
	result, err := r.peer.Call(ctx, "plugin/read", args)
	if err != nil {
		return rpc.Value{}, fmt.Errorf("what the plugin %s of %s has: %w", p.Name, p.Marketplace, err)
	}
	return result.Get("plugin"), nil
}

// reachable removes the apps that the account can't use.
func (r *request) reachable(ctx context.Context, known map[string]binding.PluginApp) error {
	if len(known) == 0 {
		return nil
	}
	usable := make(map[string]bool)
	args := map[string]any{}
	for range maxPages {
		result, err := r.peer.Call(ctx, "app/list", args)
		if err != nil {
			return fmt.Errorf("which apps there are: %w", err)
		}
		for app := range result.Get("data").Elements() {
			id, _ := app.Get("id").Text()
			enabled, isSet := app.Get("isEnabled").Bool()
			accessible, _ := app.Get("isAccessible").Bool()
			usable[id] = accessible && (enabled || !isSet)
		}
		next, more := result.Get("nextCursor").Text()
		if !more || next == "" {
			for id := range known {
				if !usable[id] {
					delete(known, id)
				}
			}
			return nil
		}
		args["cursor"] = next
	}
	return fmt.Errorf("which apps there are: codex has more than %d pages of them", maxPages)
}

func texts(list rpc.Value) []string {
	var all []string
	for v := range list.Elements() {
		if text, ok := v.Text(); ok {
			all = append(all, text)
		}
	}
	return all
}

// patch returns the configuration that the apps of plugins add to a new thread.
func (r *request) patch() json.RawMessage {
	if r.inputs.Plugins.Config == nil {
		return nil
	}
	return r.inputs.Plugins.Config.Patch
}

// Plugins returns the apps of a session's thread, with their permissions, as bridge.plugins named them. It
// returns nil for a thread without a session, and for a session without bridge.plugins.
func (f *Feature) Plugins(ctx context.Context, thread string) (*binding.PluginPolicy, error) {
	open, ok := f.known.get(thread)
	if !ok || open.session == "" {
		return nil, nil
	}
	s, err := f.o.Store(ctx)
	if err != nil {
		return nil, err
	}
	kept, found, err := s.BindingBySession(ctx, open.session)
	if err != nil || !found {
		return nil, err
	}
	b, _, err := binding.Read([]byte(kept.Record), open.session, f.o.Now())
	if err != nil {
		return nil, fmt.Errorf("the binding of the session %s: %w", open.session, err)
	}
	if b.ThreadID != thread {
		return nil, nil
	}
	return b.PluginPolicy, nil
}
