package main_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// This test program is also the Codex: it responds to each request with the request. After a
// message with "now" it sends a request itself.
const asCodex = "PEERS_TEST_CODEX"

var program string

func TestMain(m *testing.M) {
	if os.Getenv(asCodex) != "" {
		codex()
		return
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "peers-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "peers")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return 1
	}
	return m.Run()
}

func codex() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 8<<20)
	for lines.Scan() {
		line := lines.Text()
		var said struct {
			ID     json.RawMessage
			Method string
			Params json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &said); err != nil || strings.Contains(line, `"jsonrpc"`) {
			fmt.Fprintf(os.Stderr, "codex is told %q: %v\n", line, err)
			os.Exit(1)
		}
		switch {
		case said.Method == "":
			fmt.Printf(`{"method":"answered","params":%s,"emittedAtMs":1795219046291}`+"\n", line)
		case said.ID == nil:
			fmt.Printf(`{"method":"heard","params":{"method":%q,"params":%s},"emittedAtMs":1795219046291}`+"\n", said.Method, orNull(said.Params))
		case said.Method == "ask":
			fmt.Printf(`{"id":7,"method":"question","params":%s}`+"\n", said.Params)
			fallthrough
		default:
			fmt.Printf(`{"id":%s,"result":{"you":%q,"said":%s}}`+"\n", said.ID, said.Method, orNull(said.Params))
		}
	}
}

func orNull(raw json.RawMessage) string {
	if raw == nil {
		return "null"
	}
	return string(raw)
}

// TestPeers checks that each peer forwards a conversation, because the benchmark must measure
// working programs.
func TestPeers(t *testing.T) {
	long := `{"text":"` + strings.Repeat("long ", 1<<20) + `"}`
	// Codex sends the last member, and not all peers keep it.
	for _, peer := range []string{"copy", "json", "jsonrpc2", "jrpc2"} {
		t.Run(peer, func(t *testing.T) {
			cmd := exec.Command(program, peer, os.Args[0])
			cmd.Env = append(os.Environ(), asCodex+"=1")
			cmd.Stderr = os.Stderr
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			answers := bufio.NewReader(out)
			for _, step := range []struct{ say, hear string }{
				{`{"id":1,"method":"initialize","params":{"a":1}}`, `{"id":1,"result":{"you":"initialize","said":{"a":1}}}`},
				{`{"method":"initialized"}`, `{"method":"heard","params":{"method":"initialized","params":null}}`},
				{`{"method":"note","params":{"text":"\"jsonrpc\":\"2.0\","}}`, `{"method":"heard","params":{"method":"note","params":{"text":"\"jsonrpc\":\"2.0\","}}}`},
				{`{"id":2,"method":"long","params":` + long + `}`, `{"id":2,"result":{"you":"long","said":` + long + `}}`},
			} {
				if _, err := io.WriteString(in, step.say+"\n"); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(message(t, step.hear), next(t, answers)); diff != "" {
					t.Fatalf("%.80s (-want +got):\n%s", step.say, diff)
				}
			}

			// Codex sends its request before its response; the two may arrive in either order.
			if _, err := io.WriteString(in, `{"id":3,"method":"ask","params":{"what":"x"}}`+"\n"); err != nil {
				t.Fatal(err)
			}
			var asked, answered map[string]any
			for range 2 {
				if m := next(t, answers); m["method"] != nil {
					asked = m
				} else {
					answered = m
				}
			}
			if diff := cmp.Diff(message(t, `{"id":3,"result":{"you":"ask","said":{"what":"x"}}}`), answered); diff != "" {
				t.Fatalf("the response (-want +got):\n%s", diff)
			}
			if asked["method"] != "question" || asked["id"] == nil {
				t.Fatalf("Codex's request arrived as %v", asked)
			}
			reply, err := json.Marshal(map[string]any{"id": asked["id"], "result": map[string]any{"yes": true}})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := in.Write(append(reply, '\n')); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(message(t, `{"method":"answered","params":{"id":7,"result":{"yes":true}}}`), next(t, answers)); diff != "" {
				t.Fatalf("the response to Codex (-want +got):\n%s", diff)
			}

			if err := in.Close(); err != nil {
				t.Fatal(err)
			}
			if rest, err := io.ReadAll(answers); err != nil || len(rest) > 0 {
				t.Errorf("after the end: %q, %v", rest, err)
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("the peer exited with %v", err)
			}
		})
	}
}

func next(t *testing.T, from *bufio.Reader) map[string]any {
	t.Helper()
	line, err := from.ReadString('\n')
	if err != nil {
		t.Fatalf("no line received: %v", err)
	}
	if strings.HasPrefix(line, `{"jsonrpc"`) {
		t.Errorf("the client received the version: %.80s", line)
	}
	m := message(t, line)
	delete(m, "emittedAtMs")
	return m
}

func message(t *testing.T, line string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		t.Fatalf("%.80q: %v", line, err)
	}
	return m
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{nil, {"json"}, {"nobody", "true"}} {
		out, err := exec.Command(program, args...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "usage") {
			t.Errorf("peers %q: %v, %s", args, err, out)
		}
	}
}
