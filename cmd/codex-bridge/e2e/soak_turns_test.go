//go:build linux

package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"

	"codex-bridge.example/cmd/internal/editor"
)

// soaker is one conversation of the soak with its talkers.
type soaker struct {
	*conversation
	asked atomic.Int64 // questions to the user
}

// talker has one session and runs its turns one after the other.
type talker struct {
	*soaker
	key    string
	turns  int
	engine string // the engine of the session; another engine gets a new thread
}

// soak opens the conversation.
func (w *world) soak() *soaker {
	s := &soaker{}
	s.conversation = &conversation{world: w, ctx: w.t.Context(), Editor: w.start(proxyArgv, editor.Options{Answer: s.answer, MaxKept: 20_000})}
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	if _, err := s.Initialize(ctx, map[string]any{
		"experimentalApi": true, "bridge": map[string]any{"version": 1, "tools": true, "hooks": []string{"stop"}},
	}); err != nil {
		w.t.Fatalf("initialize: %v", err)
	}
	if _, err := s.Call(ctx, "bridge/tool/register", map[string]any{"tools": []any{tool("brought", "Brought by the client.", map[string]any{})}}); err != nil {
		w.t.Fatalf("bridge/tool/register: %v", err)
	}
	return s
}

// answer accepts every request for as long as possible.
func (s *soaker) answer(_ context.Context, m editor.Message) (any, *editor.Error) {
	switch m.Method {
	case "bridge/hook":
		return map[string]any{}, nil // no decision
	case toolCall:
		return textResult("spoken by the client"), nil
	}
	s.asked.Add(1)
	switch m.Method {
	case "item/tool/requestUserInput":
		return map[string]any{"answers": map[string]any{"choice": map[string]any{"answers": []string{"No"}}}}, nil
	case "mcpServer/elicitation/request":
		return map[string]any{"action": "accept", "content": map[string]any{}, "_meta": map[string]any{"persist": "always"}}, nil
	}
	return longestYes(m), nil
}

// talk returns the talkers of the conversation, each with its own session.
func (s *soaker) talk() []*talker {
	var all []*talker
	for i := range talkers {
		all = append(all, &talker{soaker: s, key: fmt.Sprintf("soak/%d", i), engine: strconv.Itoa(s.Process.Pid)})
	}
	return all
}

// kinds are the turns of a round; every talker runs each once.
var kinds = []struct {
	name string
	take func(k *talker) error
}{
	{"a word", (*talker).shortTurn},
	{"a command", func(k *talker) error { return k.expectReply("RUN: true", "ended with 0") }},
	{"a rule denies", func(k *talker) error { return k.expectReply("RUN: touch denied", "Nothing is touched here") }},
	{"a person is asked", func(k *talker) error { return k.expectReply("RUN: mkdir -p asked", "ended with 0") }},
	{"a tool that is a command", func(k *talker) error { return k.expectReply(`CALL: greet {"name":"you"}`, "good day") }},
	{"a tool of a server", func(k *talker) error {
		return k.expectReply(fmt.Sprintf(`CALL: served/touch {"path":%q}`, filepath.Join(k.root, "served")), "touched")
	}},
	{"a tool of the client", func(k *talker) error { return k.expectReply("CALL: brought {}", "spoken by the client") }},
	{"a consent that is remembered", func(k *talker) error {
		path := filepath.Join(k.root, "consented-"+strconv.Itoa(k.turns%200))
		return k.expectReply(fmt.Sprintf(`CALL: mcp__probe/touch {"path":%q}`, path), "touched")
	}},
	{"a question", func(k *talker) error { return k.expectReply("ASK: Shall I?", "No") }},
	{"several calls at once", func(k *talker) error {
		return k.expectReply("RUN: true\nRUN: touch denied\nCALL: greet {}\nRUN: true", "good day")
	}},
	{"a failure", (*talker).failTurn},
	{"a steer", (*talker).steerTurn},
	{"an interrupt", (*talker).interruptTurn},
}

// run runs one turn of the session.
func (k *talker) run(text string) (r turnResult, err error) {
	k.turns++
	err = k.callInto("bridge/turn/run", map[string]any{
		"sessionKey": k.key, "input": text,
		"thread": map[string]any{"cwd": k.workspace, "approvalPolicy": "on-request", "sandbox": "workspace-write"},
	}, &r)
	return r, err
}

// callInto is Call with a timeout that decodes the result.
func (s *soaker) callInto(method string, params map[string]any, into any) error {
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	result, failed := s.Call(ctx, method, params)
	if failed != nil {
		return fmt.Errorf("%s: %w", method, failed)
	}
	return json.Unmarshal(result, into)
}

// expectReply runs a turn whose reply must contain want.
func (k *talker) expectReply(text, want string) error {
	r, err := k.run(text)
	if err == nil && (r.Status != "completed" || !strings.Contains(r.Text, want)) {
		err = fmt.Errorf("%q: %+v, want %q", text, r, want)
	}
	return err
}

