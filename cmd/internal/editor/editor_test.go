package editor_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"codex-bridge.example/cmd/internal/editor"
)

// This test binary is also the server.
const serverEnv = "EDITOR_TEST_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(serverEnv) != "" {
		os.Exit(serve())
	}
	goleak.VerifyTestMain(m)
}

// serve responds to initialize. On "ask" it asks the client and responds with the answer, on
// "nonsense" it writes invalid lines, on "exit" it exits; it ignores other messages.
func serve() int {
	in := bufio.NewScanner(os.Stdin)
	var asked json.RawMessage
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Result json.RawMessage
			Error  json.RawMessage
		}
		if json.Unmarshal(in.Bytes(), &m) != nil {
			continue
		}
		switch m.Method {
		case "initialize":
			fmt.Printf(`{"id":%s,"result":{"userAgent":"x"}}`+"\n", m.ID)
		case "initialized":
			fmt.Println(`{"method":"ready","params":{"a":{"b":"c"}}}`)
		case "ask":
			asked = m.ID
			fmt.Println(`{"id":0,"method":"question","params":{}}`)
		case "nonsense":
			fmt.Println("nonsense")
			fmt.Println("null")
			fmt.Println(`{"id":null,"error":{"code":-32700,"message":"what?"}}`)
		case "fail":
			fmt.Printf(`{"id":%s,"error":{"code":-32600,"message":"no"}}`+"\n", m.ID)
		case "exit":
			fmt.Fprint(os.Stderr, "bye")
			fmt.Print(`{"method":"last line"}`)
			return 3
		case "":
			fmt.Printf(`{"id":%s,"result":[%s]}`+"\n", asked, bytes.Join([][]byte{m.Result, m.Error}, nil))
		}
	}
	return 0
}

func start(t *testing.T, o editor.Options) *editor.Editor {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o.Argv, o.Env = []string{self}, append(os.Environ(), serverEnv+"=1")
	e, err := editor.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close(10 * time.Second) })
	return e
}

func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestConversation(t *testing.T) {
	ctx := deadline(t)
	var observed []string
	e := start(t, editor.Options{
		Answer: func(_ context.Context, m editor.Message) (any, *editor.Error) {
			return "answer to " + m.Method, nil
		},
		Observe: func(m editor.Message) { observed = append(observed, string(m.Raw)) },
	})
	if _, err := e.Initialize(ctx, nil); err != nil {
		t.Fatal(err)
	}
	m, err := e.WaitFor(ctx, 0, "ready")
	if err != nil || m.Param("a", "b") != "c" {
		t.Errorf("ready: %v %s", err, m.Raw)
	}
	result, rpcErr := e.CallID(ctx, "x", "ask", nil)
	if rpcErr != nil || string(result) != `["answer to question"]` {
		t.Errorf("ask: %s %v", result, rpcErr)
	}
	if _, rpcErr := e.Call(ctx, "fail", nil); rpcErr == nil || rpcErr.Code != -32600 {
		t.Errorf("fail: %v", rpcErr)
	}
	e.Notify("nonsense", nil)
	m, err = e.Wait(ctx, m.Index, func(m editor.Message) bool { return m.IsAnswer() && m.ID == nil })
	if err != nil || m.Error.Code != -32700 {
		t.Errorf("error response without an id: %v", err)
	}
	if ms := e.Messages()[m.Index-2:]; !ms[0].Bad || !ms[1].Bad || ms[0].IsAnswer() {
		t.Errorf("invalid lines counted as messages: %+v", ms)
	}
	if exit := e.Close(time.Minute); exit != (editor.Exit{}) {
		t.Errorf("Close: %v", exit)
	}
	var got []string
	for _, m := range e.Messages() {
		got = append(got, string(m.Raw))
	}
	want := []string{
		`{"id":0,"method":"initialize","params":{"capabilities":{"experimentalApi":true},"clientInfo":{"name":"scripted-editor","title":"Scripted editor","version":"0.0.0"}}}`,
		`{"id":0,"result":{"userAgent":"x"}}`,
		`{"method":"initialized"}`,
		`{"method":"ready","params":{"a":{"b":"c"}}}`,
		`{"id":"x","method":"ask"}`,
		`{"id":0,"method":"question","params":{}}`,
		`{"id":0,"result":"answer to question"}`,
		`{"id":"x","result":["answer to question"]}`,
		`{"id":1,"method":"fail"}`,
		`{"id":1,"error":{"code":-32600,"message":"no"}}`,
		`{"method":"nonsense"}`,
		`nonsense`, `null`, `{"id":null,"error":{"code":-32700,"message":"what?"}}`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") || strings.Join(observed, "\n") != strings.Join(want, "\n") {
		t.Errorf("kept\n%s\nobserved\n%s", strings.Join(got, "\n"), strings.Join(observed, "\n"))
	}
}

