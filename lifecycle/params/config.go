package params

import (
	"encoding/json"
	"strconv"
)

// CodeMode says whether the model writes programs that call the tools.
type CodeMode int

// The values of CodeMode. CodeModeAsIs leaves it to the configuration and the model. Codex 0.169
// warns that the keys of the other two are under development.
const (
	CodeModeAsIs CodeMode = iota
	CodeModeOnly
	CodeModeOff
)

// CodeModeOf returns the CodeMode for a word of the configuration. "" and unknown words mean
// CodeModeAsIs.
func CodeModeOf(word string) CodeMode {
	return map[string]CodeMode{"only": CodeModeOnly, "off": CodeModeOff}[word]
}

// apply sets the mode in a configuration, in its object features if it has one, or else as dotted
// keys. Measured: of a key in both forms Codex takes either one at random, so apply leaves one form.
func (m CodeMode) apply(o object) error {
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

// lightweight keeps the project's instructions out of the context.
var lightweight = json.RawMessage(`{"project_doc_max_bytes":0}`)

// Config holds the layers of a thread's configuration, in the order of merging. nil is no layer.
type Config struct {
	Configured  json.RawMessage // for every thread
	Requested   json.RawMessage // of the client's request
	UserServers json.RawMessage // see MCPServersConfig
	Apps        json.RawMessage // of plugins; for a thread that starts
	CodeMode    CodeMode
	Lightweight bool
}

// HasChanges reports whether c has more than the configuration of the client's request.
func (c Config) HasChanges() bool {
	return c.Configured != nil || c.UserServers != nil || c.Apps != nil || c.CodeMode != CodeModeAsIs || c.Lightweight
}

// start returns the configuration of a new thread, nil for none.
func (c Config) start() (json.RawMessage, error) {
	return c.merge(c.Configured, c.Requested, c.UserServers, c.Apps)
}

// resume returns the configuration of a resumed thread, without the apps, which the thread keeps.
func (c Config) resume() (json.RawMessage, error) {
	return c.merge(c.Configured, c.Requested, c.UserServers)
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
		err = c.CodeMode.apply(o)
	}
	if err != nil {
		return nil, err
	}
	return o.write()
}