func (k *talker) shortTurn() error {
	word := fmt.Sprintf("word %d of %s", k.turns, k.key)
	return k.expectReply("SAY: "+word, word)
}

func (k *talker) failTurn() error {
	r, err := k.run("FAIL")
	if err == nil && r.Status != "failed" {
		err = fmt.Errorf("FAIL: %+v", r)
	}
	return err
}

// startSlowTurn starts a turn that does not end, and returns when the model writes.
func (k *talker) startSlowTurn() (thread, turn string, mark int, err error) {
	k.turns++
	var b struct{ Binding struct{ ThreadID string } }
	if err := k.callInto("bridge/binding/read", map[string]any{"sessionKey": k.key}, &b); err != nil {
		return "", "", 0, err
	}
	thread, mark = b.Binding.ThreadID, k.Mark()
	var started struct{ Turn struct{ ID string } }
	if err := k.callInto("turn/start", input(thread, "SLOW: 600000"), &started); err != nil {
		return "", "", 0, err
	}
	_, err = k.waitThreadMessage(mark, "item/agentMessage/delta", thread)
	return thread, started.Turn.ID, mark, err
}

// waitThreadMessage waits for a message about a thread.
func (s *soaker) waitThreadMessage(mark int, method, thread string) (editor.Message, error) {
	return s.waitMessage(mark, method, func(m editor.Message) bool { return m.Param("threadId") == thread })
}

// waitTurnEnd waits for the end of a turn. The end of the turn before may arrive after the response
// to its bridge/turn/run.
func (s *soaker) waitTurnEnd(mark int, turn string) (editor.Message, error) {
	return s.waitMessage(mark, "turn/completed", func(m editor.Message) bool { return m.Param("turn", "id") == turn })
}

func (s *soaker) waitMessage(mark int, method string, fits func(editor.Message) bool) (editor.Message, error) {
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	m, err := s.Wait(ctx, mark, func(m editor.Message) bool { return !m.Sent && m.Method == method && fits(m) })
	if err != nil {
		err = fmt.Errorf("%s: %w", method, err)
	}
	return m, err
}

func (k *talker) steerTurn() error {
	thread, turn, mark, err := k.startSlowTurn()
	if err != nil {
		return err
	}
	var r enqueueResult
	if err := k.callInto("bridge/turn/enqueue", map[string]any{"threadId": thread, "input": "SAY: steered"}, &r); err != nil {
		return err
	}
	if r.Disposition != "steered" {
		return fmt.Errorf("a steer: %+v", r)
	}
	m, err := k.waitTurnEnd(mark, turn)
	if err == nil && m.Param("turn", "status") != "completed" {
		err = fmt.Errorf("a steered turn: %s", m.Raw)
	}
	return err
}

func (k *talker) interruptTurn() error {
	_, turn, mark, err := k.startSlowTurn()
	if err != nil {
		return err
	}
	var r struct{ TurnID string }
	if err := k.callInto("bridge/turn/interrupt", map[string]any{"sessionKey": k.key}, &r); err != nil {
		return err
	}
	m, err := k.waitTurnEnd(mark, turn)
	if err == nil && (m.Param("turn", "status") != "interrupted" || r.TurnID != turn) {
		err = fmt.Errorf("an interrupted turn: %s", m.Raw)
	}
	return err
}

// rotateThread makes the session get another thread, and archives the old one.
func (k *talker) rotateThread() error {
	var before struct{ Binding struct{ ThreadID string } }
	if err := k.callInto("bridge/binding/read", map[string]any{"sessionKey": k.key}, &before); err != nil {
		return err
	}
	var r struct {
		Thread struct{ ID string }
		Bridge struct{ Action, Reason string }
	}
	if err := k.callInto("thread/start", map[string]any{
		"cwd": k.workspace, "approvalPolicy": "on-request", "sandbox": "workspace-write",
		"bridge": map[string]any{"sessionKey": k.key, "contextEngine": map[string]any{"id": "engine", "version": fmt.Sprint(k.engine, ".", k.turns)}},
	}, &r); err != nil {
		return err
	}
	if r.Thread.ID == before.Binding.ThreadID || r.Bridge.Reason != "contextEngineChanged" {
		return fmt.Errorf("a rotation: %+v", r)
	}
	mark := k.Mark()
	if err := k.callInto("thread/archive", map[string]any{"threadId": before.Binding.ThreadID}, &struct{}{}); err != nil {
		return err
	}
	_, err := k.waitThreadMessage(mark, "thread/archived", before.Binding.ThreadID)
	return err
}

// checkPolicyRefusals sends requests that the policy or the parser refuses.
func (k *talker) checkPolicyRefusals() error {
	ctx, cancel := context.WithTimeout(k.ctx, patience)
	defer cancel()
	for method, code := range map[string]int{"thread/shellCommand": -32010, "no/such": -32010} {
		if _, err := k.Call(ctx, method, map[string]any{"threadId": "t", "command": "true"}); err == nil || err.Code != code {
			return fmt.Errorf("%s is not refused with %d", method, code)
		}
	}
	return nil
}
