package binding

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"time"

	"codex-bridge.example/bridge/setting"
	"codex-bridge.example/rpc"
)

// Dropped is a value of a record that Read could not use.
type Dropped struct{ Field, Why string }

func (d Dropped) String() string { return d.Field + ": " + d.Why }

// Read reads the record of the conversation in sessionFile and returns the values that it dropped. A
// text that is not a JSON object, and a record of another version or without a thread, are errors:
// the caller should keep the text and report it. A record with an empty threadId is valid but not
// Bound. now is the default for missing times.
func Read(text []byte, sessionFile string, now time.Time) (Binding, []Dropped, error) {
	doc, err := rpc.ParseValue(text)
	switch {
	case err != nil:
		return Binding{}, nil, fmt.Errorf("the binding can't be read: %w", err)
	case doc.Truncated():
		return Binding{}, nil, errors.New("the binding can't be read: it has too many values")
	case doc.Root().Kind() != rpc.Object:
		return Binding{}, nil, fmt.Errorf("the binding can't be read: it is %s, not an object", doc.Root().Kind())
	}
	r := reader{v: doc.Root()}
	if !isVersion(r.v.Get("schemaVersion")) {
		return Binding{}, nil, fmt.Errorf("the binding has an unknown form: its schemaVersion is not %d", schemaVersion)
	}
	thread, ok := r.v.Get("threadId").Text()
	if !ok {
		return Binding{}, nil, errors.New("the binding has an unknown form: it has no threadId")
	}
	b := Binding{
		SessionFile:                 sessionFile,
		ThreadID:                    thread,
		Cwd:                         r.text("cwd"),
		AuthProfile:                 r.text("authProfileId"),
		Model:                       r.text("model"),
		ModelProvider:               r.text("modelProvider"),
		ApprovalPolicy:              r.word("approvalPolicy", setting.IsApproval),
		Sandbox:                     r.word("sandbox", setting.IsSandbox),
		KeepsSandbox:                r.boolean("keepsSandbox"),
		ServiceTier:                 setting.ServiceTier(r.text("serviceTier")),
		Replacement:                 r.replacement("replacement"),
		DynamicTools:                r.text("dynamicToolsFingerprint"),
		DynamicToolsContainDeferred: r.boolean("dynamicToolsContainDeferred"),
		UserMCPServers:              r.text("userMcpServersFingerprint"),
		MCPServers:                  r.text("mcpServersFingerprint"),
		HookGeneration:              r.word("nativeHookRelayGeneration", func(text string) bool { return !blank(text) }),
		PluginApps:                  r.text("pluginAppsFingerprint"),
		PluginAppsInput:             r.text("pluginAppsInputFingerprint"),
		PluginPolicy:                r.pluginPolicy("pluginAppPolicyContext"),
		ContextEngine:               r.contextEngine("contextEngine"),
		Environments:                r.text("environmentSelectionFingerprint"),
		CreatedAt:                   r.text("createdAt"),
		UpdatedAt:                   r.text("updatedAt"),
	}
	b.ModelProvider = setting.BoundProvider(b.ModelProvider)
	b.CreatedAt = cmp.Or(b.CreatedAt, now.UTC().Format(timestamp))
	b.UpdatedAt = cmp.Or(b.UpdatedAt, now.UTC().Format(timestamp))
	return b, r.dropped, nil
}

// isVersion compares by value: 1.0 is 1, "1" is not.
func isVersion(v rpc.Value) bool {
	if v.Kind() != rpc.Number {
		return false
	}
	n, err := strconv.ParseFloat(string(v.Raw()), 64)
	return err == nil && n == schemaVersion
}

// reader reads the values of a record one by one.
type reader struct {
	v       rpc.Value
	dropped []Dropped
}

func (r *reader) drop(field, why string) { r.dropped = append(r.dropped, Dropped{field, why}) }

// text reads a string, or "" if it is absent or not a string.
func (r *reader) text(field string) string {
	v := r.v.Get(field)
	text, ok := v.Text()
	if !ok && v.Exists() {
		r.drop(field, "it is "+v.Kind().String()+", not a string")
	}
	return text
}

// word reads a string that known accepts.
func (r *reader) word(field string, known func(string) bool) string {
	text := r.text(field)
	if text == "" || known(text) {
		return text
	}
	r.drop(field, strconv.Quote(text)+" is not a known value")
	return ""
}

func (r *reader) boolean(field string) bool {
	v := r.v.Get(field)
	b, ok := v.Bool()
	if !ok && v.Exists() {
		r.drop(field, "it is "+v.Kind().String()+", not a boolean")
	}
	return b
}
