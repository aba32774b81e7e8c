package featurecmd

import (
	"context"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"codex-bridge.example/lifecycle/acp"
)

// A late answer does not answer the next question.
func TestLateAnswerIsDropped(t *testing.T) {
	stderr := os.Stderr
	defer func() { os.Stderr = stderr }()
	var err error
	if os.Stderr, err = os.OpenFile(os.DevNull, os.O_WRONLY, 0); err != nil {
		t.Fatal(err)
	}
	in, person := io.Pipe()
	defer person.Close()
	ask := (&agentOutput{terminal: true}).ask(in, time.Hour)
	gone, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("too late"))
	if got := ask(gone, acp.Ask{Title: "first"}, ""); got.Allow || got.Reason != "too late" {
		t.Errorf("%+v", got)
	}
	says := func(text string) {
		if _, err := io.WriteString(person, text); err != nil {
			t.Error(err)
		}
	}
	says("y\n")
	says("n") // read only after the line before was handled
	answered := make(chan acp.Answer)
	go func() { answered <- ask(t.Context(), acp.Ask{Title: "second"}, "") }()
	go func() { // ends with the pipe; without a question no goroutine waits for it
		for err := error(nil); err == nil; {
			_, err = io.WriteString(person, "o\n")
		}
	}()
	if got := <-answered; got.Allow {
		t.Errorf("the late answer allowed it: %+v", got)
	}
}
