package child_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"codex-bridge.example/bridge/child"
	"codex-bridge.example/rpc"
)

func start(t *testing.T, o child.ClientOptions, args ...string) *child.Client {
	t.Helper()
	o.Command = append([]string{os.Args[0], "serve"}, args...)
	o.Env = os.Environ()
	c, err := child.Connect(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

func hold(address string) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		panic(err)
	}
	_, _ = io.Copy(io.Discard, conn)
}

func TestCall(t *testing.T) {
	var stderr bytes.Buffer
	c := start(t, child.ClientOptions{Stderr: &stderr}, "talk")
	for _, want := range []string{`{"a":1}`, `[1,2]`, `"x"`} {
		got, err := c.Call(t.Context(), "echo", rawParams(want))
		if err != nil || string(got.Get("params").Raw()) != want {
			t.Errorf("%s, %v", got.Raw(), err)
		}
	}
	_, err := c.Call(t.Context(), "refuse", nil)
	var refused *rpc.Error
	if !errors.As(err, &refused) || refused.Code != rpc.CodeRefused || refused.Message != `not "allowed"` || string(refused.Data) != `{"rule":"x"}` {
		t.Errorf("%#v", err)
	}
	if _, err := c.Call(t.Context(), "echo", func() {}); err == nil || !strings.Contains(err.Error(), "echo") {
		t.Error(err)
	}
	if err := c.Close(t.Context()); err != nil || c.ExitCode() != 0 || stderr.String() != "end of input" {
		t.Error(err, c.ExitCode(), stderr.String())
	}
	if _, err := c.Call(t.Context(), "echo", nil); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Error(err)
	}
	if err := c.Notify(t.Context(), "echo", nil); err == nil {
		t.Error("a closed connection took a notification")
	}
}

func TestConcurrentCalls(t *testing.T) {
	c := start(t, child.ClientOptions{}, "talk")
	var calls sync.WaitGroup
	for i := range 200 {
		calls.Go(func() {
			got, err := c.Call(t.Context(), "echo", i)
			if err != nil || string(got.Get("params").Raw()) != strconv.Itoa(i) {
				t.Errorf("%d: %s, %v", i, got.Raw(), err)
			}
		})
	}
	calls.Wait()
}

// Notifications are handled in order, and before the response that follows them.
func TestOrder(t *testing.T) {
	var got []string
	c := start(t, child.ClientOptions{Handle: func(_ context.Context, m *child.Message) {
		got = append(got, string(m.Params.Raw()))
		if m.IsRequest() || m.Reply(nil) == nil {
			t.Error("a notification could be answered")
		}
	}}, "talk")
	if _, err := c.Call(t.Context(), "count", nil); err != nil {
		t.Fatal(err)
	}
	want := make([]string, 1000)
	for i := range want {
		want[i] = strconv.Itoa(i)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d: %q", len(got), got[:min(len(got), 20)])
	}
}

func TestInitialize(t *testing.T) {
	heard := make(chan string, 1)
	c := start(t, child.ClientOptions{Handle: func(_ context.Context, m *child.Message) { heard <- m.Method }}, "talk")
	got, err := c.Initialize(t.Context(), rawParams(`{"clientInfo":{}}`))
	if err != nil || string(got.Get("params").Raw()) != `{"clientInfo":{}}` {
		t.Fatal(string(got.Raw()), err)
	}
	if got := <-heard; got != "heard initialized" {
		t.Error(got)
	}
}

func TestServerRequest(t *testing.T) {
	for _, test := range []struct {
		name   string
		handle func(m *child.Message)
		want   string
	}{
		{"answered", func(m *child.Message) {
			if err := m.Reply(map[string]any{"decision": "accept"}); err != nil {
				t.Error(err)
			}
			if err := m.Refuse(io.EOF); !errors.Is(err, child.ErrAnswered) {
				t.Error(err)
			}
		}, `{"id":"1","result":{"decision":"accept"}}`},
		{"refused", func(m *child.Message) { _ = m.Refuse(rpc.Errorf(-1, "no")) }, `{"error":{"code":-1,"message":"no"},"id":"1"}`},
		{"left", func(*child.Message) {}, `{"error":{"code":-32601,"message":"question is not supported"},"id":"1"}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			heard := make(chan string, 3)
			c := start(t, child.ClientOptions{Handle: func(_ context.Context, m *child.Message) {
				heard <- m.Method
				if m.IsRequest() {
					test.handle(m)
				}
				if m.Method == "answered" {
					heard <- string(m.Params.Raw())
				}
			}}, "talk")
			if _, err := c.Call(t.Context(), "ask", rawParams(`{}`)); err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"before", "question", "answered", test.want} {
				if got := <-heard; got != want {
					t.Errorf("%s, want %s", got, want)
				}
			}
		})
	}
}

// A call without a response returns the reason.
func TestCallWithoutResponse(t *testing.T) {
	t.Run("server dies", func(t *testing.T) {
		c := start(t, child.ClientOptions{}, "talk")
		_, err := c.Call(t.Context(), "die", nil)
		if err == nil || err.Error() != "no answer to die: the app-server has ended, exit status 3" {
			t.Error(err)
		}
		<-c.Done()
		if c.Err() == nil {
			t.Error("no reason")
		}
	})
	t.Run("deadline", func(t *testing.T) {
		c := start(t, child.ClientOptions{}, "talk")
		late := errors.New("late")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(late)
		if _, err := c.Call(ctx, "silence", nil); !errors.Is(err, late) {
			t.Error(err)
		}
		if _, err := c.Call(t.Context(), "echo", 1); err != nil {
			t.Error("the connection did not outlive a call:", err)
		}
	})
	for how, want := range map[string]string{
		"garbage": "invalid message", "cut": "ended", "long": "too long", "greedy": "pending requests",
	} {
		t.Run(how, func(t *testing.T) {
			c := start(t, child.ClientOptions{MaxLine: 1 << 16, Handle: func(ctx context.Context, m *child.Message) {
				<-ctx.Done()
			}}, how)
			if _, err := c.Call(t.Context(), "silence", nil); err == nil || !strings.Contains(err.Error(), want) {
				t.Error(err)
			}
		})
	}
}

func TestStartWithoutProgram(t *testing.T) {
	for _, command := range [][]string{nil, {t.TempDir()}} {
		if _, err := child.Connect(t.Context(), child.ClientOptions{Command: command}); err == nil {
			t.Errorf("%q was started", command)
		}
	}
}

// Close, and the end of ctx, leave no process of a server that ignores both.
func TestCloseLeavesNoProcess(t *testing.T) {
	for _, how := range []string{"closed", "cancelled"} {
		t.Run(how, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ready := make(chan struct{}, 1)
			c, err := child.Connect(ctx, child.ClientOptions{
				Command: []string{os.Args[0], "serve", "deaf", l.Addr().String()}, Env: os.Environ(), Grace: time.Millisecond,
				Handle: func(context.Context, *child.Message) { ready <- struct{}{} },
			})
			if err != nil {
				t.Fatal(err)
			}
			<-ready
			conn, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if how == "cancelled" {
				cancel()
				<-c.Done()
			} else if err := c.Close(ctx); err != nil {
				t.Error(err)
			}
			if _, err := io.ReadAll(conn); err != nil && !strings.Contains(err.Error(), "reset") { // ends with the grandchild
				t.Error(err)
			}
			if err := c.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

type rawParams string

func (p rawParams) MarshalJSON() ([]byte, error) { return []byte(p), nil }
