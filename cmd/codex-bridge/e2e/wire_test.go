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
)

// standInEnv has the test binary stand in for codex: the test itself is what reads and writes
// at its end, when and as much as it wants to.
const standInEnv = "CODEX_BRIDGE_E2E_STAND_IN"

// wideEnv is set for the runs that take too long for every day.
const wideEnv = "CODEX_BRIDGE_WIDE"

func wide() bool { return os.Getenv(wideEnv) != "" }

const mib = 1 << 20

// wire is a codex-bridge with both its ends in the test's hands, and nobody who reads there.
type wire struct {
	t      *testing.T
	bridge *exec.Cmd
	in     *os.File // the client speaks here
	out    *os.File // the client listens here
	codex  net.Conn
	client *bufio.Reader // of out
	told   *bufio.Reader // of codex

	idle int64 // bytes of memory before
}

// wireConfigs are what is between the two ends.
var wireConfigs = map[string]string{
	"transparent": "",
	"policy":      policyConfig,
	"trace":       policyConfig + "[trace]\nenabled = true\n",
}

// newWire starts one, and has both sides shake hands.
func newWire(t *testing.T, config string) *wire {
	t.Helper()
	dir, err := os.MkdirTemp("", "wire") // a socket's path is short by nature
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
	ctx, cancel := context.WithTimeout(context.Background(), patience) // t's own ends before its Cleanup
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
	x.told = bufio.NewReaderSize(x.codex, 64<<10)
	t.Cleanup(x.end)
	x.hello()
	return x
}

// hello shakes hands, and takes down how much memory the bridge has before it is given anything.
func (x *wire) hello() {
	x.t.Helper()
	x.clientSays(`{"id":"hello","method":"initialize","params":{"clientInfo":{"name":"wire","version":"0.0.0"}}}`)
	line(x.t, x.told, `"method":"initialize"`)
	x.codexSays(`{"id":"hello","result":{"userAgent":"stand-in/0.169.0 (test)"}}`)
	line(x.t, x.client, `"id":"hello"`)
	x.clientSays(`{"method":"initialized"}`)
	line(x.t, x.told, `"method":"initialized"`)
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", x.bridge.Process.Pid), []byte("5"), 0); err != nil {
		x.t.Fatal(err)
	}
	x.idle = x.memory("VmRSS:")
}

// end closes both ends, and waits for the bridge.
func (x *wire) end() {
	x.in.Close()
	x.codex.Close()
	go io.Copy(io.Discard, x.out) // ends with the bridge
	if err := x.bridge.Wait(); err != nil {
		x.t.Errorf("the bridge ends with %v", err)
	}
	x.out.Close()
}

// memory is a line of /proc/PID/status of the bridge's, in bytes.
func (x *wire) memory(field string) int64 {
	x.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", x.bridge.Process.Pid))
	if err != nil {
		x.t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(status, []byte(field))
	words := strings.Fields(string(rest))
	if len(words) == 0 {
		x.t.Fatalf("no %s in a process's status", field)
	}
	kib, err := strconv.ParseInt(words[0], 10, 64)
	if err != nil {
		x.t.Fatal(err)
	}
	return kib << 10
}

// took fails the test when the bridge has had more memory than it had idle and so much more.
func (x *wire) took(most int64) {
	x.t.Helper()
	peak := x.memory("VmHWM:") - x.idle
	x.t.Logf("memory over idle: %.1f MiB", float64(peak)/mib)
	if peak > most {
		x.t.Errorf("the bridge has taken %d MiB more than idle; %d are allowed", peak/mib, most/mib)
	}
}

// keeps fails the test when the bridge still has so much more memory than it had idle.
func (x *wire) keeps(most int64) {
	x.t.Helper()
	kept := x.memory("VmRSS:") - x.idle
	x.t.Logf("memory kept: %.1f MiB", float64(kept)/mib)
	if kept > most {
		x.t.Errorf("the bridge keeps %d MiB more than it had idle; %d are allowed", kept/mib, most/mib)
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

// line is the next one that a side gets, which has to have this in it.
func line(t *testing.T, r *bufio.Reader, has string) string {
	t.Helper()
	text, err := r.ReadString('\n')
	if err != nil || !strings.Contains(text, has) {
		t.Fatalf("%.300q (%v) where %q should come", text, err, has)
	}
	return text
}

// long is a line of size bytes with its line end: start, as many letters as fit, end.
type long struct {
	start, end string
	size       int
}

// filler are letters, many at once.
var filler = bytes.Repeat([]byte("0123456789abcdef"), 1<<16)

// writeTo writes the line, and returns its checksum.
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

// got is a line that has come.
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

// sends writes a line, and reads the next at the other end meanwhile.
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
		t.Fatal("a line is not read to its end")
	}
	return sum, g
}
