//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/coder/websocket"

	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/cmd/bridge-bench/internal/table"
	"codex-bridge.example/cmd/internal/scripted"
)

const (
	hubTrips    = 2000
	hubClients  = 100
	hubFile     = 6 << 20 // bytes; its response has 8 MiB
	hubReads    = 5
	hubSettings = "[policy]\nsandbox = \"workspace-write\"\n" // enforced
)

// hub measures codex-bridge serve against the socket of the real Codex: a round trip, long responses, and
// the memory of idle connections.
func (b *bench) hub(n int) (err error) {
	program := filepath.Join(b.root, realCodex)
	if _, err := os.Stat(program); err != nil {
		return nil // without these rows
	}
	dir, err := os.MkdirTemp(b.dir, "hub-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	model, err := scripted.Start(nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, model.Close()) }()
	direct, err := b.startSocket(dir, "direct", model.URL(), program, "app-server")
	if err != nil {
		return err
	}
	defer direct.end()
	shared, err := b.startSocket(dir, "shared", model.URL(), b.proxy, "serve")
	if err != nil {
		return err
	}
	defer shared.end()

	var ours, alone, copied, oursLong, aloneLong []float64
	err = errors.Join(
		alternate(n, func() error { return shared.client.trips(&ours) }, func() error { return direct.client.trips(&alone) }),
		alternate(n, func() error { return shared.client.reads(shared.file, &oursLong) }, func() error { return direct.client.reads(direct.file, &aloneLong) }))
	if err != nil {
		return err
	}
	if err := direct.copied(n, &copied); err != nil {
		return err
	}
	p50, alone50, note := table.Median(ours), table.Median(alone), "%.1f µs without the bridge"
	if len(copied) > 0 { // one more process, which only copies bytes, on the same machine
		note += fmt.Sprintf("; socat adds %.1f", table.Median(copied)-alone50)
	}
	b.table.Add(table.Row{Key: "hub/trip", Title: "codex-bridge serve, round trip", What: "added to Codex's socket, p50", Unit: "µs", Goal: table.AtMost(60),
		Note: note}, p50-alone50, alone50)
	b.table.Add(table.Row{Key: "hub/long", Title: "codex-bridge serve, responses of 8 MiB", What: "throughput to that of Codex's socket", Unit: "×", Goal: table.AtLeast(0.8)},
		table.Median(aloneLong)/table.Median(oursLong))

	before, err := memory(shared.cmd.Process.Pid, "VmRSS:")
	if err != nil {
		return err
	}
	for range hubClients {
		c, err := dialHub(shared.socket)
		if err != nil {
			return err
		}
		defer c.stream.Close()
	}
	after, err := memory(shared.cmd.Process.Pid, "VmRSS:")
	if err != nil {
		return err
	}
	b.table.Add(table.Row{Key: "hub/idle", Title: fmt.Sprintf("codex-bridge serve, %d idle connections", hubClients), What: "resident memory, added", Unit: "MiB", Goal: table.AtMost(16)}, mib(after-before))
	return nil
}

// socketServer is a server at a Unix socket, and a client of it.
type socketServer struct {
	cmd          *exec.Cmd
	socket, file string
	client       *hubClient
}

// startSocket starts a server with a home of its own.
func (b *bench) startSocket(dir, name, model, program, command string) (*socketServer, error) {
	dir = filepath.Join(dir, name)
	home, config := filepath.Join(dir, "codex"), filepath.Join(dir, "config.toml")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, err
	}
	work := filepath.Join(dir, "work")
	s := &socketServer{socket: filepath.Join(dir, "s", "s"), file: filepath.Join(work, "long")}
	err := errors.Join(scripted.Home(home, model, ""), os.Mkdir(filepath.Dir(s.socket), 0o700), os.Mkdir(work, 0o700),
		os.WriteFile(config, []byte(hubSettings), 0o600), os.WriteFile(s.file, []byte(strings.Repeat("x", hubFile)), 0o600))
	if err != nil {
		return nil, err
	}
	env, err := scripted.Env(home)
	if err != nil {
		return nil, err
	}
	s.cmd = exec.Command(program, command, "--listen", "unix://"+s.socket)
	s.cmd.Env = append(append(b.env(idleLoad), env...), "CODEX_BRIDGE_CODEX="+filepath.Join(b.root, realCodex),
		"CODEX_BRIDGE_CONFIG="+config, "CODEX_BRIDGE_STATE="+filepath.Join(dir, "state"))
	s.cmd.Dir = dir
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	for end := time.Now().Add(deadline); ; time.Sleep(20 * time.Millisecond) {
		if s.client, err = dialHub(s.socket); err == nil {
			return s, s.client.call("thread/start", map[string]any{"cwd": work, "sandbox": "workspace-write", "approvalPolicy": "on-request"}) // so that it may read there
		}
		if time.Now().After(end) {
			s.end()
			return nil, err
		}
	}
}

