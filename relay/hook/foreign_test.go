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

	"codex-bridge.example/relay/hook"
)

// impersonateBridge serves at a bridge's socket in place of the bridge, with all files
// unchanged.
func impersonateBridge(t *testing.T, serve func(net.Conn)) (socket string) {
	t.Helper()
	s := listen(t, hook.Options{})
	l := listenInPlace(t, s)
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

// Any reply of another process is a denial: an empty answer would let the tool run.
func TestRepliesOfOtherProcessesAreDenials(t *testing.T) {
	for name, say := range map[string]string{
		"nothing":                "",
		"empty line":             "\n",
		"garbage":                "what?\n",
		"http":                   "HTTP/1.1 400 Bad Request\r\n\r\n",
		"half":                   `{"jsonrpc":"2.0","id":1,"result":{"token":"`,
		"null":                   `{"jsonrpc":"2.0","id":1,"result":null}` + "\n",
		"no opinion":             `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n",
		"an answer":              `{"jsonrpc":"2.0","id":1,"result":{"decision":"allow"}}` + "\n",
		"an answer, no token":    `{"jsonrpc":"2.0","id":1,"result":{"output":""}}` + "\n",
		"an answer, empty token": `{"jsonrpc":"2.0","id":1,"result":{"token":"","output":""}}` + "\n",
		"an answer, wrong token": `{"jsonrpc":"2.0","id":1,"result":{"token":"x","output":""}}` + "\n",
		"the token back":         `{"jsonrpc":"2.0","id":1,"result":{"token":"TOKEN","output":""}}` + "\n",
		"no JSON-RPC":            `{"id":1,"result":{}}` + "\n",
		"an array":               `[]` + "\n",
		"text":                   `{"jsonrpc":"2.0","id":1,"result":"allow"}` + "\n",
		"an error":               `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no"}}` + "\n",
		"somebody else's answer": `{"jsonrpc":"2.0","id":7,"result":{}}` + "\n",
		"a question":             `{"jsonrpc":"2.0","id":1,"method":"hook"}` + "\n",
		"without end":            strings.Repeat(" ", 8<<20),
	} {
		t.Run(name, func(t *testing.T) {
			socket := impersonateBridge(t, func(conn net.Conn) {
				line, _ := bufio.NewReader(conn).ReadBytes('\n')
				var q struct {
					Params struct{ Token string }
				}
				_ = json.Unmarshal(line, &q)
				_, _ = io.WriteString(conn, strings.ReplaceAll(say, "TOKEN", q.Params.Token))
			})
			for _, e := range hook.Events() {
				checkFailure(t, e, ask(t, socket, e, longTimeout), socket)
			}
		})
	}
}

// A reply with the right token in another form, as of another version, is a denial.
func TestOtherFormsOfTheBridgesReplyAreDenials(t *testing.T) {
	for name, result := range map[string]string{
		"no output": `"token":"TOKEN"`, "null": `"token":"TOKEN","output":null`, "an answer": `"token":"TOKEN","answer":{}`,
		"no base64": `"token":"TOKEN","output":"{}"`, "half of base64": `"token":"TOKEN","output":"e30"`,
		"line breaks": `"token":"TOKEN","output":"e3\n0="`, "another order": `"output":"","token":"TOKEN"`,
		"another member": `"token":"TOKEN","output":"","more":1`, "twice": `"token":"TOKEN","output":"","output":"e30="`,
	} {
		t.Run(name, func(t *testing.T) {
			var token string
			socket := impersonateBridge(t, func(conn net.Conn) {
				_, _ = bufio.NewReader(conn).ReadBytes('\n')
				_, _ = io.WriteString(conn, `{"jsonrpc":"2.0","id":1,"result":{`+strings.ReplaceAll(result, "TOKEN", token)+"}}\n")
			})
			text, err := os.ReadFile(filepath.Join(filepath.Dir(socket), hook.TokenName))
			if err != nil {
				t.Fatal(err)
			}
			token = strings.Split(string(text), "\n")[1]
			for _, e := range []hook.Event{hook.PreToolUse, hook.PermissionRequest} {
				checkFailure(t, e, ask(t, socket, e, longTimeout, "--on-failure", "allow"), "another version")
			}
		})
	}
}

// One listener accepts connections and sends nothing; another does not even accept them.
func TestSilentListenerIsADenial(t *testing.T) {
	socket := impersonateBridge(t, func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) })
	for e, o := range askAll(t, socket, shortTimeout) {
		checkFailure(t, e, o, "no answer")
	}
	s := listen(t, hook.Options{})
	defer listenInPlace(t, s).Close()
	for e, o := range askAll(t, s.Socket(), shortTimeout) {
		checkFailure(t, e, o, "no answer")
	}
}

// The socket of one bridge does not work with the token of another bridge of the same user.
func TestSocketOfAnotherBridgeIsADenial(t *testing.T) {
	a, b := listen(t, hook.Options{}), listen(t, hook.Options{})
	if err := os.Rename(b.Socket(), a.Socket()); err != nil {
		t.Fatal(err)
	}
	for _, e := range hook.Events() {
		checkFailure(t, e, ask(t, a.Socket(), e, longTimeout, "--on-failure", "allow"), "the token is not that of this bridge")
	}
}
