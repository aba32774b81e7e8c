package bridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/bridgetest"
)

// optOutFeature requires some notifications.
type optOutFeature struct {
	conn   *bridge.Conn
	needed bool
	heard  []string
}

func (l *optOutFeature) Attach(p *bridge.Conn) { l.conn = p }

func (l *optOutFeature) Routes() []bridge.Route {
	msg := func(_ context.Context, s *bridge.ServerMessage) { l.heard = append(l.heard, s.Method) }
	return []bridge.Route{
		{From: bridge.Codex, Method: "x/policy", HandleServer: msg},
		{From: bridge.Codex, Method: "x/always", HandleServer: msg, Required: func() bool { return true }},
		// Not wanted now, but still withheld from the client.
		{From: bridge.Codex, Method: "x/later", HandleServer: msg, When: func() bool { return false }},
		{From: bridge.Codex, Method: "x/sometimes", HandleServer: msg, Required: func() bool { return l.needed }},
	}
}

func (*optOutFeature) Stage() bridge.Stage { return bridge.BeforeGuard }

// A client can't opt out of a notification that a feature requires, but does not get it.
func TestOptOuts(t *testing.T) {
	const all = `["x/policy","x/a\u006cways","x/later","x/sometimes","x/free",7]`
	for _, c := range []struct {
		name            string
		enforces, needs bool
		left            string
		got             []string // by the client
		silenced        string
	}{
		{"no policy", false, false, `["x/policy","x/later","x/sometimes","x/free",7]`, []string{"x/policy", "x/later", "x/sometimes", "x/free"}, "x/policy"},
		{"no policy, a need", false, true, `["x/policy","x/later","x/free",7]`, []string{"x/policy", "x/later", "x/free"}, "x/policy"},
		{"policy", true, false, `["x/sometimes","x/free",7]`, []string{"x/sometimes", "x/free"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &optOutFeature{needed: c.needs}
			b := bridgetest.StartAs(t, bridge.Options{Features: []bridge.Feature{f}, Enforces: func() bool { return c.enforces }})
			initialize := func(id int, list string) string {
				return fmt.Sprintf(`{"id":%d,"method":"initialize","params":{"capabilities":{"optOutNotificationMethods":%s}}}`, id, list)
			}
			// Codex rejects this initialize, so it has no effect.
			text := "editor> " + initialize(1, `["x/always"]`) + "\ncodex< " + initialize(1, `[]`) + `
codex> {"id":1,"error":{"code":-32600,"message":"no"}}
editor< {"id":1,"error":{"code":-32600,"message":"no"}}
codex> {"method":"x/always"}
editor< {"method":"x/always"}
` + "editor> " + initialize(2, all) + "\ncodex<= " + initialize(2, c.left) + `
codex> {"id":2,"result":{}}
editor< {"id":2,"result":{}}
`
			for _, method := range []string{"x/policy", "x/always", "x/later", "x/sometimes", "x/free"} {
				text += `codex> {"method":"` + method + `"}` + "\n"
			}
			for _, method := range c.got {
				text += `editor< {"method":"` + method + `"}` + "\n"
			}
			text += "codex> {\"method\":\"end\"}\neditor< {\"method\":\"end\"}\n"
			b.Play(c.name, text)
			if got := f.conn.DisabledNotification([]string{"x/other", "x/always", "x/policy"}); got != c.silenced {
				t.Errorf("codex was told to be silent about %q, want %q", got, c.silenced)
			}
			if !f.conn.OptedOut("x/always") || !f.conn.OptedOut("x/free") || f.conn.OptedOut("x/other") {
				t.Error("what the client has opted out of is not known")
			}
		})
	}
}

// An unreadable list may contain any notification.
func TestUnreadableOptOuts(t *testing.T) {
	for _, capabilities := range []string{`[true,false,["x/policy"]]`, `{"optOutNotificationMethods":{"0":"x/policy"}}`} {
		f := &optOutFeature{}
		line := `{"id":1,"method":"initialize","params":{"capabilities":` + capabilities + `}}`
		bridgetest.Start(t, f).Play(capabilities, "editor> "+line+"\ncodex<= "+line+"\ncodex> {\"id\":1,\"result\":{}}\neditor< {\"id\":1,\"result\":{}}\n")
		if f.conn.DisabledNotification([]string{"x/policy"}) == "" {
			t.Errorf("%s: no disabled notification", capabilities)
		}
	}
}

// Each name is compared once: 60,000 names once took two minutes (R8).
func TestManyOptOuts(t *testing.T) {
	names := make([]string, 60_000)
	for i := range names {
		names[i] = fmt.Sprint("x/", i)
	}
	names[1], names[len(names)-1] = "x/always", "x/always"
	list := func(names []string) string {
		raw, err := json.Marshal(names)
		if err != nil {
			t.Fatal(err)
		}
		return `{"id":1,"method":"initialize","params":{"capabilities":{"optOutNotificationMethods":` + string(raw) + `}}}`
	}
	bridgetest.Start(t, &optOutFeature{}).Play("many", "editor> "+list(names)+"\ncodex<= "+list(append(names[:1:1], names[2:len(names)-1]...))+"\n")
}
