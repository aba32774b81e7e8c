package server_test

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

	"codex-bridge/bridge/config"
	"codex-bridge/relay/tools/server"
)

// web is an MCP server at an address of this machine, seen through guards.
func web(t *testing.T, guards ...func(http.Handler) http.Handler) config.ToolServer {
	t.Helper()
	h := newWeb(t)
	for _, guard := range guards {
		h = guard(h)
	}
	return at(t, h)
}

func newWeb(t *testing.T) http.Handler {
	s := newMCP()
	t.Cleanup(func() {
		for session := range s.Sessions() { // those that nobody has ended
			session.Close()
		}
	})
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
}

func at(t *testing.T, h http.Handler) config.ToolServer {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return config.ToolServer{URL: s.URL + "/mcp", Protocol: "mcp"}
}

// guard lets a request through, or answers it.
func guard(deny func(w http.ResponseWriter, r *http.Request) bool) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !deny(w, r) {
				next.ServeHTTP(w, r)
			}
		})
	}
}

// asks tells whether a request asks for a method.
func asks(r *http.Request, method string) bool {
	text, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(text))
	return strings.Contains(string(text), `"method":"`+method+`"`)
}

func TestWeb(t *testing.T) {
	w := open(t, web(t))
	if got := w.names(); got != known {
		t.Error(got)
	}
	w.says("echo", "hi", "hi")
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() { w.says("echo", fmt.Sprint(i), fmt.Sprint(i)) })
	}
	all.Wait()
	if _, err := w.call(t.Context(), "learn", "zzz"); err != nil {
		t.Fatal(err)
	}
	w.until("offered", func() bool { return w.names() == known+" zzz" })
}

// A server that never answers when it is asked for messages of its own has none.
func TestWebWithoutStream(t *testing.T) {
	w := open(t, web(t, guard(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet {
			<-r.Context().Done()
			return true
		}
		return false
	})))
	w.says("echo", "hi", "hi")
}

// One that is closed while it waits for that ends at once.
func TestWebClosedMeanwhile(t *testing.T) {
	asked := make(chan struct{}, 9)
	w := open(t, web(t, guard(func(_ http.ResponseWriter, r *http.Request) bool {
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

// A newer server knows of no initialize.
func TestNewerMCP(t *testing.T) {
	own := newMCP()
	newer := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return own }, &mcp.StreamableHTTPOptions{Stateless: true})
	w := open(t, at(t, guard(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost || !asks(r, "initialize") {
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
	w.says("echo", "hi", "hi")
	if _, err := w.call(t.Context(), "learn", "zzz"); err != nil {
		t.Fatal(err)
	}
	w.until("offered", func() bool { return w.names() == known+" zzz" })
}

// A server that was started anew knows of no session; the call is repeated in a new one.
func TestWebForgets(t *testing.T) {
	var h atomic.Pointer[http.Handler]
	renew := func() {
		next := newWeb(t)
		h.Store(&next)
	}
	renew()
	w := open(t, at(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*h.Load()).ServeHTTP(w, r) })))
	w.says("echo", "one", "one")
	renew()
	w.says("echo", "two", "two")
	if got := w.Status(); got.Restarts != 1 {
		t.Errorf("%+v", got)
	}
}

func TestToken(t *testing.T) {
	wants := guard(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("Authorization") == "Bearer hunter2" {
			return false
		}
		w.WriteHeader(http.StatusUnauthorized)
		return true
	})
	c := web(t, wants)
	w := open(t, c)
	w.fails("echo", "x", "it wants a token: name the variable that holds it in bearer_token_env")

	c.BearerTokenEnv = "THE_TOKEN"
	lookup := func(value string) func(o *server.Options) {
		return func(o *server.Options) {
			o.Lookup = func(name string) (string, bool) { return value, name == "THE_TOKEN" && value != "" }
		}
	}
	open(t, c, lookup("hunter2\n")).says("echo", "x", "x")
	open(t, c, lookup("")).fails("echo", "x", "the variable THE_TOKEN, which tool_servers.test.bearer_token_env names, is not set")
	open(t, c, lookup("hunter3")).fails("echo", "x", "Unauthorized")
}

// A token, and what else is sent, goes to the address of the configuration alone.
func TestRedirect(t *testing.T) {
	var elsewhere atomic.Int32
	other := at(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	c := at(t, http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	c.BearerTokenEnv = "THE_TOKEN"
	w := open(t, c, func(o *server.Options) { o.Lookup = func(string) (string, bool) { return "hunter2", true } })
	w.fails("echo", "x", "it is redirected to http://127.0.0.1:", "where it is not followed")
	if elsewhere.Load() != 0 {
		t.Error("it was followed")
	}

	inside := newWeb(t)
	mux := http.NewServeMux()
	mux.Handle("/mcp", http.RedirectHandler("/other", http.StatusTemporaryRedirect))
	mux.Handle("/other", inside)
	open(t, at(t, mux)).says("echo", "x", "x")
	round := http.NewServeMux()
	round.Handle("/", http.RedirectHandler("/mcp", http.StatusTemporaryRedirect))
	open(t, at(t, round)).fails("echo", "x", "it is redirected more than 3 times")
}

// What is wrong is told without what is secret in the address.
func TestWebNotThere(t *testing.T) {
	for _, url := range []string{"http://user:hunter2@127.0.0.1:1/mcp?key=hunter2", "http://127.0.0.1:1/mcp?key=hunter2"} {
		w := open(t, config.ToolServer{URL: url, Protocol: "mcp"})
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

func TestWebMuch(t *testing.T) {
	w := open(t, web(t, guard(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost || !asks(r, "tools/call") {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"a":"`)
		for range 65 {
			w.Write(bytes.Repeat([]byte("x"), 1<<20))
		}
		return true
	})))
	w.fails("echo", "x", "it sent a message that is too long")
}
