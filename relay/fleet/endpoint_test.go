package fleet_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/relay/fleet"

	"github.com/google/go-cmp/cmp"
)

// receiver is an endpoint for OTLP logs.
type receiver struct {
	*httptest.Server
	records []logRecord
	answer  func(http.ResponseWriter) bool // whether the records are kept
	host    string
	header  string
}

type logRecord struct {
	Time       string `json:"timeUnixNano"`
	Severity   string `json:"severityText"`
	Event      string `json:"eventName"`
	Body       struct{ StringValue string }
	Attributes []struct {
		Key   string
		Value map[string]any
	}
}

func newReceiver(t *testing.T) (*receiver, *fleet.Endpoint) {
	t.Helper()
	r := &receiver{answer: func(http.ResponseWriter) bool { return true }}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		var body struct {
			ResourceLogs []struct {
				Resource struct {
					Attributes []struct {
						Key   string
						Value map[string]any
					}
				}
				ScopeLogs []struct{ LogRecords []logRecord }
			}
		}
		text, err := io.ReadAll(request.Body)
		if err == nil {
			err = json.Unmarshal(text, &body)
		}
		if err != nil || request.URL.Path != "/v1/logs" || request.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s: %v", request.Method, request.URL, err)
			return
		}
		r.header = request.Header.Get("Authorization")
		if !r.answer(w) {
			return
		}
		for _, a := range body.ResourceLogs[0].Resource.Attributes {
			if a.Key == "host.name" {
				r.host = fmt.Sprint(a.Value["stringValue"])
			}
		}
		r.records = append(r.records, body.ResourceLogs[0].ScopeLogs[0].LogRecords...)
	}))
	t.Cleanup(r.Close)
	e, err := fleet.NewEndpoint(r.URL+"/v1/logs", map[string]string{"Authorization": "Bearer t0ken"}, "1.0")
	if err != nil {
		t.Fatal(err)
	}
	return r, e
}

