//go:build unix

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/rpc"
)

// scriptedAgent is an agent that the test plays, with the requests that it received. Its turn ends
// by a cancel or by finish.
type scriptedAgent struct {
	mu       sync.Mutex
	requests []request
	finish   func(result any) // ends the running turn
	say      func(chunk, text string)
	prompted chan struct{}
}

// answer answers a request as the agent.
func (a *scriptedAgent) answer(r request, tell func(any)) any {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests = append(a.requests, r)
	switch r.Method {
	case "session/new":
		return map[string]any{"sessionId": "s1"}
	case "session/prompt":
		session := r.Params["sessionId"]
		a.say = func(chunk, text string) {
			tell(map[string]any{"jsonrpc": "2.0", "method": "session/update", "params": map[string]any{
				"sessionId": session, "update": map[string]any{"sessionUpdate": chunk, "content": map[string]any{"type": "text", "text": text}},
			}})
		}
		return delayed(func(reply func(any)) {
			a.finish = reply
			close(a.prompted)
		})
	case "session/cancel":
		if a.finish != nil {
			a.finish(map[string]any{"stopReason": "cancelled"})
		}
	}
	return map[string]any{}
}

// got returns the requests of a method.
func (a *scriptedAgent) got(method string) []request {
	a.mu.Lock()
	defer a.mu.Unlock()
	return withMethod(a.requests, method)
}

// withAgent starts a conversation whose agent of this name the test plays. With broken, the agent
// prints that text and exits.
func withAgent(t *testing.T, name, acp, broken string) (*assembled, *scriptedAgent) {
	t.Helper()
	a := &scriptedAgent{prompted: make(chan struct{})}
	serveExtraCodex(t, a.answer)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "agent")
	script := fmt.Sprintf("#!/bin/sh\n%s='%s' exec '%s'\n", bridgetest.EnvSocket, extraCodexSocket, self)
	if broken != "" {
		script = fmt.Sprintf("#!/bin/sh\necho '%s' >&2\nexit 4\n", broken)
	}
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	w := newAssembled(t, fmt.Sprintf("[acp]\n%s\n[acp.agents.%q]\ncommand = [%q]\n", acp, name, program), func(request) (any, string) { return map[string]any{}, "" })
	w.initialize(nil)
	return w, a
}

type acpSettings struct {
	Enabled       *bool
	DefaultAgent  string
	AllowedAgents []string
}

// lines returns the section [acp].
func (s *acpSettings) lines() string {
	if s == nil {
		return "enabled = true"
	}
	lines := []string{fmt.Sprintf("enabled = %v", s.Enabled == nil || *s.Enabled)}
	if s.DefaultAgent != "" {
		lines = append(lines, fmt.Sprintf("default_agent = %q", s.DefaultAgent))
	}
	if s.AllowedAgents != nil {
		var all []string
		for _, id := range s.AllowedAgents {
			all = append(all, fmt.Sprintf("%q", id))
		}
		lines = append(lines, "allowed = ["+strings.Join(all, ", ")+"]")
	}
	return strings.Join(lines, "\n")
}

type spawnResult struct {
	Status, ChildSessionKey, RunID, Mode, StreamLogPath, Note, Error string
}

type spawnCase struct {
	Name  string
	Input struct {
		Params             map[string]any
		Ctx                struct{ AgentSessionKey, AgentChannel, AgentTo string }
		Cfg                struct{ Acp *acpSettings }
		RequesterSandboxed bool
		Tb                 *struct{ Enabled bool }
		Caps               *struct{ AdapterAvailable bool }
		BindError          string
		InitError          string
		AgentError         string
	}
	Result spawnResult
	Steps  []struct {
		Step, Mode, SpawnedBy, Message string
		Label, Cwd, ResumeSessionID    *string
	}
}

// hosts reports whether the case is about the channel of a chat, which belongs to the editor; see
// DEVIATIONS.md.
func (c spawnCase) hosts() bool {
	in := c.Input
	return in.Params["thread"] == true && in.Cfg.Acp != nil && in.Params["mode"] == nil &&
		(in.Ctx.AgentChannel == "" || in.Ctx.AgentTo == "" || in.Tb != nil && !in.Tb.Enabled || in.Caps != nil && !in.Caps.AdapterAvailable)
}

// spawn sends bridge/acp/spawn.
func (w *assembled) spawn(params map[string]any) (r spawnResult) {
	w.t.Helper()
	if err := json.Unmarshal(w.must("bridge/acp/spawn", params).Raw(), &r); err != nil {
		w.t.Fatal(err)
	}
	return r
}

