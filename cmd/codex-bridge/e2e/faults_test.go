//go:build linux

package e2e_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/cmd/internal/editor"
)

// seedsEnv is the number of seeds per fault. Without it the tests use one, and the rarer targets
// only at some stages.
const seedsEnv = "CODEX_BRIDGE_FAULT_SEEDS"

func seeds(t *testing.T) (n uint64, wide bool) {
	text := os.Getenv(seedsEnv)
	if text == "" {
		return 1, false
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		t.Fatalf("%s: %q is not a number of seeds", seedsEnv, text)
	}
	return n, true
}

// Any process may be killed at any stage. Within two seconds all processes that depend on it end,
// each request of the client has a response, no undecided action runs, the state is complete, and
// the next conversation works.
func TestFaults(t *testing.T) {
	t.Parallel()
	n, wide := seeds(t)
	for i, stage := range stages {
		for j, victim := range victims {
			if !victim.appliesTo(stage, wide) || !isSampled(7, i, j) {
				continue
			}
			for seed := range n {
				t.Run(fmt.Sprintf("%s/%s/%d", stage.name, victim.name, seed), func(t *testing.T) {
					t.Parallel()
					w := newWorld(t, options{config: "[policy]\n"})
					w.write("config.toml", faultConfig(w))
					c := w.open(proxyArgv...)
					if victim.before != nil && stage.name != victim.often[0] {
						victim.before(c)
					}
					stage.reach(c)
					random := rand.New(rand.NewPCG(seed, uint64(len(stage.name)+1000*len(victim.name))))
					time.Sleep(time.Duration(random.Int64N(int64(30*time.Millisecond) * int64(min(seed, 1)+1))))
					if !victim.killProcesses(c) {
						t.Fatal("no process to kill")
					}
					c.checkAfterKill(stage, victim)
					w.checkSurvives()
				})
			}
		}
	}
}

// checkAfterKill checks the promises after a process was killed.
func (c *conversation) checkAfterKill(s stage, v target) {
	c.t.Helper()
	if v.goesOn {
		c.checkContinues(s, v)
		c.closeAndWait()
	} else if _, err := c.Exit(c.ctx); err != nil {
		c.t.Fatal(err)
	}
	w := c.world
	left := w.waitProcesses(func(pids []int) bool { return len(pids) == 0 && len(w.toolProcesses()) == 0 })
	if left = append(left, w.toolProcesses()...); len(left) > 0 {
		c.t.Errorf("still running after 2 s:%s", describe(left))
	}
	if v.name == "codex" {
		c.drain()
		c.checkAllAnswered()
	}
	c.checkNothingUndecided()
}

// checkContinues checks a conversation that lost one of its helper processes.
func (c *conversation) checkContinues(s stage, v target) {
	c.t.Helper()
	if s.name == "shutdown" {
		return
	}
	if s.of == v.name { // the turn waited for it and gets an error
		c.waitFor(0, "turn/completed", nil)
	}
	if v.name == "agent" {
		c.waitFor(0, "bridge/acp/update", func(m editor.Message) bool { return m.Param("kind") == "failed" })
	}
	c.initializeForTools()
	for _, m := range c.Messages() {
		if m.Sent && m.IsRequest() {
			c.waitResponse(string(m.ID))
		}
	}
	if v.name == "tool server" { // the bridge restarts it
		c.waitTool("touch") // a thread keeps the tools of its start
		thread := c.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
		if output := c.callTool(thread, "small/touch", `{"path":"`+c.root+`/again"}`); !c.hasFile("again") {
			c.t.Errorf("the server's tool does not run again: the model got %s", output)
		}
	}
}

// checkNothingUndecided fails the test if an undecided action ran or is logged as decided. A
// question without an answer was declined, or had no effect.
func (c *conversation) checkNothingUndecided() {
	c.t.Helper()
	c.checkAbsent("undecided")
	out, stderr, code := c.runCommand("decisions", "list", "--json", "--limit", "0")
	var all []struct{ Method, Verdict string }
	if err := json.Unmarshal([]byte(out), &all); err != nil || code != 0 {
		c.t.Errorf("decisions list: %v, exit %d\n%s", err, code, stderr)
	}
	for _, entry := range all {
		if strings.HasSuffix(entry.Method, "requestApproval") && entry.Verdict != "deny" {
			c.t.Errorf("unexpected log entry %+v", entry)
		}
	}
}

// checkAllAnswered fails the test for each request that the bridge read without exactly one
// response. The last requests may still be in the pipe when the bridge exits.
func (c *conversation) checkAllAnswered() {
	c.t.Helper()
	answers := make(map[string]int)
	var asked []string
	for _, m := range c.Messages() {
		switch {
		case m.Sent && m.Method != "" && len(m.ID) > 0:
			asked = append(asked, string(m.ID))
		case !m.Sent && m.IsAnswer():
			answers[string(m.ID)]++
		}
	}
	read := false
	for _, id := range slices.Backward(asked) {
		if read = read || answers[id] > 0; read && answers[id] != 1 {
			c.t.Errorf("request %s has %d responses", id, answers[id])
		}
	}
}

// checkSurvives checks the state, and that a new conversation works.
func (w *world) checkSurvives() {
	w.t.Helper()
	verify := exec.Command(proxyPath, "decisions", "verify")
	verify.Env, verify.Dir = w.env, w.workspace
	if out, err := verify.CombinedOutput(); err != nil && !strings.Contains(string(out), "no decisions") {
		w.t.Errorf("decisions verify: %v\n%s", err, out)
	}
	c := w.open(proxyArgv...)
	c.initializeForTools()
	thread := editor.Member(c.must("thread/start", map[string]any{
		"cwd": w.workspace, "approvalPolicy": "on-request", "sandbox": "workspace-write", "bridge": map[string]any{"sessionKey": "chat"},
	}), "thread", "id")
	if said := c.toolOutput(thread, "SAY: alive"); said != "alive" {
		w.t.Errorf("reply %q", said)
	}
	c.closeAndWait()
	if sockets, err := filepath.Glob(filepath.Join(w.root, "state", "run", "*", "*")); err != nil || len(slices.DeleteFunc(sockets, isNoSocket)) > 0 {
		w.t.Errorf("leftover sockets: %q %v", sockets, err)
	}
}

func isNoSocket(path string) bool {
	info, err := os.Lstat(path)
	return err != nil || info.Mode()&os.ModeSocket == 0
}
