//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"codex-bridge.example/cmd/internal/noise"
)

// report is the file with the messages of both sides.
type report struct {
	mu sync.Mutex
	f  *os.File
}

// newReport creates the file of the next process of a conversation: 0, 1 …
func newReport(dir string) (*report, string, error) {
	for i := 0; ; i++ {
		name := strconv.Itoa(i)
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if !errors.Is(err, fs.ErrExist) {
			return &report{f: f}, name, err
		}
	}
}

func (r *report) line(what string, line []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = fmt.Fprintf(r.f, "%s %s\n", what, bytes.TrimSpace(line)) // the folder is deleted when the test ends
}

// filter forwards the messages of both sides until Codex closes its output.
func filter(seed string) int {
	n, err := strconv.ParseUint(seed, 10, 64)
	if err != nil {
		fmt.Fprintln(os.Stderr, "noisy:", err)
		return 1
	}
	r, name, err := newReport(os.Getenv(reportEnv))
	if err != nil {
		fmt.Fprintln(os.Stderr, "noisy:", err)
		return 1
	}
	toCodex, fromCodex := os.NewFile(3, "codex's stdin"), os.NewFile(4, "codex's stdout")
	go forwardToCodex(os.Stdin, toCodex, r) // ends with the process
	forwardFromCodex(fromCodex, os.Stdout, noise.New(n, os.Getenv(aboutEnv)+"/"+name, "s"), r)
	return 0
}

// forwardToCodex forwards messages to Codex, except responses to noise.
func forwardToCodex(from io.Reader, to io.WriteCloser, r *report) {
	defer to.Close()
	in := bufio.NewReaderSize(from, 64<<10)
	for {
		line, err := in.ReadBytes('\n')
		switch {
		case isNoiseResponse(line):
			r.line("<", line)
		case len(line) > 0:
			if _, err := to.Write(line); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// isNoiseResponse reports whether a line responds to a request of the noise.
func isNoiseResponse(line []byte) bool {
	if !bytes.Contains(line, []byte(`"`+noise.Prefix+"s")) {
		return false
	}
	var m struct {
		ID     any
		Method *string
	}
	if json.Unmarshal(line, &m) != nil || m.Method != nil {
		return false
	}
	id, _ := m.ID.(string)
	return noise.Is(id)
}

// forwardFromCodex forwards Codex's messages. The noise starts after the response to initialize:
// Codex sends nothing before.
func forwardFromCodex(from io.Reader, to io.Writer, source *noise.Source, r *report) {
	in := bufio.NewReaderSize(from, 64<<10)
	begun := false
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 && begun && err == nil {
			with := source.Members(line, false)
			if len(with) > len(line) {
				r.line("+", with)
			}
			line = with
			if n := source.Notification(); n != nil {
				r.line(">", n)
				line = append(append(line, n...), '\n')
			}
			if _, q := source.Request(); q != nil {
				r.line(">", q)
				line = append(append(line, q...), '\n')
			}
		}
		begun = begun || bytes.Contains(line, []byte(`"userAgent"`))
		if len(line) > 0 {
			if _, err := to.Write(line); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
