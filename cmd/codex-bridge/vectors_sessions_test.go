//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/bridge/bridgetest/vectors"
	"codex-bridge.example/bridge/child"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/lifecycle/binding"
)

// starting is a Codex that starts threads "T1", "T2" and so on, and knows each resumed thread.
func starting(t *testing.T, text string) *assembled {
	t.Helper()
	threads := 0
	w := newAssembled(t, text, func(r request) (any, string) {
		id := r.Params["threadId"]
		if r.Method == "thread/start" {
			threads++
			id = fmt.Sprint("T", threads)
		}
		return map[string]any{"thread": map[string]any{"id": id}, "cwd": "/w", "model": "m"}, ""
	})
	w.initialize(nil)
	return w
}

// recordOf returns the record of a session.
func (w *assembled) recordOf(session string) (b binding.Binding) {
	w.t.Helper()
	s, err := w.record.Store(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	kept, _, err := s.BindingBySession(w.t.Context(), session)
	if err != nil {
		w.t.Fatal(err)
	}
	if b, _, err = binding.Read([]byte(kept.Record), session, time.Time{}); err != nil {
		w.t.Fatalf("%s: %v", kept.Record, err)
	}
	return b
}

// putRecord gives a record to a session.
func (w *assembled) putRecord(session string, b binding.Binding) {
	w.t.Helper()
	s, err := w.record.Store(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	record := string(binding.Encode(b.Stamped(time.Now())))
	if err := s.PutBinding(w.t.Context(), store.Binding{Session: session, Thread: b.ThreadID, Record: record, Updated: time.Now()}); err != nil {
		w.t.Fatal(err)
	}
}

func TestPolicyFingerprintVectors(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	type engine struct {
		Info              map[string]any
		PolicyFingerprint string
	}
	eachCase(t, "projection_limits.json", "policyFingerprint", func(t *testing.T, c engine) {
		var host map[string]any // the host's settings there, which the case does not name
		if err := json.Unmarshal([]byte(c.PolicyFingerprint), &host); err != nil {
			t.Fatal(err)
		}
		for name, usual := range map[string]any{"citationsMode": "auto", "contextTokenBudget": 100_000} {
			if c.Info[name] = host[name]; host[name] == nil {
				c.Info[name] = usual
			}
		}
		const key = "s"
		w := starting(t, "")
		w.must("thread/start", map[string]any{"bridge": map[string]any{"sessionKey": key, "contextEngine": c.Info}})
		want, err := binding.CanonicalJSON([]byte(c.PolicyFingerprint))
		if err != nil {
			t.Fatal(err)
		}
		id := strings.TrimSpace(c.Info["id"].(string))
		if e := w.recordOf(key).ContextEngine; e == nil || e.EngineID != id || e.Policy != "v1:"+string(want) {
			t.Errorf("the stored engine is %+v, want the policy %s", e, want)
		}
	})
}

// commandLine runs codex-bridge with these arguments in its own process.
func commandLine(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	r := runProgram(t, append(os.Environ(), "COLUMNS=1000"), "", args...) // no line is wrapped
	if r.Code != 0 {
		err = errors.New(r.Status)
	}
	return string(r.Stdout), string(r.Stderr), err
}

// runProgram runs codex-bridge, unless the test leaves the command out. A proxy in this process
// reaps all children, so it uses package child.
func runProgram(t *testing.T, environ []string, stdin string, args ...string) (r child.Result) {
	t.Helper()
	if out := os.Getenv(withoutFeature); out != "" && strings.HasPrefix(strings.Join(args, " "), out) {
		return r
	}
	program, err := exec.LookPath("codex-bridge") // testscript installed it
	if err != nil {
		t.Fatal(err)
	}
	r, err = child.Run(t.Context(), child.Command{Args: append([]string{program}, args...), Env: environ, Stdin: []byte(stdin), MaxStdout: 1 << 20, MaxStderr: 1 << 16})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// onlyState gives the test its own state and no configuration.
func onlyState(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	t.Setenv("CODEX_BRIDGE_STATE", filepath.Join(folder, "state"))
	t.Setenv("CODEX_BRIDGE_CONFIG", "")
	t.Setenv("CODEX_HOME", folder)
	t.Setenv("HOME", folder)
	return folder
}

// "codex-bridge threads import" reads a record, and "codex-bridge threads export" writes it.
func TestSessionBindingVectors(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	var path string // of the record of a session file
	if err := json.Unmarshal(vectors.Member(t, "session_binding.json", "path"), &path); err != nil {
		t.Fatal(err)
	}
	_, suffix, _ := strings.Cut(path, ".jsonl")
	type record struct{ File, Parsed json.RawMessage }
	eachCase(t, "session_binding.json", "cases", func(t *testing.T, c record) {
		folder := onlyState(t)
		file := []byte(c.File)
		var raw string
		if json.Unmarshal(c.File, &raw) == nil {
			file = []byte(raw)
		}
		from, to := filepath.Join(folder, "from.jsonl"), filepath.Join(folder, "to.jsonl")
		if err := os.WriteFile(from+suffix, file, 0o600); err != nil {
			t.Fatal(err)
		}
		_, said, err := commandLine(t, "threads", "import", from, "--session", "s")
		if left, e := os.ReadFile(from + suffix); e != nil || !bytes.Equal(left, file) {
			t.Errorf("the file changed: %s, %v", left, e)
		}
		if string(c.Parsed) == "null" {
			if err == nil || said == "" {
				t.Errorf("the record was imported: %s", said)
			}
			return
		}
		if err != nil {
			t.Fatal(err, said)
		}
		if dropped := strings.Contains(said, "left out"); dropped != drops(t, c.File, c.Parsed) {
			t.Errorf("the program says %q about omitted members", said)
		}
		if _, said, err := commandLine(t, "threads", "export", "s", to); err != nil {
			t.Fatal(err, said)
		}
		written, err := os.ReadFile(to + suffix)
		if err != nil {
			t.Fatal(err)
		}
		var got, want map[string]any
		if err := json.Unmarshal(written, &got); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(c.Parsed, &want); err != nil {
			t.Fatal(err)
		}
		want["sessionFile"] = to
		if diff := cmp.Diff(want, got, masked); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	type written struct {
		Keys                               []string
		IndentedTwoSpaces, EndsWithNewline bool
	}
	eachCase(t, "session_binding.json", "written", func(t *testing.T, c written) {
		folder := onlyState(t)
		from, to := filepath.Join(folder, "from.jsonl"), filepath.Join(folder, "to.jsonl")
		record := `{"schemaVersion":1,"threadId":"t","cwd":"/w","model":"m","modelProvider":"openai","serviceTier":"fast","createdAt":"c","updatedAt":"u"}`
		if err := os.WriteFile(from+suffix, []byte(record), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, said, err := commandLine(t, "threads", "import", from, "--session", "s"); err != nil {
			t.Fatal(err, said)
		}
		if _, said, err := commandLine(t, "threads", "export", "s", to); err != nil {
			t.Fatal(err, said)
		}
		text, err := os.ReadFile(to + suffix)
		if err != nil {
			t.Fatal(err)
		}
		var keys []string
		for _, m := range regexp.MustCompile(`(?m)^ *"([A-Za-z]+)":`).FindAllSubmatch(text, -1) {
			keys = append(keys, string(m[1]))
		}
		if diff := cmp.Diff(c.Keys, keys); diff != "" {
			t.Errorf("the keys (-want +got):\n%s", diff)
		}
		second := strings.Split(string(text), "\n")[1]
		if got := strings.HasPrefix(second, `  "`); got != c.IndentedTwoSpaces {
			t.Errorf("indented by two spaces: %v", got)
		}
		if got := bytes.HasSuffix(text, []byte("}\n")); got != c.EndsWithNewline {
			t.Errorf("ends with a line end: %v", got)
		}
	})
}

// drops reports whether the file has an unread member, other than those that no version knows.
func drops(t *testing.T, file, parsed json.RawMessage) bool {
	t.Helper()
	var f, p map[string]any
	if err := json.Unmarshal(file, &f); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(parsed, &p); err != nil {
		t.Fatal(err)
	}
	known := make(map[string]bool)
	for field := range reflect.TypeFor[binding.Binding]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		known[name] = true
	}
	for name := range f {
		if !known[name] {
			delete(f, name)
		}
	}
	return lacks(p, f)
}

// lacks reports whether a lacks a member of b, at any depth.
func lacks(a, b map[string]any) bool {
	for name, v := range b {
		is, ok := a[name]
		if !ok {
			return true
		}
		below, isObject := v.(map[string]any)
		if of, _ := is.(map[string]any); isObject && lacks(of, below) {
			return true
		}
	}
	return false
}

// bridge/binding/clear deletes a binding, for one thread or for any.
func TestClearVectors(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	eachCase(t, "session_binding.json", "clear", func(t *testing.T, c struct{ Cleared *bool }) {
		w := starting(t, "")
		w.putRecord("s", binding.Binding{SessionFile: "s", ThreadID: "t"})
		p := map[string]any{"sessionKey": "s", "threadId": "t"}
		want := c.Cleared != nil && *c.Cleared
		switch {
		case c.Cleared != nil && !*c.Cleared:
			p["threadId"] = "other"
		case c.Cleared == nil: // deleted before
			w.must("bridge/binding/clear", p)
		}
		if got, _ := w.must("bridge/binding/clear", p).Get("cleared").Bool(); got != want {
			t.Errorf("deleted %v, want %v", got, want)
		}
		s, err := w.record.Store(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if _, found, err := s.BindingBySession(t.Context(), "s"); err != nil || found != (c.Cleared != nil && !*c.Cleared) {
			t.Errorf("the binding is still there: %v, %v", found, err)
		}
	})
}
