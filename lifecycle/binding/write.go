package binding

import (
	"bytes"
	"encoding/json"
	"time"

	"codex-bridge/bridge/setting"
)

// timestamp is RFC 3339 in UTC with milliseconds.
const timestamp = "2006-01-02T15:04:05.000Z"

// Options are what reading and writing a record needs to know beside its text.
type Options struct {
	// Now is written as the time of the change, and stands in for times that are missing.
	Now time.Time
}

func (o Options) now() string { return o.Now.UTC().Format(timestamp) }

// Stamped is b as it is to be kept when it is written now.
func (b Binding) Stamped(o Options) Binding {
	b.UpdatedAt = o.now()
	if b.CreatedAt == "" {
		b.CreatedAt = b.UpdatedAt
	}
	b.ModelProvider = setting.BoundProvider(b.ModelProvider)
	b.ServiceTier = setting.ServiceTier(b.ServiceTier)
	return b
}

// Encode is the text of the record's file. It does not stamp b.
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

// MarshalJSON writes the versions of the parts, which have no other.
func (c ContextEngine) MarshalJSON() ([]byte, error) {
	type plain ContextEngine
	return marshal(struct {
		SchemaVersion int `json:"schemaVersion"`
		plain
	}{schemaVersion, plain(c)})
}

// MarshalJSON writes the version and the mode, which have no other value.
func (p Projection) MarshalJSON() ([]byte, error) {
	type plain Projection
	return marshal(struct {
		SchemaVersion int    `json:"schemaVersion"`
		Mode          string `json:"mode"`
		plain
	}{schemaVersion, threadBootstrap, plain(p)})
}

// MarshalJSON writes empty collections as such: null is another value, and no context.
func (p PluginPolicy) MarshalJSON() ([]byte, error) {
	type plain PluginPolicy
	if p.Apps == nil {
		p.Apps = map[string]PluginApp{}
	}
	if p.AppIDs == nil {
		p.AppIDs = map[string][]string{}
	}
	return marshal(plain(p))
}

// marshal leaves <, > and & as they are.
func marshal(v any) ([]byte, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(text.Bytes()), err
}