func TestCallerReplies(t *testing.T) {
	ctx := deadline(t)
	e := start(t, editor.Options{})
	done := make(chan string, 1)
	go func() {
		result, _ := e.Call(ctx, "ask", nil)
		done <- string(result)
	}()
	m, err := e.WaitFor(ctx, 0, "question")
	if err != nil {
		t.Fatal(err)
	}
	if err := e.ReplyError(m, &editor.Error{Code: -32601, Message: "no"}); err != nil {
		t.Error(err)
	}
	if got := <-done; got != `[{"code":-32601,"message":"no"}]` {
		t.Errorf("got %s", got)
	}
}

func TestExitStatus(t *testing.T) {
	ctx := deadline(t)

	e := start(t, editor.Options{})
	if _, err := e.Call(ctx, "exit", nil); !errors.Is(err, editor.ErrClosed) {
		t.Errorf("exit: %v", err)
	}
	exit, err := e.Exit(ctx)
	if err != nil || exit.Code != 3 || exit.Signal != 0 || e.Stderr() != "bye" {
		t.Errorf("exit: %v %v, stderr %q", exit, err, e.Stderr())
	}
	if _, err := e.WaitFor(ctx, 0, "last line"); err != nil {
		t.Errorf("a last line with no newline: %v", err)
	}

	e = start(t, editor.Options{})
	e.Process.Signal(syscall.SIGTERM)
	if exit, err := e.Exit(ctx); err != nil || exit.Signal != syscall.SIGTERM {
		t.Errorf("SIGTERM: %v %v", exit, err)
	}

	e = start(t, editor.Options{})
	short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	if _, err := e.Call(short, "silence", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("silence: %v", err)
	}
	e.CloseInput()
	if exit, err := e.Exit(ctx); err != nil || exit != (editor.Exit{}) {
		t.Errorf("end of input: %v %v", exit, err)
	}
}

// Close kills a server that does not exit, and ends an Answer that does not return.
func TestCloseKills(t *testing.T) {
	ctx := deadline(t)
	e, err := editor.Start(editor.Options{
		Argv: []string{"sh", "-c", `echo '{"id":0,"method":"question"}'; exec sleep 3600`},
		Answer: func(ctx context.Context, _ editor.Message) (any, *editor.Error) {
			<-ctx.Done()
			return nil, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.WaitFor(ctx, 0, "question"); err != nil {
		t.Error(err)
	}
	if exit := e.Close(10 * time.Millisecond); exit.Signal != syscall.SIGKILL || exit.Code != -1 {
		t.Errorf("Close: %v", exit)
	}
	if last := e.Messages()[e.Mark()-1]; last.Sent {
		t.Errorf("response after Close: %s", last.Raw)
	}
}

func TestStartFails(t *testing.T) {
	for _, argv := range [][]string{nil, {"/nonexistent/codex"}} {
		if _, err := editor.Start(editor.Options{Argv: argv}); err == nil {
			t.Errorf("Start(%q) succeeded", argv)
		}
	}
}
