package binding

import (
	"bytes"
	"encoding/json"
	"time"

	"codex-bridge.example/bridge/setting"
	"codex-bridge.example/lifecycle/params"
)

// timestamp is RFC 3339 in UTC with milliseconds.
const timestamp = "2006-01-02T15:04:05.000Z"

// Stamped returns b with the times of a write now and with normalized settings.
func (b Binding) Stamped(now time.Time) Binding {
	b.UpdatedAt = now.UTC().Format(timestamp)
	if b.CreatedAt == "" {
		b.CreatedAt = b.UpdatedAt
	}
	b.ModelProvider = setting.BoundProvider(b.ModelProvider)
	b.ServiceTier = setting.ServiceTier(b.ServiceTier)
	return b
}

// Encode returns the text of the record's file. It does not change the times.
func Encode(b Binding) []byte {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(record{schemaVersion, b}); err != nil {
		panic(err) // texts, booleans and maps of texts always have a JSON form
	}
	return text.Bytes()
}

type record struct {
	SchemaVersion int `json:"schemaVersion"`
	Binding
}

// MarshalJSON adds the version.
func (c ContextEngine) MarshalJSON() ([]byte, error) {
	type plain ContextEngine
	return params.Encode(struct {
		SchemaVersion int `json:"schemaVersion"`
		plain
	}{schemaVersion, plain(c)})
}

// MarshalJSON adds the version and the mode.
func (p Projection) MarshalJSON() ([]byte, error) {
	type plain Projection
	return params.Encode(struct {
		SchemaVersion int    `json:"schemaVersion"`
		Mode          string `json:"mode"`
		plain
	}{schemaVersion, threadBootstrap, plain(p)})
}

// MarshalJSON writes nil maps as empty objects: Read does not accept null.
func (p PluginPolicy) MarshalJSON() ([]byte, error) {
	type plain PluginPolicy
	if p.Apps == nil {
		p.Apps = map[string]PluginApp{}
	}
	if p.AppIDs == nil {
		p.AppIDs = map[string][]string{}
	}
	return params.Encode(plain(p))
}
