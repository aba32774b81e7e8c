package demo

import (
	"context"
	"fmt"
	"sync"
	"time"

	"codex-bridge.example/cmd/internal/editor"
	"codex-bridge.example/cmd/internal/scripted"
)

// sceneMessages shows that messages during a running turn are not lost, and how a script runs a
// turn.
func sceneMessages(ctx context.Context, s *stage) error {
	s.say("A host without a chat window sends three messages while one turn runs. The bridge\ncollects them, steers the turn with them, and delivers each once.")
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	own := s.editor
	defer func() { s.editor = own }()
	var err error
	s.editor, err = editor.Start(editor.Options{Argv: []string{s.o.Bridge, "app-server"}, Env: s.env, Dir: s.work})
	if err != nil {
		return err
	}
	defer s.editor.Close(5 * time.Second)
	if _, err := s.editor.Initialize(ctx, object{"experimentalApi": true, "bridge": object{"version": 1}}); err != nil {
		return err
	}
	var running sync.WaitGroup
	defer running.Wait()
	finish := make(chan struct{})
	ended := sync.OnceFunc(func() { close(finish) })
	defer ended()
	s.model.Add(scripted.Step{When: "long job", Reply: scripted.Reply{scripted.Paused{Until: finish}}})
	type reply struct {
		text string
		err  error
	}
	done := make(chan reply, 1)
	running.Go(func() {
		answer, err := s.call(ctx, "bridge/turn/run", object{"sessionKey": "demo", "input": "Begin the long job."})
		done <- reply{editor.Member(answer, "text"), err}
	})
	if _, err := s.model.Await(ctx, func(r scripted.Request) bool { return r.Contains("long job") }); err != nil {
		return err
	}
	messages := []string{"And look at the tests.", "They are slow.", "SAY: I know about the job, the tests and that they are slow."}
	errs := make(chan error, len(messages))
	for _, text := range messages {
		mark := s.editor.Mark()
		running.Go(func() {
			answer, err := s.call(ctx, "bridge/turn/enqueue", object{"sessionKey": "demo", "input": text})
			if got := editor.Member(answer, "disposition"); err == nil && got != "steered" {
				err = fmt.Errorf("%q is %s", text, got)
			}
			errs <- err
		})
		if _, err := s.editor.Wait(ctx, mark, func(m editor.Message) bool { return m.Sent && m.Method == "bridge/turn/enqueue" }); err != nil {
			return err
		}
	}
	for range messages {
		if err := <-errs; err != nil {
			return err
		}
	}
	ended()
	r := <-done
	if r.err != nil {
		return r.err
	}
	steers := 0
	for _, text := range messages {
		if _, err := s.model.Await(ctx, func(r scripted.Request) bool { return r.Contains(text) }); err != nil {
			return err
		}
		steers++
	}
	s.good("the bridge collected %d messages and steered the running turn with them", steers)
	s.quote("codex", r.text)
	return nil
}
