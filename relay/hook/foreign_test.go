//go:build unix

package hook_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge/relay/hook"
)

// foreign puts somebody else in the place of a bridge, with all the files as they were.
func foreign(t *testing.T, serve func(net.Conn)) (socket string) {
	t.Helper()
	s := listen(t, hook.Options{})
	if err := os.Remove(s.Socket()); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", s.Socket())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(s.Socket(), 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serve(conn)
			conn.Close()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	return s.Socket()
}

// Whatever somebody else says, it is a denial: an empty answer would let the tool run.
func TestForeignAnswers(t *testing.T) {
	for name, say := range map[string]string{
		"nothing":                "",
		"empty line":             "\n",
		"garbage":                "what?\n",
		"http":                   "HTTP/1.1 400 Bad Request\r\n\r\n",
		"half":                   `{"jsonrpc":"2.0","id":1,"result":{"token":"`,
		"null":                   `{"jsonrpc":"2.0","id":1,"result":null}` + "\n",
		"no opinion":             `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n",
		"an answer":              `{"jsonrpc":"2.0","id":1,"result":{"decision":"allow"}}` + "\n",
		"an answer, no token":    `{"jsonrpc":"2.0","id":1,"result":{"answer":{"decision":"allow"}}}` + "\n",
		"an answer, empty token": `{"jsonrpc":"2.0","id":1,"result":{"token":"","answer":{}}}` + "\n",
		"an answer, wrong token": `{"jsonrpc":"2.0","id":1,"result":{"token":"x","answer":{}}}` + "\n",
		"the token back":         `{"jsonrpc":"2.0","id":1,"result":{"token":"TOKEN","answer":{}}}` + "\n",
		"no JSON-RPC":            `{"id":1,"result":{}}` + "\n",
		"an array":               `[]` + "\n",
		"text":                   `{"jsonrpc":"2.0","id":1,"result":"allow"}` + "\n",
		"an error":               `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no"}}` + "\n",
		"somebody else's answer": `{"jsonrpc":"2.0","id":7,"result":{}}` + "\n",
		"a question":             `{"jsonrpc":"2.0","id":1,"method":"hook"}` + "\n",
		"without end":            strings.Repeat(" ", 8<<20),
	} {
		t.Run(name, func(t *testing.T) {
			socket := foreign(t, func(conn net.Conn) {
				line, _ := bufio.NewReader(conn).ReadBytes('\n')
				var q struct {
					Params struct{ Token string }
				}
				_ = json.Unmarshal(line, &q)
				_, _ = io.WriteString(conn, strings.ReplaceAll(say, "TOKEN", q.Params.Token))
			})
			for _, e := range hook.Events {
				failed(t, e, ask(t, socket, e, plenty), socket)
			}
		})
	}
}

// What knows the token is still held to what Codex takes.
func TestForeignVersion(t *testing.T) {
	for name, answer := range map[string]string{
		"unknown decision": `{"decision":"ask"}`, "other event's": `{"decision":"revise","reason":"x"}`, "null": `null`,
		"unknown member": `{"decision":"","verdict":"deny"}`, "no object": `"deny"`, "input": `{"input":[]}`,
	} {
		t.Run(name, func(t *testing.T) {
			var word string
			socket := foreign(t, func(conn net.Conn) {
				_, _ = bufio.NewReader(conn).ReadBytes('\n')
				_, _ = io.WriteString(conn, `{"jsonrpc":"2.0","id":1,"result":{"token":"`+word+`","answer":`+answer+"}}\n")
			})
			text, err := os.ReadFile(filepath.Join(filepath.Dir(socket), hook.TokenName))
			if err != nil {
				t.Fatal(err)
			}
			word = strings.Split(string(text), "\n")[1]
			for _, e := range []hook.Event{hook.PreToolUse, hook.PermissionRequest} {
				failed(t, e, ask(t, socket, e, plenty, "--on-failure", "allow"), "another version")
			}
		})
	}
}

// One that takes connections and is silent, and one that does not even take them.
func TestForeignSilent(t *testing.T) {
	socket := foreign(t, func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) })
	for e, o := range askAll(t, socket, brief) {
		failed(t, e, o, "no answer")
	}
	s := listen(t, hook.Options{})
	if err := os.Remove(s.Socket()); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", s.Socket())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.Chmod(s.Socket(), 0o600); err != nil {
		t.Fatal(err)
	}
	for e, o := range askAll(t, s.Socket(), brief) {
		failed(t, e, o, "no answer")
	}
}

// Two bridges of the same user: the socket of one with the token of the other.
func TestForeignToken(t *testing.T) {
	a, b := listen(t, hook.Options{}), listen(t, hook.Options{})
	if err := os.Rename(b.Socket(), a.Socket()); err != nil {
		t.Fatal(err)
	}
	for _, e := range hook.Events {
		failed(t, e, ask(t, a.Socket(), e, plenty, "--on-failure", "allow"), "the token is not that of this bridge")
	}
}