func TestSpawnVectors(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	type policy struct {
		Config  struct{ Acp *acpSettings }
		Enabled bool
	}
	type allowed struct {
		AllowedAgents []string
		AgentID       string
		Allowed       bool
	}
	eachCase(t, "acp_spawn.json", "policy", func(t *testing.T, c policy) {
		w, _ := withAgent(t, "codex", c.Config.Acp.lines(), "")
		if got := w.spawn(map[string]any{"task": "x", "agentId": "codex"}); (got.Status == "accepted") != c.Enabled || !c.Enabled && got.Status != "forbidden" {
			t.Errorf("%+v", got)
		}
		w.cancelAll()
	})
	eachCase(t, "acp_spawn.json", "allowedAgents", func(t *testing.T, c allowed) {
		section := (&acpSettings{AllowedAgents: c.AllowedAgents}).lines()
		if _, err := loadText(t, "[acp]\n"+section+"\n"); err != nil {
			if c.Allowed {
				t.Error(err)
			}
			return // this word is not an agent
		}
		w, _ := withAgent(t, config.AgentID(c.AgentID), section, "")
		if got := w.spawn(map[string]any{"task": "x", "agentId": c.AgentID}); (got.Status == "accepted") != c.Allowed || !c.Allowed && got.Status != "forbidden" {
			t.Errorf("%+v", got)
		}
		w.cancelAll()
	})
	eachCase(t, "acp_spawn.json", "cases", func(t *testing.T, c spawnCase) { c.play(t) },
		leftOut[spawnCase]{"acp_spawn.json | bindError, agentError", func(c spawnCase) bool { return c.Input.BindError+c.Input.AgentError != "" }},
		leftOut[spawnCase]{"acp_spawn.json | `thread` without a channel, a target, thread bindings or an adapter", spawnCase.hosts})
}

// agent returns the id of the agent that the case starts.
func (c spawnCase) agent() string {
	name, _ := c.Input.Params["agentId"].(string)
	if s := c.Input.Cfg.Acp; name == "" && s != nil {
		name = s.DefaultAgent
	}
	return cmp.Or(config.AgentID(name), "codex")
}

// childAgent is a child in bridge/acp/list.
type childAgent struct {
	ChildSessionKey, AgentID, Label, Mode, Cwd, SpawnedBy string
}

func (w *assembled) children() []childAgent {
	w.t.Helper()
	var list struct{ Children []childAgent }
	if err := json.Unmarshal(w.must("bridge/acp/list", map[string]any{}).Raw(), &list); err != nil {
		w.t.Fatal(err)
	}
	return list.Children
}

// cancelAll ends all children.
func (w *assembled) cancelAll() {
	for _, c := range w.children() {
		w.must("bridge/acp/cancel", map[string]any{"childSessionKey": c.ChildSessionKey, "close": true})
	}
}

func (c spawnCase) play(t *testing.T) {
	in, agent := c.Input, c.agent()
	params := map[string]any{}
	if s := in.Cfg.Acp; s != nil && len(s.AllowedAgents) > 0 && !slices.Contains(s.AllowedAgents, s.DefaultAgent) { // no configuration is like this
		params["agentId"], s.DefaultAgent = s.DefaultAgent, ""
	}
	w, a := withAgent(t, agent, in.Cfg.Acp.lines(), in.InitError)
	for name, v := range in.Params {
		params[name] = v
	}
	folder := t.TempDir()
	if params["cwd"] != nil {
		params["cwd"] = folder // it must exist
	}
	if in.Ctx.AgentSessionKey != "" {
		params["sessionKey"] = in.Ctx.AgentSessionKey
	}
	if in.RequesterSandboxed {
		params["threadId"] = "unknown" // the bridge assumes that an unknown thread has a sandbox
	}
	id := w.send("bridge/acp/spawn", params)
	var bound map[string]any
	var reply struct{ Result spawnResult }
	binds := false
	for _, s := range c.Steps {
		binds = binds || s.Step == "bind"
	}
	for reply.Result.Status == "" || binds && bound == nil {
		m := w.next()
		if m.Get("method").Is("bridge/acp/update") && m.Get("params").Get("kind").Is("bound") {
			if err := json.Unmarshal(m.Get("params").Raw(), &bound); err != nil {
				t.Fatal(err)
			}
		}
		if m.Get("id").Is(id) {
			if err := json.Unmarshal(m.Raw(), &reply); err != nil || reply.Result.Status == "" {
				t.Fatalf("%s, %v", m.Raw(), err)
			}
		}
	}
	got, want := reply.Result, c.Result
	if got.Status != want.Status || got.Mode != want.Mode || (got.StreamLogPath != "") != (want.StreamLogPath != "") || (got.Note != "") != (want.Note != "") ||
		(got.RunID != "") != (want.RunID != "") || (got.Error != "") != (want.Error != "") {
		t.Errorf("%+v, want %+v", got, want)
	}
	if !strings.HasPrefix(want.Error, "<") && !likeText("<text>"+want.Error, "").MatchString(" "+got.Error) {
		t.Errorf("the error is %q, want %q", got.Error, want.Error)
	}
	children := w.children()
	if want.Status != "accepted" {
		if len(children) > 0 || got.ChildSessionKey != "" {
			t.Errorf("a child is left: %+v, %+v", got, children)
		}
		if len(c.Steps) == 0 && len(a.got("session/new")) > 0 {
			t.Error("the bridge started the agent")
		}
		return
	}
	if uuid, ok := strings.CutPrefix(got.ChildSessionKey, strings.TrimSuffix(want.ChildSessionKey, "<uuid>")); !ok || len(uuid) != 36 {
		t.Errorf("the child is %q", got.ChildSessionKey)
	}
	defer w.cancelAll()
	c.followed(t, a, children, bound, folder)
}

