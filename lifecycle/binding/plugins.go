package binding

import (
	"errors"

	"codex-bridge.example/lifecycle/params"
	"codex-bridge.example/rpc"
)

// ReadPluginSettings reads {enabled, allowDestructiveActions, appCacheKey, plugins:
// [{configKey, marketplaceName, pluginName, enabled, allowDestructiveActions}]}. Omitted
// fields and null are off; a plugin without allowDestructiveActions inherits it. An unknown member is
// an error.
func ReadPluginSettings(v rpc.Value) (p PluginSettings, err error) {
	if v.Kind() == rpc.Null {
		return p, nil
	}
	var destructive []*bool // of each plugin; nil: not given
	readPlugin := func(v rpc.Value) (one Plugin, err error) {
		var own *bool
		err = params.Members{
			"configKey": params.Into(&one.ConfigKey, params.Text), "marketplaceName": params.Into(&one.Marketplace, params.Text),
			"pluginName": params.Into(&one.Name, params.Text), "enabled": params.Into(&one.Enabled, params.Bool),
			"allowDestructiveActions": func(v rpc.Value) error { own = new(bool); return params.Into(own, params.Bool)(v) },
		}.Read(v)
		if err == nil && one.ConfigKey == "" {
			err = errors.New("it has no configKey")
		}
		destructive = append(destructive, own)
		return one, err
	}
	if err := (params.Members{
		"enabled": params.Into(&p.Enabled, params.Bool), "allowDestructiveActions": params.Into(&p.AllowDestructiveActions, params.Bool),
		"appCacheKey": params.Into(&p.CacheKey, params.Optional(params.Text)), "plugins": params.Into(&p.Plugins, params.List(readPlugin)),
	}).Read(v); err != nil {
		return PluginSettings{}, err
	}
	for i, own := range destructive {
		p.Plugins[i].AllowDestructiveActions = own == nil && p.AllowDestructiveActions || own != nil && *own
	}
	return p, nil
}
