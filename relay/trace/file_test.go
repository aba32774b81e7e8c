package trace_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"codex-bridge.example/bridge"
	"codex-bridge.example/relay/trace"

	"github.com/google/go-cmp/cmp"
)

// A full file takes no more events, while others do.
func TestFullFile(t *testing.T) {
	r, folder := recorder(t, trace.Limits{File: 4096})
	var run bytes.Buffer
	for i := range 400 {
		fmt.Fprintf(&run, `{"method":"x","params":{"threadId":"t","n":%d}}`+"\n", i)
	}
	r.ForwardedLines(run.Bytes(), 400)
	r.Received(bridge.Codex, []byte(`{"method":"x","params":{"threadId":"u"}}`))
	r.Close()
	full, other := lines(t, filepath.Join(folder, "t.jsonl")), lines(t, filepath.Join(folder, "u.jsonl"))
	if last := full[len(full)-1]; !strings.Contains(last, string(trace.FileFull)) || len(other) != 2 {
		t.Errorf("%q, %q", last, other)
	}
}

// A line that a crash has truncated damages no other line.
func TestCut(t *testing.T) {
	r, folder := recorder(t, trace.Limits{})
	play(r, `c>e {"method":"x","params":{"threadId":"t"}}`)
	r.Close()
	path := filepath.Join(folder, "t.jsonl")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text[:len(text)-20], 0o600); err != nil {
		t.Fatal(err)
	}
	r = recorderIn(folder, trace.Limits{})
	play(r, `c>e {"method":"y","params":{"threadId":"t"}}`)
	r.Close()
	events, err := trace.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got []trace.Type
	for _, e := range events {
		got = append(got, e.Type)
	}
	if diff := cmp.Diff([]trace.Type{trace.Message, trace.Damaged, trace.Message, trace.SessionEnded}, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// Symbolic links, and folders that other users can read, are refused.
func TestForeignFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // modes say nothing there
	}
	for name, prepare := range map[string]func(folder, other string) error{
		"link to a file":   func(folder, other string) error { return os.Symlink(other, filepath.Join(folder, "t.jsonl")) },
		"link to nothing":  func(folder, other string) error { return os.Symlink(other+"2", filepath.Join(folder, "t.jsonl")) },
		"readable":         func(folder, _ string) error { return os.WriteFile(filepath.Join(folder, "t.jsonl"), nil, 0o644) },
		"second name":      func(folder, other string) error { return os.Link(other, filepath.Join(folder, "t.jsonl")) },
		"link to a folder": func(folder, other string) error { return os.Rename(folder, folder+"2") },
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			folder, other := filepath.Join(root, "traces"), filepath.Join(root, "other")
			if err := os.Mkdir(folder, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(other, []byte("mine"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := prepare(folder, other); err != nil {
				t.Fatal(err)
			}
			if name == "link to a folder" {
				if err := os.Symlink(folder+"2", folder); err != nil {
					t.Fatal(err)
				}
			}
			r := recorderIn(folder, trace.Limits{})
			r.Received(bridge.Codex, []byte(`{"method":"x","params":{"threadId":"t"}}`))
			r.Close()
			for _, path := range []string{other, filepath.Join(folder, "t.jsonl"), other + "2"} {
				if text, err := os.ReadFile(path); err == nil && string(text) != "mine" && len(text) > 0 {
					t.Errorf("%s: %s", path, text)
				}
			}
		})
	}
}