// copied measures round trips through socat, if it is installed.
func (s *socketServer) copied(n int, times *[]float64) error {
	socat, err := exec.LookPath("socat")
	if err != nil {
		return nil
	}
	socket := fmt.Sprintf("%s-socat-%d", s.socket, n)
	cmd := exec.Command(socat, "-b", "65536", "UNIX-LISTEN:"+socket, "UNIX-CONNECT:"+s.socket)
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	var c *hubClient
	for end := time.Now().Add(deadline); c == nil; time.Sleep(20 * time.Millisecond) {
		if c, err = dialHub(socket); err != nil && time.Now().After(end) {
			return err
		}
	}
	defer c.stream.Close()
	return c.trips(times)
}

func (s *socketServer) end() {
	if s.client != nil {
		s.client.stream.Close()
	}
	_ = s.cmd.Process.Signal(os.Interrupt)
	_ = s.cmd.Wait()
}

// hubClient is a client of a server at a socket.
type hubClient struct {
	stream *codex.WebSocket
	lines  *bufio.Reader
	calls  int
}

// dialHub connects a client that does not know the bridge.
func dialHub(socket string) (*hubClient, error) {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	ws, _, err := websocket.Dial(ctx, "ws://localhost/", &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}}) //nolint:bodyclose // see its documentation
	if err != nil {
		return nil, err
	}
	c := &hubClient{stream: codex.NewWebSocket(ws, codex.WebSocketOptions{})}
	c.lines = bufio.NewReader(c.stream)
	err = c.call("initialize", map[string]any{"clientInfo": map[string]string{"name": "bench", "version": "1"}, "capabilities": map[string]bool{"experimentalApi": true}})
	if err == nil {
		_, err = io.WriteString(c.stream, `{"method":"initialized"}`+"\n")
	}
	if err != nil {
		c.stream.Close()
		return nil, err
	}
	return c, nil
}

// call sends a request, and reads messages until its result.
func (c *hubClient) call(method string, params any) error {
	c.calls++
	request, err := json.Marshal(map[string]any{"id": c.calls, "method": method, "params": params})
	if err != nil {
		return err
	}
	if _, err := c.stream.Write(append(request, '\n')); err != nil {
		return err
	}
	for start := fmt.Sprintf(`{"id":%d,`, c.calls); ; {
		line, err := c.lines.ReadSlice('\n')
		text := string(line[:min(len(line), 200)])
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = c.lines.ReadSlice('\n')
		}
		switch {
		case err != nil:
			return err
		case strings.HasPrefix(text, start+`"error"`), strings.HasPrefix(text, `{"error"`):
			return fmt.Errorf("%s: %s", method, text)
		case strings.HasPrefix(text, start):
			return nil
		}
	}
}

// trips appends the times of round trips in µs, after a warm-up.
func (c *hubClient) trips(times *[]float64) error {
	for i := range hubTrips + hubTrips/10 {
		start := time.Now()
		if err := c.call("thread/loaded/list", map[string]any{}); err != nil {
			return err
		}
		if i >= hubTrips/10 {
			*times = append(*times, float64(time.Since(start))/float64(time.Microsecond))
		}
	}
	return nil
}

// reads appends the times of long responses in ms.
func (c *hubClient) reads(file string, times *[]float64) error {
	for range hubReads {
		start := time.Now()
		if err := c.call("fs/readFile", map[string]any{"path": file}); err != nil {
			return err
		}
		*times = append(*times, float64(time.Since(start))/float64(time.Millisecond))
	}
	return nil
}
