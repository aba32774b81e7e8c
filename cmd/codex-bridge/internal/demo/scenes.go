package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"codex-bridge.example/cmd/codex-bridge/internal/follow"
	"codex-bridge.example/cmd/internal/editor"
)

// scenes has the scenes in their order. Those in brief are the ones that a new user sees.
var scenes = []scene{
	{"An editor asks for everything", sceneThreadStart, true},
	{"An ordinary question", sceneMessage, false},
	{"The model runs commands", sceneApproval, true},
	{"A rule that needs no question", sceneRule, false},
	{"A rule of the user's own for codex", sceneUserRule, false},
	{"Tools of the host's", sceneTools, false},
	{"The editor tries again in the middle of the thread", sceneSettings, false},
	{"A trick on the wire", sceneAmbiguousJSON, false},
	{"The ways around", sceneUnsandboxedMethods, false},
	{"A project that brings its own configuration", sceneProjectConfig, false},
	{"What is on record", sceneDecisionLog, false},
	{"A conversation outlives its process", sceneSession, false},
	{"What was said is found again", sceneHistory, false},
	{"Another day, another configuration", sceneProfile, false},
	{"Messages while a turn runs", sceneMessages, false},
	{"An image, beside the conversation", sceneImage, false},
	{"An agent, beside the conversation", sceneAgent, false},
}

type object = map[string]any

func sceneThreadStart(ctx context.Context, s *stage) error {
	s.say("The editor starts a thread that may do anything. It says so twice: in the fields, and in\nits overlay of your configuration.")
	answer, err := s.call(ctx, "thread/start", object{
		"cwd": s.work, "approvalPolicy": "untrusted", "sandbox": "danger-full-access",
		"config": object{
			"sandbox_mode": "danger-full-access", "model_reasoning_effort": "low",
			"mcp_servers": object{"helper": object{"command": "/tmp/helper"}},
		},
	})
	if err != nil {
		return err
	}
	s.thread = editor.Member(answer, "thread", "id")
	if err := s.printRewrite(ctx, "thread/start"); err != nil {
		return err
	}
	return s.checkSettings(answer, "sandbox")
}

func sceneMessage(ctx context.Context, s *stage) error {
	s.say("No rule applies: the message passes unchanged, byte for byte.")
	text, err := s.turn(ctx, "What does this project do?", nil)
	if err != nil {
		return err
	}
	s.quote("codex", text)
	return nil
}

func sceneApproval(ctx context.Context, s *stage) error {
	s.say("The thread asks before each command: the bridge does, in codex's place. The person says no to one command and yes to the next two. The third one fails, as it must in a read-only sandbox; codex, had it asked by itself, would have run it again outside. The rule denies the last one without a question:")
	for _, command := range []struct{ text, answer string }{
		{"echo hello > hello.txt", "decline"},
		{"echo hello", "accept"},
		{"touch way-out.txt", "accept"},
		{"git push", ""},
	} {
		asked := false
		text, err := s.turn(ctx, "RUN: "+command.text, func(m editor.Message) any {
			asked = true
			s.quote("codex asks", editor.Member(m.Params, "command"))
			s.quote("person", command.answer)
			return object{"decision": command.answer}
		})
		if err != nil {
			return err
		}
		switch {
		case asked != (command.answer != ""):
			return fmt.Errorf("%s: the person was asked: %t", command.text, asked)
		case !asked && !strings.Contains(text, ruleReason):
			return errors.New("the rule did not stop " + command.text)
		}
		s.quote("codex", text)
	}
	for _, name := range []string{"hello.txt", "way-out.txt"} {
		if _, err := os.Stat(filepath.Join(s.work, name)); !errors.Is(err, os.ErrNotExist) {
			return errors.New(name + " was written, though it was declined or the sandbox is read-only")
		}
	}
	s.good("hello.txt was not written, nor was way-out.txt")
	return nil
}

func sceneSettings(ctx context.Context, s *stage) error {
	s.say("A client can change the settings of a thread at any time, within the policy. What the\npolicy forbids is refused, because clients wait for the confirmation of what they sent:")
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	_, refused := s.editor.Call(ctx, "thread/settings/update", object{
		"threadId": s.thread, "approvalPolicy": "never", "sandboxPolicy": object{"type": "dangerFullAccess"}, "effort": "high",
	})
	if refused == nil {
		return errors.New("the bridge forwarded the settings")
	}
	s.good("%s", refused.Message)
	mark := s.editor.Mark()
	if _, err := s.call(ctx, "thread/settings/update", object{"threadId": s.thread, "effort": "high"}); err != nil {
		return err
	}
	m, err := s.editor.WaitFor(ctx, mark, "thread/settings/updated")
	if err != nil {
		return err
	}
	var params struct{ ThreadSettings json.RawMessage }
	if err := json.Unmarshal(m.Params, &params); err != nil {
		return err
	}
	return s.checkSettings(params.ThreadSettings, "sandboxPolicy")
}