// unique returns what the receiver has without doubles, as a log store drops them.
func (r *receiver) unique(t interface{ Fatal(...any) }) []fleet.Entry {
	seen := make(map[string]bool)
	var bodies strings.Builder
	for _, one := range r.records {
		attributes := make(map[string]any)
		for _, a := range one.Attributes {
			for value := range maps.Values(a.Value) {
				attributes[a.Key] = value
			}
		}
		key := fmt.Sprint(attributes["unmapped.chain"], attributes["metadata.sequence"])
		if !seen[key] {
			bodies.WriteString(one.Body.StringValue + "\n")
		}
		seen[key] = true
	}
	var all []fleet.Entry
	for e, err := range fleet.ReadEntries(strings.NewReader(bodies.String()), "bodies") {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

func TestEndpointGetsRecords(t *testing.T) {
	r, e := newReceiver(t)
	log := newLocalLog()
	log.add("<no>", "two")
	if got, err := ship(t, log, e); err != nil || got.Head.Seq != 2 || got.Acknowledged != 2 {
		t.Fatal(got, err)
	}
	if diff := cmp.Diff(entriesOf(map[string][]store.Sealed{log.chain: log.entries}), r.unique(t)); diff != "" {
		t.Error(diff)
	}
	if r.header != "Bearer t0ken" || r.host != "host" {
		t.Errorf("header %q, host %q", r.header, r.host)
	}
	first := r.records[0]
	got := map[string]any{}
	for _, a := range first.Attributes {
		got[a.Key] = a.Value
	}
	text := func(s string) any { return map[string]any{"stringValue": s} }
	for key, want := range map[string]any{ // as in the log records of otel.logs
		"unmapped.chain": text(log.chain), "metadata.sequence": map[string]any{"intValue": "1"}, "metadata.uid": text(log.entries[0].Hash),
		"unmapped.previous": text(decision.NoHead.Hash), "actor.app_name": text("zed"), "api.operation": text("turn/start"), "message": text("<no>"),
		"time": map[string]any{"intValue": "1772357400123"}, "unmapped.verdict": text("deny"), "action": text("Denied"), "unmapped.fields": text("a"),
		"metadata.product.version": text("1.0"), "class_uid": map[string]any{"intValue": "6003"},
	} {
		if diff := cmp.Diff(want, got[key]); diff != "" {
			t.Errorf("%s: %s", key, diff)
		}
	}
	if first.Time != "1772357400123456000" || first.Severity != "WARN" || first.Event != "codex_bridge.decision" {
		t.Errorf("%+v", first)
	}
	if got, err := ship(t, log, e); err != nil || got.Acknowledged != 0 || len(r.records) != 2 {
		t.Errorf("again: %+v, %v, %d records", got, err, len(r.records))
	}
}

// Anything but a success without rejections is no acknowledgement.
func TestEndpointDoesNotAcknowledge(t *testing.T) {
	r, e := newReceiver(t)
	log := newLocalLog()
	log.add("one")
	for name, tt := range map[string]struct {
		status int
		body   string
		text   string
	}{
		"an error":             {500, "", "500"},
		"busy":                 {429, "", "429"},
		"no right":             {401, "{}", "401"},
		"rejected":             {200, `{"partialSuccess":{"rejectedLogRecords":"1","errorMessage":"too\nold"}}`, "rejected 1 of 1 logs: too old"},
		"rejected, a number":   {200, `{"partialSuccess":{"rejectedLogRecords":1}}`, "rejected 1 of 1 logs"},
		"a page":               {200, "<html>sign in</html>", "is not JSON"},
		"a redirect":           {302, "", "redirects"},
		"a redirect elsewhere": {307, "", "redirects"},
	} {
		r.answer = func(w http.ResponseWriter) bool {
			switch tt.status {
			case 302:
				w.Header().Set("Location", r.URL+"/other")
			case 307:
				w.Header().Set("Location", "http://127.0.0.1:1/v1/logs")
			}
			w.WriteHeader(tt.status)
			_, _ = io.WriteString(w, tt.body)
			return false
		}
		got, err := ship(t, log, e)
		if err == nil || !strings.Contains(err.Error(), tt.text) || got.Acknowledged != 0 || strings.Contains(err.Error(), "t0ken") {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for _, body := range []string{"", "{}", `{"partialSuccess":{}}`, `{"partialSuccess":{"rejectedLogRecords":"0","errorMessage":"a warning"}}`} {
		log.add("more")
		r.answer = func(w http.ResponseWriter) bool { _, _ = io.WriteString(w, body); return true }
		if got, err := ship(t, log, e); err != nil || got.Head.Seq != int64(len(log.entries)) {
			t.Errorf("%q: %+v, %v", body, got, err)
		}
	}
	if _, err := fleet.NewEndpoint("https://host/logs", nil, ""); err == nil {
		t.Error("an address without the path is accepted")
	}
	if e, err := fleet.NewEndpoint("https://ada:hunter2@host/v1/logs", nil, ""); err != nil || e.Location() != "https://host/v1/logs" {
		t.Error(e, err)
	}
}

// With random failures an endpoint gets each decision at least once, and in order without doubles.
func TestEndpointLosesNothing(t *testing.T) {
	r, e := newReceiver(t)
	rapid.Check(t, func(rt *rapid.T) {
		log := newLocalLog()
		r.records = nil
		for n := range rapid.IntRange(1, 10).Draw(rt, "steps") {
			for range rapid.IntRange(0, 3).Draw(rt, "decisions") {
				log.add(strconv.Itoa(n))
			}
			kind := rapid.IntRange(0, 3).Draw(rt, "answer")
			r.answer = func(w http.ResponseWriter) bool {
				switch kind {
				case 0:
					w.WriteHeader(http.StatusServiceUnavailable)
					return false
				case 1: // kept, and the acknowledgement is lost
					w.WriteHeader(http.StatusGatewayTimeout)
				}
				return true
			}
			_, _ = fleet.Ship(t.Context(), log, e, sender, false)
		}
		r.answer = func(http.ResponseWriter) bool { return true }
		if _, err := fleet.Ship(t.Context(), log, e, sender, false); err != nil {
			rt.Fatal(err)
		}
		got := r.unique(rt)
		if diff := cmp.Diff(entriesOf(map[string][]store.Sealed{log.chain: log.entries}), got); diff != "" {
			rt.Fatal(diff)
		}
	})
}
