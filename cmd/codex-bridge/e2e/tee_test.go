//go:build linux

package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/cmd/internal/editor"
)

// The test program can also record the bytes between codex-bridge and Codex: the client's view may
// differ from Codex's messages.
const (
	teeEnv      = "CODEX_BRIDGE_E2E_TEE"       // the folder of the records
	teeCodexEnv = "CODEX_BRIDGE_E2E_TEE_CODEX" // the real Codex
)

// runTee runs Codex and records each direction of its app-server in a file before it forwards it,
// so the records have everything that the editor saw.
func runTee() int {
	cmd := exec.Command(os.Getenv(teeCodexEnv), os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if !slices.Contains(os.Args, "app-server") {
		return status(cmd.Run(), cmd)
	}
	in, out, err := openRecords(os.Getenv(teeEnv))
	theirIn, toCodex, errPipe := os.Pipe()
	fromCodex, theirOut, errPipe2 := os.Pipe()
	for _, err := range []error{err, errPipe, errPipe2} {
		if err != nil {
			fmt.Fprintln(os.Stderr, "tee:", err)
			return 1
		}
	}
	cmd.Stdin, cmd.Stdout = theirIn, theirOut
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "tee:", err)
		return 1
	}
	theirIn.Close()
	theirOut.Close()
	go func() {
		io.Copy(io.MultiWriter(in, toCodex), os.Stdin)
		toCodex.Close()
	}()
	var reading sync.WaitGroup
	reading.Go(func() { io.Copy(io.MultiWriter(out, os.Stdout), fromCodex) })
	err = cmd.Wait()
	reading.Wait()
	return status(err, cmd)
}

// openRecords opens the files of the next process: 0.in and 0.out, 1.in …
func openRecords(dir string) (in, out *os.File, err error) {
	for i := 0; ; i++ {
		in, err = os.OpenFile(filepath.Join(dir, strconv.Itoa(i)+".in"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		out, err = os.Create(filepath.Join(dir, strconv.Itoa(i)+".out"))
		return in, out, err
	}
}

// status returns the exit code of a program, or ends this process by the signal that ended the
// program.
func status(err error, cmd *exec.Cmd) int {
	if cmd.ProcessState == nil {
		fmt.Fprintln(os.Stderr, "tee:", err)
		return 1
	}
	if s, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		syscall.Kill(os.Getpid(), s.Signal())
		select {}
	}
	return cmd.ProcessState.ExitCode()
}

// withTee makes codex-bridge use the tee as Codex.
func withTee(t *testing.T, o options) (_ options, dir string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	o.codex = self
	o.env = append(slices.Clone(o.env), teeEnv+"="+dir, teeCodexEnv+"="+codexPath)
	return o, dir
}

// recorded returns the bytes of one direction ("in": to Codex, "out": from it), one string per
// process of Codex, in the order of their starts.
func recorded(t *testing.T, dir, direction string) []string {
	t.Helper()
	var texts []string
	for i := 0; ; i++ {
		b, err := os.ReadFile(filepath.Join(dir, strconv.Itoa(i)+"."+direction))
		if errors.Is(err, fs.ErrNotExist) {
			return texts
		}
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(b))
	}
}

// recordedLines returns the recorded lines of all processes.
func recordedLines(t *testing.T, dir, direction string) []json.RawMessage {
	t.Helper()
	var all []json.RawMessage
	for _, text := range recorded(t, dir, direction) {
		for line := range strings.Lines(text) {
			all = append(all, json.RawMessage(line))
		}
	}
	return all
}

// Without a configuration the bytes on both sides of codex-bridge are equal, in both directions.
func TestTransparentBytes(t *testing.T) {
	t.Parallel()
	for name, conversation := range conversations {
		if name == "malformed" {
			continue // codex-bridge responds to such lines itself
		}
		if !isSampledName(3, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, dir := withTee(t, conversation.options)
			w := newWorld(t, o)
			held := conversation.hold(w, proxyArgv)
			codexIn, codexOut := recorded(t, dir, "in"), recorded(t, dir, "out")
			if len(codexIn) != len(held) || len(codexOut) != len(held) {
				t.Fatalf("%d conversations, Codex had %d", len(held), len(codexIn))
			}
			for i, c := range held {
				if diff := cmp.Diff(lines(c.Messages(), true), codexIn[i]); diff != "" {
					t.Errorf("conversation %d, client to server (-sent +arrived)\n%s", i, diff)
				}
				if diff := cmp.Diff(codexOut[i], lines(c.Messages(), false)); diff != "" {
					t.Errorf("conversation %d, server to client (-sent +arrived)\n%s", i, diff)
				}
			}
		})
	}
}

// lines returns the messages of one direction as bytes.
func lines(messages []editor.Message, sent bool) string {
	var b strings.Builder
	for _, m := range messages {
		if m.Sent == sent {
			b.Write(m.Raw)
			b.WriteByte('\n')
		}
	}
	return b.String()
}