// followed checks that the program took the steps of the case, and no others.
func (c spawnCase) followed(t *testing.T, a *scriptedAgent, children []childAgent, bound map[string]any, folder string) {
	t.Helper()
	word := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	select {
	case <-a.prompted:
	case <-time.After(waitTime()):
		t.Fatal("the agent got no task")
	}
	if len(children) != 1 {
		t.Fatalf("the children are %+v", children)
	}
	one, isBound := children[0], false
	for _, s := range c.Steps {
		switch s.Step {
		case "gateway:sessions.patch":
			if one.SpawnedBy != s.SpawnedBy || one.Label != word(s.Label) {
				t.Errorf("the child is %+v, want it by %s with the label %q", one, s.SpawnedBy, word(s.Label))
			}
		case "initializeSession":
			if mode := map[string]string{"oneshot": "run", "persistent": "session"}[s.Mode]; one.Mode != mode {
				t.Errorf("the mode is %s, want %s", one.Mode, mode)
			}
			opened := a.got("session/new")
			if resume := word(s.ResumeSessionID); resume != "" {
				if opened = a.got("session/load"); len(opened) == 1 && opened[0].Params["sessionId"] != resume {
					t.Errorf("the agent got %v", opened[0])
				}
			}
			if len(opened) != 1 || s.Cwd != nil && opened[0].Params["cwd"] != folder {
				t.Errorf("the agent got %v", opened)
			}
		case "bind":
			isBound = true
		case "gateway:agent":
			if prompts := a.got("session/prompt"); len(prompts) != 1 || !strings.Contains(text(t, prompts[0].Params["prompt"]), text(t, s.Message)) {
				t.Errorf("the agent's tasks are %v", prompts)
			}
		}
	}
	if (bound != nil) != isBound || isBound && (bound["parentSessionKey"] != one.SpawnedBy || bound["sessionId"] == "") {
		t.Errorf("the client got the binding: %v", bound)
	}
}

type streamCase struct {
	Name    string
	Options struct {
		SurfaceUpdates                                       *bool
		NoOutputNoticeMs, NoOutputPollMs, MaxRelayLifetimeMs float64
	}
	Script []struct {
		Ev *struct {
			Stream string
			Data   struct{ Delta, Phase, Error string }
		}
		Wait, Dispose float64
	}
	Events []streamEvent
}

// isUsual reports whether the case has the times and switches of the program; see DEVIATIONS.md.
func (c streamCase) isUsual() bool {
	o := c.Options
	return o.SurfaceUpdates == nil && o.NoOutputNoticeMs == 0 && o.NoOutputPollMs == 0 && o.MaxRelayLifetimeMs == 0
}

// The conversation that started an agent gets notices about the agent's turn. The first says that
// it started.
func TestParentStreamVectors(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	eachCase(t, "acp_parent_stream.json", "cases", func(t *testing.T, c streamCase) { c.play(t) },
		leftOut[streamCase]{"acp_parent_stream.json | surfaceUpdates, noOutputNoticeMs, noOutputPollMs, maxRelayLifetimeMs", func(c streamCase) bool { return !c.isUsual() }})
}

