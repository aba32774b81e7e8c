//go:build linux

package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	soakEnv      = "CODEX_BRIDGE_SOAK"       // minimum duration; without it, 200 turns
	soakTurnsEnv = "CODEX_BRIDGE_SOAK_TURNS" // minimum number of turns; without it 10,000
)

// buildScriptedCodex builds the scripted app-server: the real one would use most of the time.
func buildScriptedCodex(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "codex")
	build := exec.CommandContext(deadline(t), "go", "build", "-o", path, "codex-bridge.example/cmd/internal/scripted/codex")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

// soakSize returns the minimum duration and number of turns.
func soakSize(t *testing.T) (long time.Duration, turns int) {
	t.Helper()
	text := os.Getenv(soakEnv)
	if text == "" {
		return 0, 200
	}
	long, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("%s: %v", soakEnv, err)
	}
	turns = 10_000
	if text := os.Getenv(soakTurnsEnv); text != "" {
		if turns, err = strconv.Atoi(text); err != nil {
			t.Fatalf("%s: %v", soakTurnsEnv, err)
		}
	}
	return long, turns
}

// talkers is the number of sessions with turns at the same time.
const talkers = 4

// soakConfig enables all features of a conversation.
func soakConfig(w *world, self string) string {
	server, err := json.Marshal([]string{"/usr/bin/env", mcpEnv + "=1", self})
	if err != nil {
		w.t.Fatal(err)
	}
	return `
[codex]
shutdown_grace = "1m"
[policy]
approval = ["on-request", "untrusted"]
sandbox = "workspace-write"
[policy.methods]
"thread/shellCommand" = "deny"
[[policy.rule]]
command = "touch **"
decision = "deny"
reason = "Nothing is touched here."
[[policy.rule]]
command = "mkdir **"
decision = "ask"
[approvals]
remember = "always"
[tools.greet]
description = "Greets."
command = ["/bin/sh", "-c", "read arguments; echo \"good day, $arguments\""]
[tool_servers.served]
command = ` + string(server) + `
[thread]
developer_instructions = "Be brief."
[steering]
quiet = "1ms"
[trace]
enabled = true
[transcript]
enabled = true
[hooks]
events = ["pre_tool_use", "post_tool_use", "stop"]
timeout = "1m"
` + w.writeHandler("pre_tool_use", "1m", "cat >/dev/null") + w.writeHandler("post_tool_use", "1m", "cat >/dev/null") + w.writeHandler("stop", "1m", "cat >/dev/null")
}

// The scripted Codex sends the same messages as the real one for the turns of the soak, except
// parts that the bridge ignores.
func TestScriptedCodex(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, options{
		config:      "[policy]\n",
		codexConfig: "suppress_unstable_features_warning = true\n[features]\ndefault_mode_request_user_input = true\n" + mcpConfig("probe"),
	})
	w.write("config.toml", soakConfig(w, self))
	s := w.soak()
	if err := s.round(s.talk()[:1]); err != nil {
		t.Fatal(err)
	}
	s.ctx = deadline(t)
	s.closeAndWait()
}

// After thousands of turns of all kinds, with all features, the bridge uses no more resources than
// at its start: memory, goroutines, descriptors, processes. The state grows only with the messages.
func TestSoak(t *testing.T) {
	long, turns := soakSize(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, options{config: "[policy]\n", codex: buildScriptedCodex(t)})
	w.write("config.toml", soakConfig(w, self))

	// One round, and the resources after it.
	s := w.soak()
	if err := s.round(s.talk()); err != nil {
		t.Fatal(err)
	}
	before := s.goroutines()

	s = w.soak() // the sessions continue
	all := s.talk()
	var course []vitals
	for begun := time.Now(); ; {
		if err := s.round(all); err != nil {
			t.Fatal(err)
		}
		v := s.vitals(all)
		course = append(course, v)
		if long > 0 {
			t.Log(v)
		}
		if v.turns >= turns && time.Since(begun) >= long {
			break
		}
	}
	t.Logf("%v; %d questions", course[len(course)-1], s.asked.Load())
	checkSteady(t, course)
	after := s.goroutines()
	for where, n := range after {
		if n > before[where]+mostMoreGoroutines {
			t.Errorf("%d goroutines of %s, after one round %d", n, where, before[where])
		}
	}
	w.checkSurvives()
}

// round runs a turn of each kind for each talker, in different orders, and other requests in
// between.
func (s *soaker) round(talkers []*talker) error {
	var all errgroup.Group
	for i, k := range talkers {
		all.Go(func() error {
			if k.turns == 0 {
				if err := k.shortTurn(); err != nil {
					return err
				}
			}
			for n := range kinds {
				kind := kinds[(n+i*3)%len(kinds)]
				if err := kind.take(k); err != nil {
					return fmt.Errorf("%s, turn %d, %s: %w", k.key, k.turns, kind.name, err)
				}
			}
			if err := k.checkPolicyRefusals(); err != nil {
				return err
			}
			return k.rotateThread()
		})
	}
	return all.Wait()
}
