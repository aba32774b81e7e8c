package binding

import (
	"errors"
	"fmt"

	"codex-bridge/rpc"
)

// ReadPluginSettings reads {enabled, allowDestructiveActions, appCacheKey, plugins:
// [{configKey, marketplaceName, pluginName, enabled, allowDestructiveActions}]}. Omitted
// fields are off; a plugin without allowDestructiveActions inherits it. An unknown member is
// an error.
func ReadPluginSettings(v rpc.Value) (PluginSettings, error) {
	var p PluginSettings
	if v.Kind() != rpc.Object {
		return p, fmt.Errorf("it is %s, not an object", v.Kind())
	}
	for name, m := range v.Members() {
		var err error
		switch name {
		case "enabled":
			p.Enabled, err = readBool(m)
		case "allowDestructiveActions":
			p.AllowDestructiveActions, err = readBool(m)
		case "appCacheKey":
			if m.Kind() != rpc.Null {
				var key string
				key, err = readString(m)
				p.CacheKey = &key
			}
		case "plugins":
			p.Plugins, err = readPlugins(m)
		default:
			err = errors.New("it is not known; leave it out")
		}
		if err != nil {
			return PluginSettings{}, fmt.Errorf("%s: %w", name, err)
		}
	}
	for i, plugin := range p.Plugins {
		if !plugin.hasDestructive {
			p.Plugins[i].AllowDestructiveActions = p.AllowDestructiveActions
		}
		p.Plugins[i].hasDestructive = false
	}
	return p, nil
}

func readPlugins(list rpc.Value) ([]Plugin, error) {
	if list.Kind() != rpc.Array {
		return nil, fmt.Errorf("it is %s, not a list", list.Kind())
	}
	var all []Plugin
	for v := range list.Elements() {
		p, err := readPlugin(v)
		if err != nil {
			return nil, fmt.Errorf("element %d: %w", len(all), err)
		}
		all = append(all, p)
	}
	return all, nil
}

func readPlugin(v rpc.Value) (p Plugin, err error) {
	if v.Kind() != rpc.Object {
		return p, fmt.Errorf("it is %s, not an object", v.Kind())
	}
	for name, m := range v.Members() {
		switch name {
		case "configKey":
			p.ConfigKey, err = readString(m)
		case "marketplaceName":
			p.Marketplace, err = readString(m)
		case "pluginName":
			p.Name, err = readString(m)
		case "enabled":
			p.Enabled, err = readBool(m)
		case "allowDestructiveActions":
			p.AllowDestructiveActions, err = readBool(m)
			p.hasDestructive = true
		default:
			err = errors.New("it is not known; leave it out")
		}
		if err != nil {
			return Plugin{}, fmt.Errorf("%s: %w", name, err)
		}
	}
	if p.ConfigKey == "" {
		return Plugin{}, errors.New("it has no configKey")
	}
	return p, nil
}

func readBool(v rpc.Value) (bool, error) {
	b, ok := v.Bool()
	if !ok {
		return false, fmt.Errorf("it is %s, not a boolean", v.Kind())
	}
	return b, nil
}
