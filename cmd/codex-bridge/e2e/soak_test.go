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
	soakEnv      = "CODEX_BRIDGE_SOAK"       // how long it goes on at least; without it, for 200 turns
	soakTurnsEnv = "CODEX_BRIDGE_SOAK_TURNS" // and how many turns at least; without it 10,000
)

// buildScriptedCodex builds the stand-in for codex app-server: the real one would use most of the time.
func buildScriptedCodex(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "codex")
	build := exec.CommandContext(deadline(t), "go", "build", "-o", path, "codex-bridge/cmd/internal/scripted/codex")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

// soakSize is how long and for how many turns.
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

// talkers are how many sessions have their turns at the same time.
const talkers = 4

// soakConfig has everything switched on that a conversation can have.
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
` + w.handler("pre_tool_use", "1m", "cat >/dev/null") + w.handler("post_tool_use", "1m", "cat >/dev/null") + w.handler("stop", "1m", "cat >/dev/null")
}

// The real codex says to the turns of the soak what the scripted one does, as far as they and
// the bridge can tell.
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
	s.quit()
}

// A conversation of thousands of turns, of every kind and with everything switched on, costs
// the bridge no more at its end than it did at its beginning: no memory, no goroutine, no
// descriptor, no process; and the state grows with what is said, and no faster.
func TestSoak(t *testing.T) {
	long, turns := soakSize(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, options{config: "[policy]\n", codex: buildScriptedCodex(t)})
	w.write("config.toml", soakConfig(w, self))

	// One round, and what has come into being then.
	s := w.soak()
	if err := s.round(s.talk()); err != nil {
		t.Fatal(err)
	}
	before := s.goroutines()

	s = w.soak() // the sessions are gone on with
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
	t.Logf("%v; the person was asked %d questions", course[len(course)-1], s.asked.Load())
	steady(t, course)
	after := s.goroutines()
	for where, n := range after {
		if n > before[where]+mostMoreGoroutines {
			t.Errorf("%d goroutines of %s, after one round %d", n, where, before[where])
		}
	}
	w.survives()
}

// round is a turn of each kind for each talker, who each begin with another one, and what
// is not a turn between them.
func (s *soaker) round(talkers []*talker) error {
	var all errgroup.Group
	for i, k := range talkers {
		all.Go(func() error {
			if k.turns == 0 {
				if err := k.word(); err != nil {
					return err
				}
			}
			for n := range kinds {
				kind := kinds[(n+i*3)%len(kinds)]
				if err := kind.take(k); err != nil {
					return fmt.Errorf("%s, turn %d, %s: %w", k.key, k.turns, kind.name, err)
				}
			}
			if err := k.refused(); err != nil {
				return err
			}
			return k.rotates()
		})
	}
	return all.Wait()
}
