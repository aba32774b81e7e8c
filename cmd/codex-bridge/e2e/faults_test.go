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

	"codex-bridge/cmd/internal/editor"
)

// seedsEnv is how many seeds of each fault are tried; without it one, and of the rarer
// victims at some stages only.
const seedsEnv = "CODEX_BRIDGE_FAULT_SEEDS"

func seeds(t *testing.T) (n uint64, wide bool) {
	text := os.Getenv(seedsEnv)
	if text == "" {
		return 1, false
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		t.Fatalf("%s: %q is no number of seeds", seedsEnv, text)
	}
	return n, true
}

// Whoever is killed, and whenever: two seconds later nobody is left of whom the dead one was
// in charge, whoever is alive has answered what was asked, nothing that was not decided has
// been done, the state can be read and is whole, and the next conversation works.
func TestFaults(t *testing.T) {
	t.Parallel()
	n, wide := seeds(t)
	for _, stage := range stages {
		for _, victim := range victims {
			if !victim.meets(stage, wide) {
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
					if !victim.dies(c) {
						t.Fatal("there is nobody to kill")
					}
					c.mourns(stage, victim)
					w.survives()
				})
			}
		}
	}
}

// mourns is what has to hold once somebody was killed.
func (c *conversation) mourns(s stage, v party) {
	c.t.Helper()
	if v.goesOn {
		c.goesOn(s, v)
		c.quit()
	} else if _, err := c.Exit(c.ctx); err != nil {
		c.t.Fatal(err)
	}
	w := c.world
	left := w.await(func(pids []int) bool { return len(pids) == 0 && len(w.atWork()) == 0 })
	if left = append(left, w.atWork()...); len(left) > 0 {
		c.t.Errorf("2 s later there are:%s", describe(left))
	}
	if v.name == "codex" {
		c.drain()
		c.allAnswered()
	}
	c.undecided()
}

// goesOn is what has to hold of a conversation that has lost one of those who work for it.
func (c *conversation) goesOn(s stage, v party) {
	c.t.Helper()
	if s.name == "shutdown" {
		return
	}
	if s.of == v.name { // the turn has lost what it waited for, and is told
		c.waitFor(0, "turn/completed", nil)
	}
	if v.name == "agent" {
		c.waitFor(0, "bridge/acp/update", func(m editor.Message) bool { return m.Param("kind") == "failed" })
	}
	c.knowsTools()
	for _, m := range c.Messages() {
		if m.Sent && m.IsRequest() {
			c.waitAnswer(string(m.ID))
		}
	}
	if v.name == "tool server" { // it comes back
		c.offered("touch") // a thread goes on with the tools that it was started with
		thread := c.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
		if told := c.calls(thread, "small/touch", `{"path":"`+c.root+`/again"}`); !c.left("again") {
			c.t.Errorf("the server's tool does not run again: the model was told %s", told)
		}
	}
}

// undecided fails the test when something was done that nobody has decided, or is on record
// as if somebody had: a question without an answer was declined, or has come to nothing.
func (c *conversation) undecided() {
	c.t.Helper()
	c.absent("undecided")
	out, stderr, code := c.own("decisions", "list", "--json", "--limit", "0")
	var all []struct{ Method, Verdict string }
	if err := json.Unmarshal([]byte(out), &all); err != nil || code != 0 {
		c.t.Errorf("decisions list: %v, exit %d\n%s", err, code, stderr)
	}
	for _, entry := range all {
		if strings.HasSuffix(entry.Method, "requestApproval") && entry.Verdict != "deny" {
			c.t.Errorf("on record is %+v", entry)
		}
	}
}

// allAnswered fails the test for each request that the bridge has read and not answered, and
// for each that has two answers. What is still in the pipe when the bridge ends nobody has
// read: that are the last ones.
func (c *conversation) allAnswered() {
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
			c.t.Errorf("the request %s has %d answers", id, answers[id])
		}
	}
}

// survives checks the state, and that a new conversation works.
func (w *world) survives() {
	w.t.Helper()
	verify := exec.Command(proxyPath, "decisions", "verify")
	verify.Env, verify.Dir = w.env, w.workspace
	if out, err := verify.CombinedOutput(); err != nil && !strings.Contains(string(out), "no decisions") {
		w.t.Errorf("decisions verify: %v\n%s", err, out)
	}
	c := w.open(proxyArgv...)
	c.knowsTools()
	thread := editor.Member(c.must("thread/start", map[string]any{
		"cwd": w.workspace, "approvalPolicy": "on-request", "sandbox": "workspace-write", "bridge": map[string]any{"sessionKey": "chat"},
	}), "thread", "id")
	if said := c.told(thread, "SAY: alive"); said != "alive" {
		w.t.Errorf("the model said %q", said)
	}
	c.quit()
	if sockets, err := filepath.Glob(filepath.Join(w.root, "state", "run", "*", "*")); err != nil || len(slices.DeleteFunc(sockets, isNoSocket)) > 0 {
		w.t.Errorf("sockets are left: %q %v", sockets, err)
	}
}

func isNoSocket(path string) bool {
	info, err := os.Lstat(path)
	return err != nil || info.Mode()&os.ModeSocket == 0
}
