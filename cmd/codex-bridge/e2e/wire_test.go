//go:build linux

package e2e_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/bridge/methods"
)

// standInEnv makes the test program stand in for Codex: the test reads and writes at that end.
const standInEnv = "CODEX_BRIDGE_E2E_STAND_IN"

// wideEnv enables the runs that take minutes.
const wideEnv = "CODEX_BRIDGE_WIDE"

// isSampled reports whether the daily run tries a case of a table: one of so many, such that it tries each
// row and each column. The wide form tries all.
func isSampled(of, row, column int) bool { return os.Getenv(wideEnv) != "" || (row+column)%of == 0 }

// isSampledName is isSampled for cases that have only a name. It chooses the same ones each time.
func isSampledName(of uint32, name string) bool {
	return wide() || crc32.ChecksumIEEE([]byte(name))%of == 0
}

func wide() bool { return os.Getenv(wideEnv) != "" }

const mib = 1 << 20

// wire is a codex-bridge between two ends that the test controls.
type wire struct {
	t          *testing.T
	bridge     *exec.Cmd
	in         *os.File // the client's output
	out        *os.File // the client's input
	codex      net.Conn
	client     *bufio.Reader // of out
	codexInput *bufio.Reader // of Codex

	idle int64 // bytes of memory before the test
}

// wireConfigs are the configurations of the bridge.
var wireConfigs = map[string]string{
	"transparent": "",
	"policy":      policyConfig,
	"trace":       policyConfig + "[trace]\nenabled = true\n",
}

// newWire starts a bridge and does the handshake on both sides.
func newWire(t *testing.T, config string) *wire {
	t.Helper()
	dir, err := os.MkdirTemp("", "wire") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, options{config: config, codex: self, env: []string{standInEnv + "=" + socket}})
	theirIn, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	x := &wire{t: t, in: in, out: out, client: bufio.NewReaderSize(out, 64<<10)}
	ctx, cancel := context.WithTimeout(context.Background(), patience) // the test's own context ends before its Cleanup
	t.Cleanup(cancel)
	x.bridge = exec.CommandContext(ctx, proxyArgv[0], proxyArgv[1:]...)
	x.bridge.Env, x.bridge.Dir = append(w.env, "CODEX_BRIDGE_LOG=error"), w.workspace
	x.bridge.Stdin, x.bridge.Stdout = theirIn, theirOut
	if err := x.bridge.Start(); err != nil {
		t.Fatal(err)
	}
	theirIn.Close()
	theirOut.Close()
	if x.codex, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	x.codexInput = bufio.NewReaderSize(x.codex, 64<<10)
	t.Cleanup(x.end)
	x.hello()
	return x
}

// hello does the handshake and measures the idle memory of the bridge.
func (x *wire) hello() {
	x.t.Helper()
	x.clientSays(`{"id":"hello","method":"initialize","params":{"clientInfo":{"name":"wire","version":"0.0.0"}}}`)
	line(x.t, x.codexInput, `"method":"initialize"`)
	x.codexSays(`{"id":"hello","result":{"userAgent":"stand-in/` + methods.Measured + ` (test)"}}`)
	line(x.t, x.client, `"id":"hello"`)
	x.clientSays(`{"method":"initialized"}`)
	line(x.t, x.codexInput, `"method":"initialized"`)
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", x.bridge.Process.Pid), []byte("5"), 0); err != nil {
		x.t.Fatal(err)
	}
	x.idle = x.memory("VmRSS:")
}

// end closes both ends and waits for the bridge.
func (x *wire) end() {
	x.in.Close()
	x.codex.Close()
	go io.Copy(io.Discard, x.out) // ends with the bridge
	if err := x.bridge.Wait(); err != nil {
		x.t.Errorf("the bridge exited with %v", err)
	}
	x.out.Close()
}

// memory returns the value of a line of the bridge's /proc/PID/status, in bytes.
func (x *wire) memory(field string) int64 {
	x.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", x.bridge.Process.Pid))
	if err != nil {
		x.t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(status, []byte(field))
	words := strings.Fields(string(rest))
	if len(words) == 0 {
		x.t.Fatalf("the status of the process has no %s", field)
	}
	kib, err := strconv.ParseInt(words[0], 10, 64)
	if err != nil {
		x.t.Fatal(err)
	}
	return kib << 10
}

// checkPeak fails the test if the bridge used more than limit bytes above its idle memory.
func (x *wire) checkPeak(limit int64) {
	x.t.Helper()
	peak := x.memory("VmHWM:") - x.idle
	x.t.Logf("memory over idle: %.1f MiB", float64(peak)/mib)
	if peak > limit {
		x.t.Errorf("the bridge used %d MiB above idle, want at most %d", peak/mib, limit/mib)
	}
}

// checkKept fails the test if the bridge still uses more than limit bytes above its idle memory.
func (x *wire) checkKept(limit int64) {
	x.t.Helper()
	kept := x.memory("VmRSS:") - x.idle
	x.t.Logf("memory still used: %.1f MiB", float64(kept)/mib)
	if kept > limit {
		x.t.Errorf("the bridge still uses %d MiB above idle, want at most %d", kept/mib, limit/mib)
	}
}

func (x *wire) clientSays(text string) { say(x.t, x.in, text) }
func (x *wire) codexSays(text string)  { say(x.t, x.codex, text) }

func say(t *testing.T, w io.Writer, text string) {
	t.Helper()
	if _, err := io.WriteString(w, text+"\n"); err != nil {
		t.Fatal(err)
	}
}

// line returns the next line of a side, which must contain has.
func line(t *testing.T, r *bufio.Reader, has string) string {
	t.Helper()
	text, err := r.ReadString('\n')
	if err != nil || !strings.Contains(text, has) {
		t.Fatalf("%.300q (%v) want a line with %q", text, err, has)
	}
	return text
}

// long is a line of size bytes with its line end: start, letters, end.
type long struct {
	start, end string
	size       int
}

// filler has many letters.
var filler = bytes.Repeat([]byte("0123456789abcdef"), 1<<16)

// writeTo writes the line and returns its checksum.
func (l long) writeTo(w io.Writer) (sum uint32, err error) {
	write := func(b []byte) {
		if err == nil {
			sum = crc32.Update(sum, crc32.IEEETable, b)
			_, err = w.Write(b)
		}
	}
	write([]byte(l.start))
	for room := l.size - len(l.start) - len(l.end) - 1; room > 0; room -= len(filler) {
		write(filler[:min(room, len(filler))])
	}
	write([]byte(l.end + "\n"))
	return sum, err
}

// got is a received line.
type got struct {
	start string
	size  int
	sum   uint32
}

// read reads a line of any length.
func read(r *bufio.Reader) (g got, err error) {
	for {
		part, err := r.ReadSlice('\n')
		g.sum = crc32.Update(g.sum, crc32.IEEETable, part)
		g.size += len(part)
		if len(g.start) < 300 {
			g.start += string(part[:min(len(part), 300-len(g.start))])
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return g, err
		}
	}
}

// sends writes a line and reads the next one at the other end at the same time.
func sends(t *testing.T, l long, w io.Writer, r *bufio.Reader) (sum uint32, g got) {
	t.Helper()
	written := make(chan error, 1)
	go func() { // ends when the line is written
		var err error
		sum, err = l.writeTo(w)
		written <- err
	}()
	g, err := read(r)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-written:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(patience):
		t.Fatal("the line was not read completely")
	}
	return sum, g
}
