//go:build linux

package e2e_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/cmd/internal/editor"
)

// openAttackThread opens the thread that a number of attacks share.
func (w *world) openAttackThread(argv ...string) (c *conversation, thread, turn string) {
	w.t.Helper()
	c = w.openAnswering("decline", argv...)
	c.initialize(nil)
	thread = c.thread(map[string]any{"approvalPolicy": "untrusted", "sandbox": "read-only"})
	turn, mark := c.startTurn(thread, "good day")
	c.waitTurn(thread, turn, mark)
	return c, thread, turn
}

// attacksByWorld groups the attacks by the world that they need.
func attacksByWorld(apart func(attack) bool) map[string][]string {
	all := map[string][]string{}
	for name, a := range allAttacks() {
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

// allAttacks returns the attacks of all tables.
func allAttacks() map[string]attack {
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

// proxyEnv is the environment of a world that can't reach other machines.
func proxyEnv(l *listener) []string { return []string{"HTTPS_PROXY=http://127.0.0.1:" + l.port} }

// newAttackWorld creates the world of an attack.
func newAttackWorld(t *testing.T, a attack, o options) *world {
	t.Helper()
	o.codexConfig, o.plugins = a.codexConfig, true // some attacks use plugins
	if o.codexConfig == "" {
		o.codexConfig = besideConfig
	}
	return newWorld(t, o)
}

// With Codex alone every attack has its effect: otherwise TestAttacksHaveNoEffect would show
// nothing.
func TestAttacksWorkWithoutBridge(t *testing.T) {
	t.Parallel()
	all := allAttacks()
	for group, names := range attacksByWorld(func(a attack) bool { return a.own || a.codexConfig != "" }) {
		t.Run(group, func(t *testing.T) {
			t.Parallel()
			wayOut := listen(t)
			w := newAttackWorld(t, all[names[0]], options{env: proxyEnv(wayOut)})
			c, thread, turn := w.openAttackThread(codexPath, "app-server")
			for _, name := range names {
				s := c.newAttackRun(name, all[name], thread, turn, wayOut)
				if s.effect(s) {
					t.Errorf("%s: the effect exists before the attack", name)
				}
				s.runAttack(true)
				s.runFollowUps(thread)
				if !s.inert {
					s.waitEffect("no effect", s.effect)
				} else if s.effect(s) {
					t.Errorf("%s: Codex alone has the effect", name)
				}
			}
		})
	}
}

// With enforce no attack has an effect. The client gets the rule, the reason and a fix; Codex gets
// nothing.
func TestAttacksHaveNoEffect(t *testing.T) {
	t.Parallel()
	all := allAttacks()
	for group, names := range attacksByWorld(func(a attack) bool { return a.codexConfig != "" }) {
		t.Run(group, func(t *testing.T) {
			t.Parallel()
			wayOut := listen(t)
			o, dir := withTee(t, options{config: policyConfig, env: proxyEnv(wayOut)})
			made := newAttackWorld(t, all[names[0]], o).attackInVain(names, wayOut, proxyArgv...)
			heard := recordedLines(t, dir, "in")
			for _, s := range made {
				s.checkNotForwarded(heard)
			}
		})
	}
}

// attackInVain runs attacks through a bridge, and checks that they are refused and have no effect.
func (w *world) attackInVain(names []string, wayOut *listener, argv ...string) (made []*attackRun) {
	w.t.Helper()
	all := allAttacks()
	c, thread, turn := w.openAttackThread(argv...)
	for _, name := range names {
		s := c.newAttackRun(name, all[name], thread, turn, wayOut)
		made = append(made, s)
		if !all[name].own && s.effect(s) {
			w.t.Errorf("%s: the effect exists before the attack", name)
		}
		answers := s.runAttack(false)
		s.checkRefusals(answers)
		// A notification has no response and no effect.
		if err := s.Send([]byte("{" + s.members(request{s.method, s.params}) + "}")); err != nil {
			w.t.Fatal(err)
		}
		s.runFollowUps(thread)
	}
	c.closeAndWait()
	for _, s := range made {
		if s.effect(s) != s.open {
			w.t.Errorf("%s had its effect: %t", s.name, !s.open)
		}
	}
	return made
}

// checkRefusals checks the responses of refused requests.
func (s *attackRun) checkRefusals(answers []exchange) {
	s.t.Helper()
	for i, x := range answers {
		if i == len(answers)-1 && (s.passes || s.open || s.rewritten && (x.Error == nil || x.Error.Code != -32010)) {
			continue
		}
		if s.offForm && x.Error != nil && slices.Contains([]int{-32700, -32600, -32602, -32010}, x.Error.Code) {
			continue
		}
		s.checkRefusal(x.method, x.Message)
	}
}

// checkRefusal checks one refusal: it has the rule, the reason and a fix.
func (s *attackRun) checkRefusal(method string, m editor.Message) {
	s.t.Helper()
	var data struct{ Method, Rule, Reason, Origin, Hint string }
	if m.Error == nil {
		s.t.Errorf("%s: %s got %.300s", s.name, method, m.Raw)
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
			s.t.Errorf("%s: the message %q lacks %q", s.name, m.Error.Message, part)
		}
	}
}

// checkNotForwarded checks that Codex did not get the attack's word, or its method if it has no
// word.
func (s *attackRun) checkNotForwarded(lines []json.RawMessage) {
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
			s.t.Errorf("%s: Codex got %s", s.name, line)
		}
	}
}

// The attacks cover every method that a policy refuses or allows only on verified threads.
func TestAttacksCoverMethods(t *testing.T) {
	tried := map[string]bool{}
	for _, a := range allAttacks() {
		tried[a.method] = true
	}
	for _, g := range gatedAttacks {
		tried[g.method] = true
	}
	for row := range methods.Rows() {
		if strings.HasPrefix(row.Why, "TODO") { // a person has not judged it; a test of package methods refuses it
			continue
		}
		if row.Side == methods.ClientRequest && (row.Verdict == methods.Deny || row.Verdict == methods.Gate) && !tried[row.Method] {
			t.Errorf("no attack uses %s", row.Method)
		}
	}
}
