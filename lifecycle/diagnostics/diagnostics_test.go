package diagnostics_test

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"codex-bridge/lifecycle/diagnostics"
	"codex-bridge/rpc"
)

// codex keeps what it is sent, and does not know the thread "bad".
type codex struct{ sent []string }

func (c *codex) Ask(_ context.Context, method string, params any) (rpc.Value, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return rpc.Value{}, err
	}
	c.sent = append(c.sent, method+" "+string(raw))
	if strings.Contains(string(raw), `"bad"`) {
		return rpc.Value{}, errors.New("thread not found: bad")
	}
	return rpc.Value{}, nil
}

func request(threads ...string) diagnostics.Request {
	return diagnostics.Request{Scope: "me", Threads: threads, Reason: strings.Repeat("é", 3000)}
}

func TestTwoSteps(t *testing.T) {
	c := &codex{}
	d := diagnostics.New(c)
	p, err := d.Preview(request("b", "bad", "b", ""))
	if err != nil || !regexp.MustCompile(`^[0-9a-f]{12}$`).MatchString(p.Token) || p.Threads != 2 || p.ExpiresMs != 300_000 {
		t.Fatalf("%+v, %v", p, err)
	}
	if text, err := json.Marshal(p); err != nil || strings.Contains(string(text), "bad") || c.sent != nil {
		t.Errorf("the preview is %s, and %q was sent", text, c.sent)
	}
	out, err := d.Upload(t.Context(), p.Token, request("bad", "b"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]diagnostics.Outcome{{Thread: "b"}, {Thread: "bad", Error: "thread not found: bad"}}, out); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want := `feedback/upload {"classification":"bug","includeLogs":true,"reason":"` + strings.Repeat("é", 2048) +
		`","tags":{"source":"codex-bridge-diagnostics"},"threadId":"b"}`
	if len(c.sent) != 2 || c.sent[0] != want {
		t.Errorf("%q was sent", c.sent)
	}
}

func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		before func(*testing.T, *diagnostics.Desk) // after the preview
		now    diagnostics.Request
		token  string // "": the right one
		code   rpc.Code
	}{
		"another token":   {now: request("a"), token: "0123456789ab", code: rpc.CodeInvalidParams},
		"another scope":   {now: diagnostics.Request{Scope: "you", Threads: []string{"a"}}, code: rpc.CodeInvalidParams},
		"another thread":  {now: request("a", "b"), code: rpc.CodeInvalidParams},
		"too late":        {func(*testing.T, *diagnostics.Desk) { time.Sleep(5 * time.Minute) }, request("a"), "", rpc.CodeInvalidParams},
		"cooling: thread": {sends(diagnostics.Request{Scope: "other", Threads: []string{"a"}}), request("a"), "", rpc.CodeBusy},
		"cooling: scope":  {sends(diagnostics.Request{Scope: "me", Threads: []string{"z"}}), request("a"), "", rpc.CodeBusy},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fake := &codex{}
				d := diagnostics.New(fake)
				p, err := d.Preview(request("a"))
				if err != nil {
					t.Fatal(err)
				}
				if c.before != nil {
					c.before(t, d)
				}
				if c.token == "" {
					c.token = p.Token
				}
				n := len(fake.sent)
				_, err = d.Upload(t.Context(), c.token, c.now)
				var e *rpc.Error
				if !errors.As(err, &e) || e.Code != c.code || len(fake.sent) != n {
					t.Errorf("%v, and %q was sent", err, fake.sent)
				}
				if c.code != rpc.CodeBusy {
					return
				}
				time.Sleep(time.Minute)
				if _, err := d.Upload(t.Context(), p.Token, c.now); err != nil {
					t.Errorf("when it has cooled down: %v", err)
				}
				if _, err := d.Upload(t.Context(), p.Token, c.now); err == nil {
					t.Error("a token is good twice")
				}
			})
		})
	}
}

func sends(r diagnostics.Request) func(*testing.T, *diagnostics.Desk) {
	return func(t *testing.T, d *diagnostics.Desk) {
		p, err := d.Preview(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Upload(t.Context(), p.Token, r); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNothingToSend(t *testing.T) {
	if p, err := diagnostics.New(&codex{}).Preview(request("")); err == nil {
		t.Errorf("%+v", p)
	}
}