// agent returns the agent that the notices of the case name.
func (c streamCase) agent() string {
	for _, e := range c.Events {
		separator := map[string]string{"progress": ": ", "done": " run completed", "error": " run failed", "resumed": " resumed"}[e.about()]
		if name, _, ok := strings.Cut(e.Text, separator); ok && separator != "" {
			return name
		}
	}
	return "codex"
}

type streamEvent struct{ Text, ContextKey string }

// about returns what the notice is about: the last part of its context.
func (e streamEvent) about() string { return e.ContextKey[strings.LastIndexByte(e.ContextKey, ':')+1:] }

func (c streamCase) play(t *testing.T) {
	agent := c.agent()
	w, a := withAgent(t, agent, "enabled = true", "")
	var got []streamEvent
	take := func(m rpc.Value) {
		if p := m.Get("params"); m.Get("method").Is("bridge/acp/update") && p.Get("kind").Is("notice") {
			var n streamEvent
			if err := json.Unmarshal(p.Raw(), &n); err != nil {
				t.Fatal(err)
			}
			got = append(got, n)
		}
	}
	var spawned spawnResult
	for id := w.send("bridge/acp/spawn", map[string]any{"task": "x", "agentId": agent, "sessionKey": "chat", "streamTo": "parent"}); spawned.Status == ""; {
		m := w.next()
		take(m)
		if m.Get("id").Is(id) {
			if err := json.Unmarshal(m.Get("result").Raw(), &spawned); err != nil || spawned.Status != "accepted" {
				t.Fatalf("%s, %v", m.Raw(), err)
			}
		}
	}
	select {
	case <-a.prompted:
	case <-time.After(waitTime()):
		t.Fatalf("the agent has no task: %+v", spawned)
	}
	context := func(about string) string { return "acp-spawn:" + spawned.RunID + ":" + about }
	var want []streamEvent
	for _, e := range c.Events {
		want = append(want, streamEvent{e.Text, context(e.about())})
	}
	if len(want) == 0 || want[0].ContextKey != context("start") {
		want = append([]streamEvent{{"<text>", context("start")}}, want...)
	}
	ended := false
	for _, s := range c.Script {
		if s.Ev == nil {
			continue
		}
		a.mu.Lock()
		switch d := s.Ev.Data; {
		case s.Ev.Stream == "assistant" && d.Phase == "commentary":
			a.say("agent_thought_chunk", d.Delta)
		case s.Ev.Stream == "assistant":
			a.say("agent_message_chunk", d.Delta)
		case d.Phase == "error":
			ended = true
			a.finish(failure{d.Error})
		default:
			ended = true
			a.finish(map[string]any{"stopReason": "end_turn"})
		}
		a.mu.Unlock()
	}
	isLast := func(e streamEvent) bool { return e.about() == "done" || e.about() == "error" }
	for len(got) < len(want) && !slices.ContainsFunc(got, isLast) {
		take(w.next())
	}
	if !ended { // no more notices, except at the end of the turn
		w.must("bridge/acp/cancel", map[string]any{"childSessionKey": spawned.ChildSessionKey})
	}
	for i := range got {
		if i >= len(want) {
			break
		}
		switch w := want[i].Text; {
		case w == "<text>" && got[i].Text != "":
			got[i].Text = w
		case strings.HasSuffix(want[i].ContextKey, ":done"): // the duration is not scripted
			head, _, _ := strings.Cut(w, " in ")
			if strings.HasPrefix(got[i].Text, head) {
				got[i].Text = w
			}
		case strings.HasSuffix(want[i].ContextKey, ":error") && w == agent+" run failed.": // see DEVIATIONS.md: an error of ACP has a text
			if strings.HasPrefix(got[i].Text, agent+" run failed") {
				got[i].Text = w
			}
		case strings.HasSuffix(want[i].ContextKey, ":error"):
			if strings.HasPrefix(got[i].Text, agent+" run failed: ") && strings.HasSuffix(got[i].Text, strings.TrimPrefix(w, agent+" run failed: ")) {
				got[i].Text = w
			}
		}
	}
	if diff := gocmp.Diff(want, got, masked); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	log, err := os.ReadFile(spawned.StreamLogPath)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(log)) {
		var l struct{ Ts, Kind, RunID, ParentSessionKey, ChildSessionKey, AgentID string }
		if err := json.Unmarshal([]byte(line), &l); err != nil || l.Ts == "" || l.RunID != spawned.RunID || l.ParentSessionKey != "chat" || l.ChildSessionKey != spawned.ChildSessionKey || l.AgentID != agent {
			t.Errorf("%s: %v", line, err)
		}
	}
}
