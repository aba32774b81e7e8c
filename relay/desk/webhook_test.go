package desk_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"codex-bridge.example/relay/desk"
)

// webhook starts a server that gets the desk's requests. Its responses come after failures with these
// statuses.
func (w *world) webhook(reply func(r desk.Request, statements map[string]string) string, failures ...int) (requests *atomic.Int64) {
	w.t.Helper()
	requests = new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		n := int(requests.Add(1))
		if in.URL.Path != "/desk" {
			w.t.Errorf("a request to %s", in.URL)
		}
		if n <= len(failures) {
			out.Header().Set("Location", "/elsewhere")
			out.WriteHeader(failures[n-1])
			return
		}
		raw, err := io.ReadAll(in.Body)
		mac := hmac.New(sha256.New, []byte("hush"))
		fmt.Fprintf(mac, "%s.%s.%s", in.Header.Get("Webhook-Id"), in.Header.Get("Webhook-Timestamp"), raw)
		if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); err != nil || in.Header.Get("Webhook-Signature") != want {
			w.t.Errorf("the signature is %q: %v", in.Header.Get("Webhook-Signature"), err)
		}
		var body struct {
			Request    desk.Request
			Statements map[string]string
		}
		if err := json.Unmarshal(raw, &body); err != nil || in.Header.Get("Webhook-Id") != body.Request.ID || in.Header.Get("Webhook-Timestamp") != fmt.Sprint(w.now.Unix()) {
			w.t.Errorf("%s: %v", raw, err)
		}
		_, _ = io.WriteString(out, reply(body.Request, body.Statements))
	}))
	w.t.Cleanup(server.Close)
	w.cfg.Webhook, w.cfg.Secret, w.secrets = server.URL+"/desk", "SECRET", map[string]string{"SECRET": "hush"}
	return requests
}

// The webhook gets the request, and may send a signature back. The desk checks it as any other.
func TestWebhookAnswers(t *testing.T) {
	w := newWorld(t)
	requests := w.webhook(func(r desk.Request, statements map[string]string) string {
		if want, err := r.Statement(desk.Approve); err != nil || statements["approve"] != want || !strings.Contains(statements["decline"], "decision: decline") {
			t.Errorf("the statements are %q, %v", statements, err)
		}
		a := w.grace.answer(t, r, desk.Approve)
		raw, err := json.Marshal(map[string]any{"answers": []any{map[string]string{"decision": a.Decision, "signature": a.Signature}}})
		if err != nil {
			t.Error(err)
		}
		return string(raw)
	}, http.StatusBadGateway, http.StatusFound)
	w.check("approved", w.ask(push, func() { w.put(<-w.posted) }), "")
	if requests.Load() != 3 {
		t.Errorf("%d requests", requests.Load())
	}
}

// A webhook that takes the request, or answers something else, does not decide.
func TestWebhookDecidesNothing(t *testing.T) {
	for _, reply := range []string{"", "ok", `{"answers":[]}`, `{"approve":true}`, `{"answers":"approve"}`, strings.Repeat(" ", 70<<10) + `{"answers":[{"decision":"approve"}]}`} {
		w := newWorld(t)
		done := make(chan bool)
		w.webhook(func(desk.Request, map[string]string) string { defer close(done); return reply })
		w.check(reply, w.ask(push, func() { <-done }), "the turn has ended")
		if len(w.posted) > 0 {
			t.Errorf("%q is an answer: %+v", reply, <-w.posted)
		}
	}
}

// Without its secret the webhook gets nothing, and other ways still count.
func TestWebhookWithoutSecret(t *testing.T) {
	w := newWorld(t)
	requests := w.webhook(func(desk.Request, map[string]string) string { return "" })
	w.secrets = nil
	w.check("approved", w.ask(push, func() { w.put(w.grace.answer(t, w.request, desk.Approve)) }), "")
	if requests.Load() > 0 {
		t.Errorf("%d requests", requests.Load())
	}
}
