package turns

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

	"codex-bridge.example/rpc"
)

// codex records the requests and does not know the thread "bad".
type fakeCodex struct{ sent []string }

func (c *fakeCodex) Call(_ context.Context, method string, params any) (rpc.Value, error) {
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

func mustRequest(threads ...string) uploadRequest {
	return uploadRequest{Of: address{session: "me"}, Threads: threads, Reason: strings.Repeat("é", 3000)}
}

// now returns a function that returns threads.
func now(threads ...string) func(context.Context, address) ([]string, error) {
	return func(context.Context, address) ([]string, error) { return threads, nil }
}

func TestUploadInTwoSteps(t *testing.T) {
	c := &fakeCodex{}
	d := &uploader{codex: c}
	p, err := d.preview(mustRequest("b", "bad", "b", ""))
	if err != nil || !regexp.MustCompile(`^[0-9a-f]{12}$`).MatchString(p.Token) || p.Threads != 2 || p.ExpiresMs != 300_000 {
		t.Fatalf("%+v, %v", p, err)
	}
	if text, err := json.Marshal(p); err != nil || strings.Contains(string(text), "bad") || c.sent != nil {
		t.Errorf("the preview is %s, and %q was sent", text, c.sent)
	}
	out, err := d.upload(t.Context(), p.Token, now("bad", "b"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]uploadResult{{Thread: "b"}, {Thread: "bad", Error: "thread not found: bad"}}, out); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want := `feedback/upload {"classification":"bug","includeLogs":true,"reason":"` + strings.Repeat("é", 2048) +
		`","tags":{"source":"codex-bridge-diagnostics"},"threadId":"b"}`
	if len(c.sent) != 2 || c.sent[0] != want {
		t.Errorf("%q was sent", c.sent)
	}
}

func TestUploadRefused(t *testing.T) {
	for name, c := range map[string]struct {
		before func(*testing.T, *uploader) // after the preview
		now    []string
		token  string // "": the right one
		code   rpc.Code
	}{
		"another token":   {now: []string{"a"}, token: "0123456789ab", code: rpc.CodeInvalidParams},
		"another thread":  {now: []string{"a", "b"}, code: rpc.CodeInvalidParams},
		"too late":        {func(*testing.T, *uploader) { time.Sleep(5 * time.Minute) }, []string{"a"}, "", rpc.CodeInvalidParams},
		"cooling: thread": {sends(uploadRequest{Of: address{session: "other"}, Threads: []string{"a"}}), []string{"a"}, "", rpc.CodeBusy},
		"cooling: scope":  {sends(uploadRequest{Of: address{session: "me"}, Threads: []string{"z"}}), []string{"a"}, "", rpc.CodeBusy},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fake := &fakeCodex{}
				d := &uploader{codex: fake}
				p, err := d.preview(mustRequest("a"))
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
				_, err = d.upload(t.Context(), c.token, now(c.now...))
				var e *rpc.Error
				if !errors.As(err, &e) || e.Code != c.code || len(fake.sent) != n {
					t.Errorf("%v, and %q was sent", err, fake.sent)
				}
				if c.code != rpc.CodeBusy {
					return
				}
				time.Sleep(time.Minute)
				if _, err := d.upload(t.Context(), p.Token, now(c.now...)); err != nil {
					t.Errorf("when it has cooled down: %v", err)
				}
				if _, err := d.upload(t.Context(), p.Token, now(c.now...)); err == nil {
					t.Error("a token is good twice")
				}
			})
		})
	}
}

func sends(r uploadRequest) func(*testing.T, *uploader) {
	return func(t *testing.T, d *uploader) {
		p, err := d.preview(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.upload(t.Context(), p.Token, now(r.Threads...)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestUploadNothing(t *testing.T) {
	if p, err := (&uploader{codex: &fakeCodex{}}).preview(mustRequest("")); err == nil {
		t.Errorf("%+v", p)
	}
}
