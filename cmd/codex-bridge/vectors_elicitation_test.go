//go:build unix

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/decision"
)

const elicitationQuestion = "mcpServer/elicitation/request"

type elicitationCase struct {
	Name    string
	Request struct {
		ServerName string
		Meta       struct {
			Kind   string          `json:"codex_approval_kind"`
			AppID  json.RawMessage `json:"app_id"`
			AppID2 json.RawMessage `json:"appId"`
			Source string
		} `json:"_meta"`
		ThreadID, TurnID, Mode string
		RequestedSchema        struct{ Type string }
		raw                    json.RawMessage
	}
	ComputerUseMcpServerName string
	PluginAppPolicyContext   *struct{ Apps map[string]vectorApp }
	ApprovalDecision         string
	Response                 json.RawMessage
	Asked                    []struct{ Title, Description string }
}

type vectorApp struct {
	ConfigKey, MarketplaceName, PluginName string
	AllowDestructiveActions                bool
	McpServerNames                         []string
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *elicitationCase) UnmarshalJSON(text []byte) error {
	type plain elicitationCase
	var request struct{ Request json.RawMessage }
	if err := errors.Join(json.Unmarshal(text, (*plain)(c)), json.Unmarshal(text, &request)); err != nil {
		return err
	}
	c.Request.raw = request.Request
	return nil
}

// isUnhandled reports whether the other implementation gives no answer.
func (c elicitationCase) isUnhandled() bool {
	return masks(c.Response, "undefined")
}

// running returns the thread and the turn that run: those of the question, unless the question gets
// no answer because it has others.
func (c elicitationCase) running() (thread, turn string) {
	r := c.Request
	thread, turn = cmp.Or(r.ThreadID, vectorThread), cmp.Or(r.TurnID, vectorTurn)
	if c.isUnhandled() && r.Meta.Kind == "mcp_tool_call" && r.Mode == "form" && r.RequestedSchema.Type == "object" {
		turn = "not " + turn
	}
	return thread, turn
}

// Each case is a question to the thread of a session. If the case has apps, the host of the session
// named them, and the bridge read their list from Codex.
func TestElicitationVectors(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	eachCase(t, "elicitation.json", "cases", func(t *testing.T, c elicitationCase) {
		w := atTerminal(t, "")
		thread, turn := c.running()
		if c.PluginAppPolicyContext != nil {
			w.startSession(thread, c.PluginAppPolicyContext.Apps)
		}
		w.turn(thread, turn)
		got, shown := w.ask(elicitationQuestion, c.Request.raw, does(c.ApprovalDecision))
		switch {
		case c.unknownApp(): // see DEVIATIONS.md: the bridge asks the user
			if shown == "" {
				t.Error("the bridge did not ask the user")
			}
			return
		case c.computerUse(): // see DEVIATIONS.md: the bridge declines a question of the server itself
			c.Asked, c.Response = nil, json.RawMessage(`{"action":"decline","content":null,"_meta":null}`)
		case c.isUnhandled(): // declined by another handler
			c.Response = json.RawMessage(`{"action":"decline","content":null,"_meta":null}`)
		}
		sameJSON(t, c.Response, got.Get("result").Raw())
		if len(c.Asked) == 0 {
			if shown != "" {
				t.Errorf("the bridge asked the user %q", shown)
			}
			return
		}
		want := c.Asked[0].Description + "\n"
		if !strings.HasPrefix(want, c.Asked[0].Title+"\n") { // a terminal shows it once
			want = c.Asked[0].Title + "\n" + want
		}
		if !startsLike(want, shown) {
			t.Errorf("the bridge showed\n%s\nwant\n%s", shown, want)
		}
	})
}

// unknownApp reports whether the question is about a tool of an app, in a session whose host named
// no apps.
func (c elicitationCase) unknownApp() bool {
	m := c.Request.Meta
	names := m.AppID != nil || m.AppID2 != nil || c.Request.ServerName == "codex_apps" && m.Source == "connector"
	return c.PluginAppPolicyContext == nil && names && m.Kind == "mcp_tool_call"
}