func sceneAmbiguousJSON(ctx context.Context, s *stage) error {
	s.say("Codex's JSON reader knows secret keys: it takes this object for the word \"never\".\nThe bridge reads strictly, and refuses it:")
	line := fmt.Sprintf(`{"id":"trick","method":"turn/start","params":{"threadId":%q,"input":[],"approvalPolicy":{"$serde_json::private::RawValue":"\"never\""}}}`, s.thread)
	s.block(line)
	mark := s.editor.Mark()
	if err := s.editor.Send([]byte(line)); err != nil {
		return err
	}
	m, err := s.editor.Wait(ctx, mark, func(m editor.Message) bool { return !m.Sent && string(m.ID) == `"trick"` })
	if err != nil {
		return err
	}
	if m.Error == nil {
		return errors.New("the bridge forwarded the message")
	}
	s.good("error %d: %s", m.Error.Code, m.Error.Message)
	return nil
}

// printSummary prints what the decision log has about the scenes.
func (s *stage) printSummary(ctx context.Context) error {
	out, err := s.command(ctx, "decisions", "list", "--limit", "0", "--json").Output()
	if err != nil {
		return fmt.Errorf("codex-bridge decisions list: %w", err)
	}
	var logged []struct{ Verdict string }
	if err := json.Unmarshal(out, &logged); err != nil {
		return fmt.Errorf("codex-bridge decisions list: %w", err)
	}
	counts := make(map[string]int)
	for _, decision := range logged {
		counts[decision.Verdict]++
	}
	var kinds []string
	for _, verdict := range slices.Sorted(maps.Keys(counts)) {
		kinds = append(kinds, fmt.Sprintf("%s %d", verdict, counts[verdict]))
	}
	s.say("")
	s.say("That was codex %s. The decision log has %d decisions: %s. All threads followed that policy. To put the bridge in front of your own codex, see the README.", s.version, len(logged), strings.Join(kinds, ", "))
	if !s.o.All {
		s.say("%d more scenes: codex-bridge demo --all, or in the source tree make demo ALL=1", len(scenes)-s.played)
	}
	return nil
}

// call sends a request and returns its response.
func (s *stage) call(ctx context.Context, method string, params object) (json.RawMessage, error) {
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	answer, err := s.editor.Call(ctx, method, params)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	return answer, nil
}

// printRewrite prints the last request of a method as sent, and as Codex got it.
func (s *stage) printRewrite(ctx context.Context, method string) error {
	var sent []byte
	for _, m := range s.editor.Messages() {
		if m.Sent && m.Method == method {
			sent = m.Raw
		}
	}
	got, changes, err := s.rewritten(ctx, method)
	if err != nil {
		return err
	}
	s.printDifference("the editor sent", sent, "codex got", []byte(got))
	s.say("  because")
	for _, c := range changes {
		s.indented("    ", fmt.Sprintf("%s: %s (%s)", c.Field, c.Reason, c.Rule))
	}
	return nil
}

// checkSettings checks that the effective settings match the policy: Codex's sandbox, and the
// approval policy that the bridge reports.
func (s *stage) checkSettings(said json.RawMessage, sandbox string) error {
	approval, mode := editor.Member(said, "approvalPolicy"), editor.Member(said, sandbox, "type")
	if approval != "untrusted" || mode != "readOnly" {
		return fmt.Errorf("Codex reports approvalPolicy %s and sandbox %s, which the policy forbids", approval, mode)
	}
	s.good("effective settings: approvalPolicy %s, sandbox %s", approval, mode)
	return nil
}

// turn sends a text, answers Codex's requests, and returns the last message.
func (s *stage) turn(ctx context.Context, text string, answer func(editor.Message) any) (string, error) {
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	mark := s.editor.Mark()
	s.quote("editor", text)
	if _, err := s.call(ctx, "turn/start", object{
		"threadId": s.thread, "input": []object{{"type": "text", "text": text}},
	}); err != nil {
		return "", err
	}
	reply := ""
	for {
		m, err := s.editor.Wait(ctx, mark, func(m editor.Message) bool { return !m.Sent && m.Method != "" })
		if err != nil {
			return "", err
		}
		mark = m.Index + 1
		switch {
		case strings.HasSuffix(m.Method, "/requestApproval") && answer != nil:
			if err := s.editor.Reply(m, answer(m)); err != nil {
				return "", err
			}
		case m.Method == "item/completed" && editor.Member(m.Params, "item", "type") == "agentMessage":
			reply = editor.Member(m.Params, "item", "text")
		case m.Method == "turn/completed":
			return reply, nil
		}
	}
}

// useNewThread makes the scene use a new thread that asks only for commands outside the sandbox,
// until back is called.
func (s *stage) useNewThread(ctx context.Context) (back func(), err error) {
	answer, err := s.call(ctx, "thread/start", object{"cwd": s.work, "approvalPolicy": "on-request", "sandbox": "read-only"})
	if err != nil {
		return nil, err
	}
	before := s.thread
	s.thread = editor.Member(answer, "thread", "id")
	return func() { s.thread = before }, nil
}

func (s *stage) quote(who, text string) {
	lines := follow.Wrap(who+": "+strings.Join(strings.Fields(text), " "), columns-4)
	lines[0] = s.paint(blue, who+":") + strings.TrimPrefix(lines[0], who+":")
	for _, line := range lines {
		fmt.Fprintln(s.o.Out, "    "+line)
	}
}
