package threads

import (
	"context"
	"encoding/json"
	"fmt"

	"codex-bridge.example/lifecycle/binding"
	"codex-bridge.example/rpc"
)

// mostPages bounds how often Codex is asked for more apps.
const mostPages = 100

// decide decides about the session's thread. If needed, it looks up the apps of the plugins.
// If that fails, a thread that was valid so far is kept.
func (r *request) decide(ctx context.Context) binding.Decision {
	d := binding.Decide(r.old, r.in)
	if d.Action == binding.ActionBuild {
		if err := r.build(ctx); err != nil {
			r.o.Log.Warn("the apps of a session's plugins can't be looked up; its thread goes on with those it has", "session", r.asked.Key, "error", err)
			r.in.Plugins.Failed = true
		}
		d = binding.Decide(r.old, r.in)
	}
	return d
}

// build finds out which apps the session's plugins come to, if that is not known yet.
func (r *request) build(ctx context.Context) error {
	if r.in.Plugins.Config != nil {
		return nil
	}
	installed, err := r.installed(ctx)
	if err != nil {
		return err
	}
	known := make(map[string]binding.PluginApp)
	ids := make(map[string][]string)
	for _, p := range r.asked.Plugins.EnabledPlugins() {
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
	r.in.Plugins.Config, err = binding.NewAppConfig(r.in.Plugins.Input, patch, known, ids)
	return err
}

// plugin names one.
type plugin struct{ marketplace, name string }

// installed are the plugins that are installed and switched on, and where the file of their
// marketplace is; "" it has none.
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

// detail is what Codex knows of a plugin.
func (r *request) detail(ctx context.Context, p binding.Plugin, path string) (rpc.Value, error) {
	asked := map[string]any{"pluginName": p.Name}
	if path != "" {
		asked["marketplacePath"] = path
	} else {
		asked["remoteMarketplaceName"] = p.Marketplace
	}
	result, err := r.peer.Call(ctx, "plugin/read", asked)
	if err != nil {
		return rpc.Value{}, fmt.Errorf("what the plugin %s of %s has: %w", p.Name, p.Marketplace, err)
	}
	return result.Get("plugin"), nil
}

// reachable leaves those apps that the account can use.
func (r *request) reachable(ctx context.Context, known map[string]binding.PluginApp) error {
	if len(known) == 0 {
		return nil
	}
	usable := make(map[string]bool)
	asked := map[string]any{}
	for range mostPages {
		result, err := r.peer.Call(ctx, "app/list", asked)
		if err != nil {
			return fmt.Errorf("which apps there are: %w", err)
		}
		for app := range result.Get("data").Elements() {
			id, _ := app.Get("id").Text()
			enabled, said := app.Get("isEnabled").Bool()
			accessible, _ := app.Get("isAccessible").Bool()
			usable[id] = accessible && (enabled || !said)
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
		asked["cursor"] = next
	}
	return fmt.Errorf("which apps there are: codex has more than %d pages of them", mostPages)
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

// patch is what the apps of plugins put into the configuration of a thread that starts.
func (r *request) patch() json.RawMessage {
	if r.in.Plugins.Config == nil {
		return nil
	}
	return r.in.Plugins.Config.Patch
}

// Plugins returns the apps that the host of a session has named for its thread, with their
// permissions. It returns nil for a thread without a session, and for one whose host has sent no
// bridge.plugins.
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
