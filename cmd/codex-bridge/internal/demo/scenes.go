package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"codex-bridge/cmd/internal/editor"
)

// scenes in the order in which they play.
var scenes = []scene{
	{"An editor asks for everything", askForEverything},
	{"An ordinary question", ordinaryQuestion},
	{"A command asks first", commandAsks},
	{"A rule that needs no question", aRule},
	{"A rule of the user's own for codex", ownRule},
	{"Tools of the host's", toolsOfTheHost},
	{"The editor tries again in the middle of the thread", tryAgain},
	{"A trick on the wire", trick},
	{"The ways around", waysAround},
	{"A project that brings its own configuration", hostileRepository},
	{"What is on record", onRecord},
	{"A conversation outlives its process", outlives},
	{"What was said is found again", foundAgain},
	{"Another day, another configuration", anotherDay},
	{"Messages while a turn runs", whileItRuns},
	{"An image, beside the conversation", imageDescribed},
	{"An agent, beside the conversation", agentBeside},
}

type object = map[string]any

func askForEverything(ctx context.Context, s *stage) error {
	s.say("It starts a thread that never asks and may do anything, twice over: in the fields,\nand in the configuration that it lays over yours.")
	answer, err := s.call(ctx, "thread/start", object{
		"cwd": s.work, "approvalPolicy": "never", "sandbox": "danger-full-access",
		"config": object{
			"sandbox_mode": "danger-full-access", "model_reasoning_effort": "low",
			"mcp_servers": object{"helper": object{"command": "/tmp/helper"}},
		},
	})
	if err != nil {
		return err
	}
	s.thread = editor.Member(answer, "thread", "id")
	if err := s.shown(ctx, "thread/start"); err != nil {
		return err
	}
	return s.confirmed(answer, "sandbox")
}

func ordinaryQuestion(ctx context.Context, s *stage) error {
	s.say("Nothing to decide: the message passes as it came, byte for byte.")
	text, err := s.turn(ctx, "What does this project do?", nil)
	if err != nil {
		return err
	}
	s.quote("codex", text)
	return nil
}

func commandAsks(ctx context.Context, s *stage) error {
	s.say("Asked for \"never\", the thread asks all the same: the bridge does, in codex's place. The\nperson says no to one command and yes to the next two. The last one fails, as it must in\na read-only sandbox; codex, had it asked by itself, would have run it again outside:")
	for _, command := range []struct{ text, answer string }{
		{"echo hello > hello.txt", "decline"},
		{"echo hello", "accept"},
		{"touch way-out.txt", "accept"},
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
		if !asked {
			return errors.New("codex ran a command without asking")
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

func tryAgain(ctx context.Context, s *stage) error {
	s.say("A thread's settings can be changed at any time, and stay. Not past the policy:")
	mark := s.editor.Mark()
	if _, err := s.call(ctx, "thread/settings/update", object{
		"threadId": s.thread, "approvalPolicy": "never", "sandboxPolicy": object{"type": "dangerFullAccess"}, "effort": "high",
	}); err != nil {
		return err
	}
	if err := s.shown(ctx, "thread/settings/update"); err != nil {
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
	return s.confirmed(params.ThreadSettings, "sandboxPolicy")
}

func trick(ctx context.Context, s *stage) error {
	s.say("Codex's JSON reader knows secret keys: it takes this object for the word \"never\".\nThe bridge reads strictly, and codex does not hear of it:")
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
		return errors.New("the message went through")
	}
	s.refused++
	s.good("error %d: %s", m.Error.Code, m.Error.Message)
	return nil
}

func (s *stage) ending() {
	s.say("")
	s.say("That was codex %s: %d requests rewritten, %d refused, and every thread it opened was\nheld to that policy. To put the bridge in front of your own codex, see the README.", s.version, s.changed, s.refused)
}

// call sends a request and waits for its answer.
func (s *stage) call(ctx context.Context, method string, params object) (json.RawMessage, error) {
	ctx, cancel := patience(ctx)
	defer cancel()
	answer, err := s.editor.Call(ctx, method, params)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	return answer, nil
}

// shown shows the last request of method as it was sent, and as codex got it.
func (s *stage) shown(ctx context.Context, method string) error {
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
	s.changed++
	s.beside("the editor sent", sent, "codex got", []byte(got))
	s.say("  because")
	for _, c := range changes {
		s.say("    %s: %s %s", c.Field, c.Reason, s.paint(faint, "("+c.Rule+")"))
	}
	return nil
}

// confirmed checks that what is in force, as the editor is shown it, is what the policy
// says: the sandbox in codex's own words, and who asks in the bridge's.
func (s *stage) confirmed(said json.RawMessage, sandbox string) error {
	approval, mode := editor.Member(said, "approvalPolicy"), editor.Member(said, sandbox, "type")
	if approval != "untrusted" || mode != "readOnly" {
		return fmt.Errorf("codex says approvalPolicy %s and sandbox %s, which the policy forbids", approval, mode)
	}
	s.good("what is in force: approvalPolicy %s, sandbox %s", approval, mode)
	return nil
}

// turn sends a text, answers what codex asks, and returns the last message.
func (s *stage) turn(ctx context.Context, text string, answer func(editor.Message) any) (string, error) {
	ctx, cancel := patience(ctx)
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

// another has the scene play on a thread of its own, which asks for what leaves the sandbox
// and for nothing else, until back is called.
func (s *stage) another(ctx context.Context) (back func(), err error) {
	answer, err := s.call(ctx, "thread/start", object{"cwd": s.work, "approvalPolicy": "on-request", "sandbox": "read-only"})
	if err != nil {
		return nil, err
	}
	before := s.thread
	s.thread = editor.Member(answer, "thread", "id")
	return func() { s.thread = before }, nil
}

func (s *stage) quote(who, text string) {
	text = strings.Join(strings.Fields(text), " ")
	s.say("    %s %s", s.paint(blue, who+":"), text)
}
