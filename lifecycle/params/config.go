package params

import "encoding/json"

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

func (m CodeMode) layer() json.RawMessage {
	switch m {
	case CodeModeOnly:
		return json.RawMessage(`{"features.code_mode":true,"features.code_mode_only":true}`)
	case CodeModeOff:
		return json.RawMessage(`{"features.code_mode":false,"features.code_mode_only":false}`)
	}
	return nil
}

// lightweight keeps the project's own instructions out of the context.
var lightweight = json.RawMessage(`{"project_doc_max_bytes":0}`)

// Config is what a thread's configuration is merged from, in this order. nil is nothing.
type Config struct {
	Configured  json.RawMessage // for every thread
	Asked       json.RawMessage // the client's
	UserServers json.RawMessage // see package servers
	Apps        json.RawMessage // of plugins; for a thread that starts
	Final       json.RawMessage // what nothing may change: the hooks
	CodeMode    CodeMode
	Lightweight bool
}

// Changes tells whether it has more than what the client asks for.
func (c Config) Changes() bool {
	return c.Configured != nil || c.UserServers != nil || c.Apps != nil || c.Final != nil || c.CodeMode != CodeModeAsIs || c.Lightweight
}

// Start is the configuration of a thread that starts, nil for none.
func (c Config) Start() (json.RawMessage, error) {
	return c.merge(c.Configured, c.Asked, c.UserServers, c.Apps, c.Final)
}

// Resume is the configuration of a thread that is gone on with: which apps it has it knows.
func (c Config) Resume() (json.RawMessage, error) {
	return c.merge(c.Configured, c.Asked, c.UserServers, c.Final)
}

func (c Config) merge(layers ...json.RawMessage) (json.RawMessage, error) {
	layers = append(layers, c.CodeMode.layer())
	if c.Lightweight {
		layers = append(layers, lightweight)
	}
	return Merge(layers...)
}
