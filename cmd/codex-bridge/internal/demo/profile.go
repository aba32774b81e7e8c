package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"codex-bridge.example/cmd/internal/editor"
)

// profile is a short configuration.
const profile = `[policy]
preset = "guardian"

[thread]
on_stale_tools = "fork"

[tools.lookup_ticket]
description = "Fetch a ticket by its id."
input_schema = { type = "object", properties = { key = { type = "string" } } }
command = ["/bin/sh", "-c", "echo \"the ticket $(cat) is closed\""]
`

// sceneProfile shows another configuration: a preset, and a thread whose tools have changed. It
// continues the thread of the scene before.
func sceneProfile(ctx context.Context, s *stage) (err error) {
	s.say("Another bridge with another configuration: one word for a policy, and the tool takes\nanother argument than in the conversation of the scene before.")
	s.block(profile)
	conf := filepath.Join(s.folder, "profile.toml")
	if err := os.WriteFile(conf, []byte(profile), 0o600); err != nil {
		return err
	}
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	thread, own := s.thread, s.editor
	defer func() { s.thread, s.editor = thread, own }()
	s.editor, err = editor.Start(editor.Options{Argv: []string{s.o.Bridge, "app-server"}, Env: append(s.env[:len(s.env):len(s.env)], "CODEX_BRIDGE_CONFIG="+conf), Dir: s.work})
	if err != nil {
		return err
	}
	defer s.editor.Close(5 * time.Second)
	if _, err := s.editor.Initialize(ctx, object{"experimentalApi": true}); err != nil {
		return err
	}
	granular := object{"granular": object{"sandbox_approval": true, "rules": true, "mcp_elicitations": false}}
	answer, err := s.call(ctx, "thread/resume", object{"threadId": s.endedThread, "approvalPolicy": granular, "sandbox": "danger-full-access"})
	if err != nil {
		return err
	}
	s.thread = editor.Member(answer, "thread", "id")
	if s.thread == s.endedThread || editor.Member(answer, "thread", "forkedFromId") != s.endedThread {
		return errors.New("the thread was not forked")
	}
	approval, sandbox := editor.Member(answer, "approvalPolicy"), editor.Member(answer, "sandbox", "type")
	if approval != "on-request" || sandbox != "workspaceWrite" {
		return fmt.Errorf("Codex reports approvalPolicy %s and sandbox %s, which is not the preset guardian", approval, sandbox)
	}
	s.good("requested: granular and danger-full-access; effective: %s and %s", approval, sandbox)
	m, err := s.editor.WaitFor(ctx, 0, "warning")
	if err != nil {
		return err
	}
	s.quote("codex-bridge", editor.Member(m.Params, "message"))
	mark := len(s.model.Requests())
	text, err := s.turn(ctx, `CALL: lookup_ticket {"key":"A-7"}`, nil)
	if err != nil {
		return err
	}
	s.quote("codex", text)
	if !s.model.Requests()[mark].Contains("Who am I?") {
		return errors.New("the model did not get the earlier conversation")
	}
	s.good("the model knows the conversation and has the new tool")
	return nil
}
