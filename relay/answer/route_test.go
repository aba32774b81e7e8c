package answer_test

import (
	"testing"

	"pgregory.net/rapid"

	"codex-bridge.example/relay/answer"
)

var apps = &answer.Apps{ByID: map[string]answer.App{
	"cal":  {ConfigKey: "k", PluginName: "calendar", Destructive: true, Servers: []string{"cal-mcp", "both"}},
	"mail": {ConfigKey: "m", PluginName: "post", Destructive: true, Servers: []string{"both"}},
	"tame": {ConfigKey: "t", PluginName: "tame"},
}}

func TestRouteElicitation(t *testing.T) {
	const form = `"mode":"form","requestedSchema":{"type":"object","properties":{}},"threadId":"t"`
	for _, c := range []struct {
		name, params string
		want         answer.Route
	}{
		{"by id", `"turnId":"u","serverName":"codex_apps","_meta":{"app_id":"cal"}`, answer.ToPlugin},
		{"by its plugin's name", `"turnId":"u","serverName":"codex_apps","_meta":{"plugin_name":"calendar"}`, answer.ToPlugin},
		{"by its plugin's name in the other spelling", `"turnId":"u","serverName":"codex_apps__x","_meta":{"pluginName":"post"}`, answer.ToPlugin},
		{"by connector", `"turnId":"u","serverName":"codex_apps","_meta":{"source":"connector","connector_id":"cal"}`, answer.ToPlugin},
		{"by its server", `"turnId":"u","serverName":"cal-mcp","_meta":{}`, answer.ToPlugin},
		{"by the server of two, and one's id", `"turnId":"u","serverName":"both","_meta":{"app_id":"mail"}`, answer.ToPlugin},
		{"by the server of two", `"turnId":"u","serverName":"both","_meta":{}`, answer.Declined},
		{"a plugin that is not known", `"turnId":"u","serverName":"codex_apps","_meta":{"plugin_name":"other"}`, answer.Declined},
		{"a plugin and another's id", `"turnId":"u","serverName":"codex_apps","_meta":{"plugin_name":"calendar","app_id":"mail"}`, answer.Declined},
		{"an id that is no text", `"turnId":"u","serverName":"codex_apps","_meta":{"app_id":7}`, answer.Declined},
		{"two ids", `"turnId":"u","serverName":"codex_apps","_meta":{"app_id":"cal","appId":"mail"}`, answer.Declined},
		{"the id in another server's question", `"turnId":"u","serverName":"elsewhere","_meta":{"app_id":"cal"}`, answer.Declined},
		{"not allowed", `"turnId":"u","serverName":"codex_apps","_meta":{"app_id":"tame"}`, answer.Declined},
		{"without a turn", `"turnId":null,"serverName":"codex_apps","_meta":{"app_id":"cal"}`, answer.Declined},
		{"of another turn", `"turnId":"v","serverName":"codex_apps","_meta":{"app_id":"cal"}`, answer.Foreign},
		{"a turn that is no text", `"turnId":7,"serverName":"s"`, answer.Foreign},
		{"a name for display", `"turnId":"u","serverName":"s","_meta":{"codex_approval_kind":"mcp_tool_call","connector_name":"Calendar"}`, answer.Declined},
		{"a tool", `"turnId":"u","serverName":"s","_meta":{"codex_approval_kind":"mcp_tool_call"}`, answer.ToPerson},
		{"a server's own", `"turnId":"u","serverName":"s","_meta":{}`, answer.ToClient},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := answer.RouteElicitation(value(t, []byte("{"+form+","+c.params+"}")), answer.Scope{Turn: "u", Apps: apps}); got != c.want {
				t.Errorf("the route is %d, want %d", got, c.want)
			}
		})
	}
	if got := answer.RouteElicitation(value(t, []byte(`{`+form+`,"turnId":"u","serverName":"codex_apps","_meta":{"app_id":"cal"}}`)), answer.Scope{Apps: apps}); got != answer.Declined {
		t.Errorf("no turn is known to run, and the route is %d", got)
	}
}

// A consent needs a host that has named this app, whatever a server writes.
func TestRouteElicitationConsents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SampledFrom([]string{`"cal"`, `"mail"`, `"tame"`, `"calendar"`, `"u"`, `"v"`, `"codex_apps"`, `"cal-mcp"`, `"x"`, `"connector"`, `7`, `null`})
		text := `{"mode":"form","requestedSchema":{"type":"object","properties":{}},"threadId":"t"`
		for _, key := range []string{"turnId", "serverName"} {
			text += `,"` + key + `":` + word.Draw(t, key)
		}
		text += `,"_meta":{"x":0`
		for _, key := range []string{"app_id", "appId", "source", "connector_id", "plugin_name", "pluginName"} {
			if rapid.Bool().Draw(t, "has "+key) {
				text += `,"` + key + `":` + word.Draw(t, key)
			}
		}
		doc, err := parse(text + "}}")
		if err != nil {
			t.Fatal(err)
		}
		if answer.RouteElicitation(doc, answer.Scope{Turn: "u", Apps: apps}) != answer.ToPlugin {
			return
		}
		meta, server := doc.Get("_meta"), doc.Get("serverName")
		if !doc.Get("turnId").Is("u") || !server.Is("codex_apps") && !server.Is("cal-mcp") || meta.Get("app_id").Is("tame") || meta.Get("appId").Is("tame") {
			t.Fatalf("%s is consented to", text)
		}
		if answer.RouteElicitation(doc, answer.Scope{Turn: "u"}) == answer.ToPlugin {
			t.Fatalf("%s is consented to by nobody", text)
		}
	})
}