// computerUse reports whether the name alone marks the server as one that controls a computer.
func (c elicitationCase) computerUse() bool {
	return c.ComputerUseMcpServerName != "" && c.Request.ServerName == c.ComputerUseMcpServerName && c.Request.Meta.Kind == ""
}

// startSession starts a session with this thread and these apps. Its host names the plugins, and Codex lists their apps.
func (c *terminal) startSession(thread string, apps map[string]vectorApp) {
	c.t.Helper()
	type named = map[string]any
	byPlugin := make(map[string][]string)
	var plugins, installed, data []named
	for _, id := range slices.Sorted(maps.Keys(apps)) {
		a := apps[id]
		if byPlugin[a.ConfigKey] = append(byPlugin[a.ConfigKey], id); len(byPlugin[a.ConfigKey]) > 1 {
			continue
		}
		plugins = append(plugins, named{
			"configKey": a.ConfigKey, "marketplaceName": a.MarketplaceName, "pluginName": a.PluginName, "enabled": true,
			"allowDestructiveActions": a.AllowDestructiveActions,
		})
		installed = append(installed, named{"name": a.MarketplaceName, "plugins": []named{{"name": a.PluginName, "installed": true, "enabled": true}}})
	}
	start, err := json.Marshal(named{"id": "start", "method": "thread/start", "params": named{
		"bridge": named{"sessionKey": "chat", "plugins": named{"enabled": true, "plugins": plugins}},
	}})
	if err != nil {
		c.t.Fatal(err)
	}
	c.codex.EditorSends(string(start))
	c.reply(text(c.t, named{"marketplaces": installed}))
	slices.SortFunc(plugins, func(a, b named) int { return strings.Compare(a["configKey"].(string), b["configKey"].(string)) })
	for _, p := range plugins { // the bridge asks Codex in the order of the keys
		var of []named
		var servers []string
		for _, id := range byPlugin[p["configKey"].(string)] {
			of, servers = append(of, named{"id": id}), apps[id].McpServerNames
			data = append(data, named{"id": id, "isAccessible": true})
		}
		c.reply(text(c.t, named{"plugin": named{"apps": of, "mcpServers": servers}}))
	}
	if len(data) > 0 {
		c.reply(text(c.t, named{"data": data}))
	}
	for started := false; !started; { // a policy sends more requests first
		started = c.reply(fmt.Sprintf(`{"thread":{"id":%q},"model":"m","config":{}}`, thread)).Method == "thread/start"
	}
	if answer := c.next(c.codex.EditorReceives()); !answer.Root().Get("result").Get("bridge").Exists() {
		c.t.Fatalf("the session did not start: %s", answer.Root().Raw())
	}
}

func text(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// The bridge records a consent of the host. A policy that demands a question to the user overrides
// it.
func TestPluginConsent(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	apps := map[string]vectorApp{"cal": {ConfigKey: "cal", MarketplaceName: "openai-curated", PluginName: "calendar", AllowDestructiveActions: true}}
	question := json.RawMessage(`{"threadId":"` + vectorThread + `","turnId":"` + vectorTurn + `","serverName":"codex_apps","mode":"form","message":"Allow?",` +
		`"_meta":{"codex_approval_kind":"mcp_tool_call","plugin_name":"calendar"},"requestedSchema":{"type":"object","properties":{}}}`)
	for name, c := range map[string]struct {
		configuration string
		asked         bool
	}{
		"without a policy": {"", false},
		"a policy asks":    {"[policy]\nmode = \"audit\"\n[policy.methods]\n\"mcpServer/elicitation/request\" = \"ask\"\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			w := atTerminal(t, c.configuration)
			w.startSession(vectorThread, apps)
			w.turn(vectorThread, vectorTurn)
			got, shown := w.ask(elicitationQuestion, question, reaction{line: "n"})
			if asked := shown != ""; asked != c.asked || got.Get("result").Get("action").Is("accept") == c.asked {
				t.Errorf("question %q, answer %s", shown, got.Raw())
			}
			recorded := slices.ContainsFunc(w.log(), func(e decision.Entry) bool { return e.Rule == "bridge.plugins" && e.Verdict == "accept" })
			if recorded == c.asked {
				t.Errorf("log: %+v", w.log())
			}
		})
	}
}
