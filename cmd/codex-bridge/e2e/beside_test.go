//go:build linux

package e2e_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"codex-bridge/bridge/methods"
	"codex-bridge/cmd/internal/editor"
)

// besideConversation opens what a number of attacks share.
func (w *world) besideConversation(argv ...string) (c *conversation, thread, turn string) {
	w.t.Helper()
	c = w.openAnswering("decline", argv...)
	c.initialize(nil)
	thread = c.thread(map[string]any{"approvalPolicy": "untrusted", "sandbox": "read-only"})
	turn, mark := c.begin(thread, "good day")
	c.end(thread, turn, mark)
	return c, thread, turn
}

// besideGroups are the attacks by the world that they need.
func besideGroups(apart func(attack) bool) map[string][]string {
	all := map[string][]string{}
	for name, a := range besides() {
		group := "together"
		if apart(a) {
			group = name
		}
		all[group] = append(all[group], name)
	}
	for _, names := range all {
		slices.Sort(names)
	}
	return all
}

// besides are the attacks of all tables.
func besides() map[string]attack {
	all := map[string]attack{}
	for kind, table := range map[string]map[string]attack{
		"execute": executeAttacks, "write": writeAttacks, "read": readAttacks, "configuration": configurationAttacks,
		"extension": extensionAttacks, "account": accountAttacks, "context": contextAttacks, "name": nameAttacks,
	} {
		for name, a := range table {
			all[kind+"/"+name] = a
		}
	}
	return all
}

// proxied is the environment of a world from which nothing leaves the machine.
func proxied(l *listener) []string { return []string{"HTTPS_PROXY=http://127.0.0.1:" + l.port} }

// worldOf is where attacks are made.
func worldOf(t *testing.T, a attack, o options) *world {
	t.Helper()
	o.codexConfig, o.plugins = a.codexConfig, true // some attacks are made by plugins
	if o.codexConfig == "" {
		o.codexConfig = besideConfig
	}
	return newWorld(t, o)
}

// With codex alone every attack has its effect: else TestBeside would show
// nothing.
func TestBesideControl(t *testing.T) {
	t.Parallel()
	all := besides()
	for group, names := range besideGroups(func(a attack) bool { return a.own || a.codexConfig != "" }) {
		t.Run(group, func(t *testing.T) {
			t.Parallel()
			wayOut := listen(t)
			w := worldOf(t, all[names[0]], options{env: proxied(wayOut)})
			c, thread, turn := w.besideConversation(codexPath, "app-server")
			for _, name := range names {
				s := c.assault(name, all[name], thread, turn, wayOut)
				if s.effect(s) {
					t.Errorf("%s: there is an effect before the attack", name)
				}
				s.strike(true)
				s.follow(thread)
				if !s.inert {
					s.until("no effect", s.effect)
				} else if s.effect(s) {
					t.Errorf("%s: there is an effect, of codex alone", name)
				}
			}
		})
	}
}

// Under enforce no attack has an effect. Its client is told what, why and what
// to change, and codex hears nothing of it.
func TestBeside(t *testing.T) {
	t.Parallel()
	all := besides()
	for group, names := range besideGroups(func(a attack) bool { return a.codexConfig != "" }) {
		t.Run(group, func(t *testing.T) {
			t.Parallel()
			wayOut := listen(t)
			o, dir := withTee(t, options{config: policyConfig, env: proxied(wayOut)})
			w := worldOf(t, all[names[0]], o)
			c, thread, turn := w.besideConversation(proxyArgv...)
			var made []*assault
			for _, name := range names {
				s := c.assault(name, all[name], thread, turn, wayOut)
				made = append(made, s)
				if !all[name].own && s.effect(s) {
					t.Errorf("%s: there is an effect before the attack", name)
				}
				answers := s.strike(false)
				s.judge(answers)
				// Nobody answers a notification, and nobody heeds it.
				if err := s.Send([]byte("{" + s.members(said{s.method, s.params}) + "}")); err != nil {
					t.Fatal(err)
				}
				s.follow(thread)
			}
			c.quit()
			heard := recordedLines(t, dir, "in")
			for _, s := range made {
				if s.effect(s) != s.open {
					t.Errorf("%s has had its effect: %t", s.name, !s.open)
				}
				s.unheard(heard)
			}
		})
	}
}

// judge looks at what a client is told of a refusal.
func (s *assault) judge(answers []exchange) {
	s.t.Helper()
	for i, x := range answers {
		if i == len(answers)-1 && (s.passes || s.open || s.rewritten && (x.Error == nil || x.Error.Code != -32010)) {
			continue
		}
		if s.offForm && x.Error != nil && slices.Contains([]int{-32700, -32600, -32602, -32010}, x.Error.Code) {
			continue
		}
		s.refusal(x.method, x.Message)
	}
}

// refusal looks at one refusal: it says which rule, why, and what to change.
func (s *assault) refusal(method string, m editor.Message) {
	s.t.Helper()
	var data struct{ Method, Rule, Reason, Origin, Hint string }
	if m.Error == nil {
		s.t.Errorf("%s: %s is answered with %.300s", s.name, method, m.Raw)
		return
	}
	var name string
	if err := json.Unmarshal([]byte(`"`+method+`"`), &name); err != nil {
		s.t.Fatal(err)
	}
	if err := json.Unmarshal(m.Error.Data, &data); err != nil || m.Error.Code != -32010 ||
		data.Method != name || data.Rule == "" || data.Reason == "" || data.Origin == "" || data.Hint == "" {
		s.t.Errorf("%s: the client is told %s", s.name, m.Raw)
		return
	}
	for _, part := range []string{data.Rule, data.Reason, data.Origin, data.Hint} {
		if !strings.Contains(m.Error.Message, part) {
			s.t.Errorf("%s: the message %q does not say %q", s.name, m.Error.Message, part)
		}
	}
}

// unheard looks for the attack in what codex was told: for its word, or its method
// where it has none.
func (s *assault) unheard(lines []json.RawMessage) {
	s.t.Helper()
	if s.passes || s.rewritten || s.open {
		return
	}
	var name string
	if err := json.Unmarshal([]byte(`"`+s.method+`"`), &name); err != nil {
		s.t.Fatal(err)
	}
	params := s.fill.Replace(s.params)
	for _, line := range lines {
		if editor.Member(line, "method") == name && (!strings.Contains(params, s.word) || strings.Contains(string(line), s.word)) {
			s.t.Errorf("%s: codex was told %s", s.name, line)
		}
	}
}

// Every method that a policy refuses, or lets through on verified threads only, is
// tried here.
func TestBesideCovers(t *testing.T) {
	tried := map[string]bool{}
	for _, a := range besides() {
		tried[a.method] = true
	}
	for _, g := range gatedAttacks {
		tried[g.method] = true
	}
	for _, row := range methods.Rows() {
		if row.Side == methods.ClientRequest && (row.Verdict == methods.Deny || row.Verdict == methods.Gate) && !tried[row.Method] {
			t.Errorf("%s is not tried", row.Method)
		}
	}
}
