//go:build linux

package e2e_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"codex-bridge.example/bridge/codex"
)

// socketEnv makes the test program a client of a server: it has the address, for ws:// followed by a space
// and the token. Lines of stdin are messages to it, and its messages are lines of stdout.
const socketEnv = "CODEX_BRIDGE_E2E_SOCKET"

func connectTo(address string) int {
	ctx := context.Background()
	url, token, _ := strings.Cut(address, " ")
	o := &websocket.DialOptions{HTTPHeader: http.Header{}}
	if path, ok := strings.CutPrefix(url, "unix://"); ok {
		url = "ws://localhost/rpc"
		o.HTTPClient = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}}}
	} else {
		o.HTTPHeader.Set("Authorization", "Bearer "+token)
	}
	ws, _, err := websocket.Dial(ctx, url, o) //nolint:bodyclose // see its documentation
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	stream := codex.NewWebSocket(ws, codex.WebSocketOptions{})
	go func() { // ends with the process
		_, _ = io.Copy(stream, os.Stdin)
		stream.Close()
	}()
	_, _ = io.Copy(os.Stdout, stream)
	return 0
}

// serve starts codex-bridge serve, and returns the command line of a client for each of its addresses.
func (w *world) serve(listen ...string) (clients [][]string) {
	w.t.Helper()
	cmd := exec.Command(proxyPath, "serve")
	for _, address := range listen {
		cmd.Args = append(cmd.Args, "--listen", address)
	}
	cmd.Env, cmd.Dir, cmd.Stderr = w.env, w.workspace, os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			w.t.Error(err)
		}
	})
	self, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for range listen {
		if !lines.Scan() {
			w.t.Fatal("codex-bridge serve does not listen")
		}
		address := strings.TrimPrefix(lines.Text(), "listening on ")
		if strings.HasPrefix(address, "ws:") {
			address += " " + strings.TrimSpace(w.read("s/token"))
		}
		clients = append(clients, []string{"/usr/bin/env", socketEnv + "=" + address, self})
	}
	return clients
}

// No attack has an effect on a shared Codex either, whichever way the client connects.
func TestAttacksThroughServe(t *testing.T) {
	t.Parallel()
	needsLinux(t, "codex-bridge serve listens on a socket")
	all := allAttacks()
	for group, names := range attacksByWorld(func(a attack) bool { return a.codexConfig != "" }) {
		t.Run(group, func(t *testing.T) {
			t.Parallel()
			for i, way := range []string{"joined", "unix", "ws"} {
				if i > 0 && os.Getenv(wideEnv) == "" {
					continue
				}
				wayOut := listen(t)
				o := options{config: policyConfig, env: proxyEnv(wayOut), codex: codexPath, mute: "the clients of one Codex have no noise"}
				if way == "joined" {
					o.config += "[serve]\nmode = \"require\"\nidle = \"1s\"\n"
				}
				w := newAttackWorld(t, all[names[0]], o)
				argv := proxyArgv
				switch way {
				case "unix":
					argv = w.serve("unix://" + w.root + "/s/s")[0]
				case "ws":
					w.write("config.toml", w.read("config.toml")+"[serve]\ntoken_file = \""+w.root+"/s/token\"\n")
					argv = w.serve("ws://127.0.0.1:0")[0]
				}
				w.attackInVain(names, wayOut, argv...)
			}
		})
	}
}

// connectScript connects to a server as a client, and writes the first answer, or why there is none, to a file.
const connectScript = `mkfifo input
env '` + socketEnv + `=%s' '%s' < input > "$1" 2>&1 &
exec 3> input
echo '{"id":1,"method":"initialize","params":{"clientInfo":{"name":"command","version":"1"}}}' >&3
until [ -s "$1" ]; do sleep 0.05; done
exec 3>&-
rm input
`

// A command in the sandbox that has network and the token is no client of codex-bridge serve. The same command
// outside the sandbox is one.
func TestSandboxedCommandIsNoClient(t *testing.T) {
	t.Parallel()
	needsLinux(t, "elsewhere ws:// is not served where commands have network")
	w := newWorld(t, options{config: strings.Replace(escalationConfig, "[policy]", "[policy]\nnetwork = true", 1)})
	w.write("config.toml", strings.Replace(w.read("config.toml"), "[policy]", "[serve]\ntoken_file = \""+w.root+"/s/token\"\n[policy]", 1))
	client := w.serve("ws://127.0.0.1:0")[0]
	address := strings.TrimPrefix(client[1], socketEnv+"=")
	script := w.write("workspace/connect.sh", fmt.Sprintf(connectScript, address, client[2]))
	outside := exec.Command("sh", script, "outside")
	outside.Dir, outside.Env = w.workspace, w.env
	if out, err := outside.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := w.read("workspace/outside"); !strings.Contains(got, `"result"`) {
		t.Fatalf("a program outside the sandbox is no client: %s", got)
	}
	a := w.newAcceptingEditor(client...)
	network := map[string]any{"type": "workspaceWrite", "networkAccess": true}
	thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
	if asked := a.turnWith(thread, "RUN: sh connect.sh inside", map[string]any{"sandboxPolicy": network}); len(asked) > 0 {
		t.Errorf("questions %q", asked)
	}
	if got := w.read("workspace/inside"); strings.Contains(got, `"result"`) || !strings.Contains(got, "EOF") && !strings.Contains(got, "reset") {
		t.Errorf("a command in the sandbox: %s", got)
	}
	a.closeAndWait()
}
