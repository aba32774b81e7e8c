package provider_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/relay/tools/provider"
)

// web is an MCP server at a local address, behind guards.
func httpTransport(t *testing.T, guards ...func(http.Handler) http.Handler) config.ToolServer {
	t.Helper()
	h := newWeb(t)
	for _, guard := range guards {
		h = guard(h)
	}
	return serverAt(t, h)
}

func newWeb(t *testing.T) http.Handler {
	s := newMCP()
	t.Cleanup(func() {
		for session := range s.Sessions() { // sessions that no client has ended
			session.Close()
		}
	})
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
}

func serverAt(t *testing.T, h http.Handler) config.ToolServer {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return config.ToolServer{URL: s.URL + "/mcp", Protocol: "mcp"}
}

// guard answers a request or lets it through.
func guard(deny func(w http.ResponseWriter, r *http.Request) bool) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !deny(w, r) {
				next.ServeHTTP(w, r)
			}
		})
	}
}

// isMethod reports whether a request has a method.
func isMethod(r *http.Request, method string) bool {
	text, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(text))
	return strings.Contains(string(text), `"method":"`+method+`"`)
}

func TestHTTPServer(t *testing.T) {
	w := newFixture(t, httpTransport(t))
	if got := w.names(); got != known {
		t.Error(got)
	}
	w.checkText("echo", "hi", "hi")
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() { w.checkText("echo", fmt.Sprint(i), fmt.Sprint(i)) })
	}
	all.Wait()
	if _, err := w.call(t.Context(), "learn", "zzz"); err != nil {
		t.Fatal(err)
	}
	w.waitUntil("offered", func() bool { return w.names() == known+" zzz" })
}

// A server that never opens the stream of its messages has none.
func TestHTTPServerWithoutStream(t *testing.T) {
	w := newFixture(t, httpTransport(t, guard(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet {
			<-r.Context().Done()
			return true
		}
		return false
	})))
	w.checkText("echo", "hi", "hi")
}

// Close ends a server that waits for that stream.
func TestCloseWhileWaitingForStream(t *testing.T) {
	asked := make(chan struct{}, 9)
	w := newFixture(t, httpTransport(t, guard(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet {
			asked <- struct{}{}
			<-r.Context().Done()
			return true
		}
		return false
	})))
	w.Start()
	<-asked
	w.Close(t.Context())
}

// A newer server has no initialize.
func TestServerWithoutInitialize(t *testing.T) {
	own := newMCP()
	newer := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return own }, &mcp.StreamableHTTPOptions{Stateless: true})
	w := newFixture(t, serverAt(t, guard(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost || !isMethod(r, "initialize") {
			return false
		}
		var request struct{ ID int }
		json.NewDecoder(r.Body).Decode(&request)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%d,"error":{"code":-32601,"message":"method not found"}}`, request.ID)
		return true
	})(newer)))
	if got := w.names(); got != known {
		t.Error(got, w.Status())
	}
	w.checkText("echo", "hi", "hi")
	if _, err := w.call(t.Context(), "learn", "zzz"); err != nil {
		t.Fatal(err)
	}
	w.waitUntil("offered", func() bool { return w.names() == known+" zzz" })
}

// A restarted server does not know the session; the call is repeated in a new one.
func TestCallIsRepeatedAfterLostSession(t *testing.T) {
	var h atomic.Pointer[http.Handler]
	renew := func() {
		next := newWeb(t)
		h.Store(&next)
	}
	renew()
	w := newFixture(t, serverAt(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*h.Load()).ServeHTTP(w, r) })))
	w.checkText("echo", "one", "one")
	renew()
	w.checkText("echo", "two", "two")
	if got := w.Status(); got.Restarts != 1 {
		t.Errorf("%+v", got)
	}
}

func TestBearerToken(t *testing.T) {
	wants := guard(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("Authorization") == "Bearer hunter2" {
			return false
		}
		w.WriteHeader(http.StatusUnauthorized)
		return true
	})
	c := httpTransport(t, wants)
	w := newFixture(t, c)
	w.checkError("echo", "x", "it requires a token; set bearer_token_env to the variable that has it")

	c.BearerTokenEnv = "THE_TOKEN"
	lookup := func(value string) func(o *provider.ServerOptions) {
		return func(o *provider.ServerOptions) {
			o.LookupEnv = func(name string) (string, bool) { return value, name == "THE_TOKEN" && value != "" }
		}
	}
	newFixture(t, c, lookup("hunter2\n")).checkText("echo", "x", "x")
	newFixture(t, c, lookup("")).checkError("echo", "x", "the variable THE_TOKEN, which tool_servers.test.bearer_token_env names, is not set")
	newFixture(t, c, lookup("hunter3")).checkError("echo", "x", "Unauthorized")
}

// The token goes only to the configured host.
func TestTokenIsNotSentToOtherHosts(t *testing.T) {
	var elsewhere atomic.Int32
	other := serverAt(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	c := serverAt(t, http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	c.BearerTokenEnv = "THE_TOKEN"
	w := newFixture(t, c, func(o *provider.ServerOptions) { o.LookupEnv = func(string) (string, bool) { return "hunter2", true } })
	w.checkError("echo", "x", "it redirects to http://127.0.0.1:", "which is not followed")
	if elsewhere.Load() != 0 {
		t.Error("it was followed")
	}

	inside := newWeb(t)
	mux := http.NewServeMux()
	mux.Handle("/mcp", http.RedirectHandler("/other", http.StatusTemporaryRedirect))
	mux.Handle("/other", inside)
	newFixture(t, serverAt(t, mux)).checkText("echo", "x", "x")
	round := http.NewServeMux()
	round.Handle("/", http.RedirectHandler("/mcp", http.StatusTemporaryRedirect))
	newFixture(t, serverAt(t, round)).checkError("echo", "x", "it redirects more than 3 times")
}

// Errors do not show the secrets of the URL.
func TestErrorsShowNoSecretsOfTheURL(t *testing.T) {
	for _, url := range []string{"http://user:hunter2@127.0.0.1:1/mcp?key=hunter2", "http://127.0.0.1:1/mcp?key=hunter2"} {
		w := newFixture(t, config.ToolServer{URL: url, Protocol: "mcp"})
		_, err := w.call(t.Context(), "echo", "")
		if err == nil {
			t.Fatal("it is there")
		}
		contains(t, err.Error(), "http://127.0.0.1:1/mcp", "refused")
		if text := err.Error() + w.Status().Error; strings.Contains(text, "hunter2") {
			t.Error(text)
		}
	}
}

func TestHTTPMessageTooLong(t *testing.T) {
	w := newFixture(t, httpTransport(t, guard(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost || !isMethod(r, "tools/call") {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"a":"`)
		for range 65 {
			w.Write(bytes.Repeat([]byte("x"), 1<<20))
		}
		return true
	})))
	w.checkError("echo", "x", "it sent a message that is too long")
}
