package params

import (
	"encoding/json"
	"strconv"
)

// CodeMode is whether the model writes programs that call the tools.
type CodeMode int

// The values of CodeMode. As it is: what the configuration and the model say. Codex 0.169
// warns of both keys as under development.
const (
	CodeModeAsIs CodeMode = iota
	CodeModeOnly
	CodeModeOff
)

// CodeModeOf is the value of a word: "" is as it is.
func CodeModeOf(word string) CodeMode {
	return map[string]CodeMode{"only": CodeModeOnly, "off": CodeModeOff}[word]
}

// over puts the mode into a configuration: beside what that has of features, or under dotted keys.
// Of one that has both forms of a key Codex takes the one or the other, by chance (measured).
func (m CodeMode) over(o object) error {
	if m == CodeModeAsIs {
		return nil
	}
	into, prefix := o, "features."
	if isObject(o["features"]) {
		var err error
		if into, err = readObject(o["features"]); err != nil {
			return err
		}
		prefix = ""
	}
	for _, name := range []string{"code_mode", "code_mode_only"} {
		delete(o, "features."+name)
		into[prefix+name] = json.RawMessage(strconv.FormatBool(m == CodeModeOnly))
	}
	if prefix != "" {
		return nil
	}
	var err error
	o["features"], err = into.write()
	return err
}

// lightweight keeps the project's own instructions out of the context.
var lightweight = json.RawMessage(`{"project_doc_max_bytes":0}`)

// Config is what a thread's configuration is merged from, in this order. nil is nothing.
type Config struct {
	Configured  json.RawMessage // for every thread
	Asked       json.RawMessage // the client's
	UserServers json.RawMessage // see MCPServersConfig
	Apps        json.RawMessage // of plugins; for a thread that starts
	Final       json.RawMessage // what nothing may change: the hooks
	CodeMode    CodeMode
	Lightweight bool
}

// HasChanges reports whether c has more than the client's own configuration.
func (c Config) HasChanges() bool {
	return c.Configured != nil || c.UserServers != nil || c.Apps != nil || c.Final != nil || c.CodeMode != CodeModeAsIs || c.Lightweight
}

// start returns the configuration of a new thread, nil for none.
func (c Config) start() (json.RawMessage, error) {
	return c.merge(c.Configured, c.Asked, c.UserServers, c.Apps, c.Final)
}

// resume returns the configuration of a resumed thread, without the apps, which the thread keeps.
func (c Config) resume() (json.RawMessage, error) {
	return c.merge(c.Configured, c.Asked, c.UserServers, c.Final)
}

func (c Config) merge(layers ...json.RawMessage) (json.RawMessage, error) {
	if c.Lightweight {
		layers = append(layers, lightweight)
	}
	merged, err := mergeConfig(layers...)
	if err != nil || c.CodeMode == CodeModeAsIs {
		return merged, err
	}
	o, err := readObject(merged)
	if err == nil {
		err = c.CodeMode.over(o)
	}
	if err != nil {
		return nil, err
	}
	return o.write()
}
