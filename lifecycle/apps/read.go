package apps

import (
	"errors"
	"fmt"

	"codex-bridge/rpc"
)

// Read reads {enabled, allowDestructiveActions, appCacheKey, plugins: [{configKey,
// marketplaceName, pluginName, enabled, allowDestructiveActions}]}. What is left out is
// off; a plugin that does not say whether it may do what destroys something is as its host.
// A member that is not known is an error.
func Read(v rpc.Value) (Policy, error) {
	var p Policy
	if v.Kind() != rpc.Object {
		return p, fmt.Errorf("it is %s, not an object", v.Kind())
	}
	for name, m := range v.Members() {
		var err error
		switch name {
		case "enabled":
			p.Enabled, err = truth(m)
		case "allowDestructiveActions":
			p.AllowDestructiveActions, err = truth(m)
		case "appCacheKey":
			if m.Kind() != rpc.Null {
				var key string
				key, err = text(m)
				p.CacheKey = &key
			}
		case "plugins":
			p.Plugins, err = plugins(m)
		default:
			err = errors.New("it is not known; leave it out")
		}
		if err != nil {
			return Policy{}, fmt.Errorf("%s: %w", name, err)
		}
	}
	for i, plugin := range p.Plugins {
		if !plugin.said {
			p.Plugins[i].AllowDestructiveActions = p.AllowDestructiveActions
		}
		p.Plugins[i].said = false
	}
	return p, nil
}

func plugins(list rpc.Value) ([]Plugin, error) {
	if list.Kind() != rpc.Array {
		return nil, fmt.Errorf("it is %s, not a list", list.Kind())
	}
	var all []Plugin
	for v := range list.Elements() {
		p, err := plugin(v)
		if err != nil {
			return nil, fmt.Errorf("element %d: %w", len(all), err)
		}
		all = append(all, p)
	}
	return all, nil
}

func plugin(v rpc.Value) (p Plugin, err error) {
	if v.Kind() != rpc.Object {
		return p, fmt.Errorf("it is %s, not an object", v.Kind())
	}
	for name, m := range v.Members() {
		switch name {
		case "configKey":
			p.ConfigKey, err = text(m)
		case "marketplaceName":
			p.Marketplace, err = text(m)
		case "pluginName":
			p.Name, err = text(m)
		case "enabled":
			p.Enabled, err = truth(m)
		case "allowDestructiveActions":
			p.AllowDestructiveActions, err = truth(m)
			p.said = true
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

func truth(v rpc.Value) (bool, error) {
	b, ok := v.Bool()
	if !ok {
		return false, fmt.Errorf("it is %s, not a boolean", v.Kind())
	}
	return b, nil
}

func text(v rpc.Value) (string, error) {
	text, ok := v.Text()
	if !ok {
		return "", fmt.Errorf("it is %s, not a string", v.Kind())
	}
	return text, nil
}
