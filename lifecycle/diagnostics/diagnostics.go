// Package diagnostics sends what Codex has logged of threads to who makes Codex, in two
// steps: what would be sent is shown with a token, and only who has the token sends it.
//
// A token is good for five minutes, once, and for the threads that it was made for: when
// others are meant by then nothing is sent. A thread is not sent again within a minute,
// nor is anything of a scope. Which threads they are is told only after sending.
//
// A Desk may be used by several goroutines. It keeps what it knows in memory.
package diagnostics

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"slices"
	"sync"
	"time"

	"codex-bridge/rpc"
)

const (
	goodFor  = 5 * time.Minute
	coolDown = time.Minute
	// mostTokens and mostRemembered bound what is kept; the oldest goes.
	mostTokens, mostRemembered = 100, 100
	tokenBytes                 = 6
	// maxReason is how many characters of a reason are sent.
	maxReason = 2048
	source    = "codex-bridge-diagnostics"
)

// Codex is asked to send. *bridge.Peer is one.
type Codex interface {
	Ask(ctx context.Context, method string, params any) (rpc.Value, error)
}

// Request is what somebody wants to send. Scope is who, and where: what one was shown,
// another can't send.
type Request struct {
	Scope   string
	Threads []string
	Reason  string
}

// Preview is what would be sent.
type Preview struct {
	Token     string `json:"token"`
	ExpiresMs int64  `json:"expiresInMs"`
	Threads   int    `json:"threads"` // how many
	Logs      bool   `json:"includeLogs"`
	Reason    string `json:"reason,omitempty"`
}

// Outcome is what became of one thread.
type Outcome struct {
	Thread string `json:"threadId"`
	Error  string `json:"error,omitempty"`
}

// Desk is where previews are kept.
type Desk struct {
	codex Codex

	mu     sync.Mutex
	shown  []shown
	cooled []cooled // oldest first
}

type shown struct {
	token string
	until time.Time
	of    Request
}

type cooled struct {
	what  string
	since time.Time
}

// New makes a Desk.
func New(c Codex) *Desk { return &Desk{codex: c} }

// Preview shows what would be sent, and sends nothing.
func (d *Desk) Preview(r Request) (Preview, error) {
	if r = r.tidy(); len(r.Threads) == 0 {
		return Preview{}, rpc.Errorf(rpc.CodeInvalidParams, "there is no thread to send anything of; start one, or name the session")
	}
	var random [tokenBytes]byte
	_, _ = rand.Read(random[:]) // never fails
	one := shown{hex.EncodeToString(random[:]), time.Now().Add(goodFor), r}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.shown = append(d.shown, one); len(d.shown) > mostTokens {
		d.shown = d.shown[1:]
	}
	return Preview{one.token, goodFor.Milliseconds(), len(r.Threads), true, r.Reason}, nil
}

func (r Request) tidy() Request {
	r.Threads = slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(r.Threads))), func(id string) bool { return id == "" })
	if reason := []rune(r.Reason); len(reason) > maxReason {
		r.Reason = string(reason[:maxReason])
	}
	return r
}

// Upload sends what was shown with the token. now is what would be shown today: with other
// threads, or in another scope, nothing is sent.
func (d *Desk) Upload(ctx context.Context, token string, now Request) ([]Outcome, error) {
	asked, err := d.take(token, now.tidy())
	if err != nil {
		return nil, err
	}
	var out []Outcome
	for _, thread := range asked.Threads {
		params := map[string]any{
			"classification": "bug", "threadId": thread, "includeLogs": true, "tags": map[string]string{"source": source},
		}
		if asked.Reason != "" {
			params["reason"] = asked.Reason
		}
		one := Outcome{Thread: thread}
		if _, err := d.codex.Ask(ctx, "feedback/upload", params); err != nil {
			one.Error = err.Error()
		}
		out = append(out, one)
	}
	return out, nil
}

// take takes a token, and has its threads and its scope cool down.
func (d *Desk) take(token string, now Request) (Request, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	today := time.Now()
	d.shown = slices.DeleteFunc(d.shown, func(s shown) bool { return !today.Before(s.until) })
	d.cooled = slices.DeleteFunc(d.cooled, func(c cooled) bool { return today.Sub(c.since) >= coolDown })
	i := slices.IndexFunc(d.shown, func(s shown) bool { return s.token == token && s.of.Scope == now.Scope })
	if i < 0 {
		return Request{}, rpc.Errorf(rpc.CodeInvalidParams, "the token is not known, or older than %v; ask for a preview", goodFor)
	}
	asked := d.shown[i].of
	if !slices.Equal(asked.Threads, now.Threads) {
		d.shown = slices.Delete(d.shown, i, i+1)
		return Request{}, rpc.Errorf(rpc.CodeInvalidParams, "other threads are meant now than were shown; ask for a preview")
	}
	what := []string{"scope " + asked.Scope}
	for _, thread := range asked.Threads {
		what = append(what, "thread "+thread)
	}
	for _, c := range d.cooled {
		if slices.Contains(what, c.what) {
			left := (coolDown - today.Sub(c.since)).Round(time.Second)
			return Request{}, rpc.Errorf(rpc.CodeBusy, "this was sent a moment ago; try again in %v", left)
		}
	}
	d.shown = slices.Delete(d.shown, i, i+1)
	for _, w := range what {
		d.cooled = append(d.cooled, cooled{w, today})
	}
	if n := len(d.cooled) - 2*mostRemembered; n > 0 {
		d.cooled = slices.Delete(d.cooled, 0, n)
	}
	return asked, nil
}
