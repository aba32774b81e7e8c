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
	"syscall"
	"testing"
	"time"

	"codex-bridge/cmd/internal/editor"
)

// seedsEnv is how many seeds of each fault are tried; without it one.
const seedsEnv = "CODEX_BRIDGE_FAULT_SEEDS"

func seeds(t *testing.T) uint64 {
	text := os.Getenv(seedsEnv)
	if text == "" {
		return 1
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		t.Fatalf("%s: %q is no number of seeds", seedsEnv, text)
	}
	return n
}

// faultConfig has all that can be in flight: a policy, a hook that waits for ever when the
// command says so, a tool that does, and one that leaves its session.
func faultConfig(w *world) string {
	return "[policy]\nsandbox = \"workspace-write\"\napproval = [\"on-request\", \"untrusted\"]\n[codex]\nshutdown_grace = \"1m\"\n" +
		"[tools.waits]\ndescription = \"D\"\ntimeout = \"5m\"\n" +
		"command = [\"/bin/sh\", \"-c\", \"setsid sleep 3600 & : > '" + w.root + "/begun'; sleep 3600\"]\n" +
		"[hooks]\ntimeout = \"2m\"\n" +
		w.handler("pre_tool_use", "2m", "case \"$(cat)\" in *HOOK*) : > '"+w.root+"/begun'; sleep 3600;; esac")
}

// stages are where a conversation can be when somebody is killed. Each brings it there; what
// it has sent and has no answer is under way.
var stages = []struct {
	name  string
	reach func(c *conversation)
}{
	{"before initialize", func(*conversation) {}},
	{"after initialize", func(c *conversation) { c.knowsTools() }},
	{"thread/start sent", func(c *conversation) {
		c.knowsTools()
		c.sends("start", "thread/start", map[string]any{"cwd": c.workspace})
	}},
	{"rotation", func(c *conversation) {
		c.knowsTools()
		start := func(engine string) map[string]any {
			return map[string]any{"cwd": c.workspace, "bridge": map[string]any{"sessionKey": "chat", "contextEngine": map[string]any{"id": engine}}}
		}
		c.must("thread/start", start("one"))
		c.sends("start", "thread/start", start("two"))
	}},
	{"turn running", func(c *conversation) {
		_, mark := c.begin(c.faultThread(), "SLOW: 3600000")
		c.waitFor(mark, "item/agentMessage/delta", nil)
	}},
	{"command running", func(c *conversation) {
		c.begin(c.faultThread(), "RUN: : > begun; (setsid sleep 3600 &); sleep 3600")
		c.awaits(filepath.Join(c.workspace, "begun"))
	}},
	{"approval pending", func(c *conversation) {
		c.knowsTools()
		thread := c.thread(map[string]any{"approvalPolicy": "untrusted", "sandbox": "workspace-write"})
		_, mark := c.begin(thread, "RUN: touch undecided")
		c.waitFor(mark, "item/commandExecution/requestApproval", nil)
	}},
	{"tool call pending", func(c *conversation) {
		c.begin(c.faultThread(), "CALL: waits {}")
		c.awaits(filepath.Join(c.root, "begun"))
	}},
	{"hook in flight", func(c *conversation) {
		c.begin(c.faultThread(), "RUN: : HOOK; touch undecided")
		c.awaits(filepath.Join(c.root, "begun"))
	}},
	{"store write", func(c *conversation) {
		c.faultThread()
		for i := range 40 { // each is on record before it is answered
			c.sends(fmt.Sprint("deny", i), "thread/shellCommand", map[string]any{"threadId": "t", "command": "true"})
		}
	}},
	{"shutdown", func(c *conversation) {
		c.faultThread()
		if err := c.CloseInput(); err != nil {
			c.t.Fatal(err)
		}
	}},
}

func (c *conversation) knowsTools() {
	c.initialize(map[string]any{"experimentalApi": true, "bridge": map[string]any{"version": 1}})
}

func (c *conversation) faultThread() string {
	c.knowsTools()
	return c.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
}

// sends sends a request and does not wait.
func (c *conversation) sends(id, method string, params map[string]any) {
	line, err := json.Marshal(map[string]any{"id": id, "method": method, "params": params})
	if err == nil {
		err = c.Send(line)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// awaits waits for a file.
func (c *conversation) awaits(path string) {
	for {
		if _, err := os.Stat(path); err == nil {
			return
		}
		if c.ctx.Err() != nil {
			c.t.Fatalf("%s is not made", path)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// victims are who is killed, with kill -9 and nothing else; false: they are not there.
var victims = []struct {
	name string
	kill func(c *conversation) bool
}{
	{"client", func(c *conversation) bool { // its ends of both pipes close
		c.CloseInput()
		return c.CloseOutput() == nil
	}},
	{"bridge", func(c *conversation) bool { return c.Kill() == nil }},
	{"codex", func(c *conversation) bool {
		pids := c.running(codexPath)
		for ; len(pids) == 0 && len(c.running(proxyPath)) > 0; pids = c.running(codexPath) { // it is being started
			time.Sleep(5 * time.Millisecond)
		}
		for _, pid := range pids { // none: it was faster
			syscall.Kill(pid, syscall.SIGKILL)
		}
		return true
	}},
	{"hook", func(c *conversation) bool {
		pids := c.relays()
		for _, pid := range pids {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		return len(pids) > 0
	}},
	{"tool", func(c *conversation) bool {
		pids := c.atWork()
		for _, pid := range pids {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		return len(pids) > 0
	}},
}

// Whoever is killed, and whenever: two seconds later nobody is left of whom the dead one was
// in charge, whoever is alive has answered what was asked, nothing that was not decided has
// been done, the state can be read and is whole, and the next conversation works.
func TestFaults(t *testing.T) {
	for _, stage := range stages {
		for _, victim := range victims {
			if (victim.name == "hook") != (stage.name == "hook in flight") && victim.name == "hook" {
				continue
			}
			if victim.name == "tool" && stage.name != "tool call pending" {
				continue
			}
			for seed := range seeds(t) {
				t.Run(fmt.Sprintf("%s/%s/%d", stage.name, victim.name, seed), func(t *testing.T) {
					t.Parallel()
					w := newWorld(t, options{config: "[policy]\n"})
					w.write("config.toml", faultConfig(w))
					c := w.open(proxyArgv...)
					stage.reach(c)
					random := rand.New(rand.NewPCG(seed, uint64(len(stage.name)+1000*len(victim.name))))
					time.Sleep(time.Duration(random.Int64N(int64(30*time.Millisecond) * int64(min(seed, 1)+1))))
					if !victim.kill(c) {
						t.Fatal("there is nobody to kill")
					}
					c.mourns(victim.name)
					w.survives()
				})
			}
		}
	}
}

// running are the world's processes of a program.
func (w *world) running(program string) []int {
	return slices.DeleteFunc(w.processes(), func(pid int) bool {
		exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		return err != nil || exe != program
	})
}

// mourns is what has to hold once somebody was killed.
func (c *conversation) mourns(victim string) {
	c.t.Helper()
	if victim == "hook" || victim == "tool" { // the others go on
		c.settles()
		c.quit()
	} else if _, err := c.Exit(c.ctx); err != nil {
		c.t.Fatal(err)
	}
	w := c.world
	left := w.await(func(pids []int) bool { return len(pids) == 0 && len(w.atWork()) == 0 })
	if left = append(left, w.atWork()...); len(left) > 0 {
		c.t.Errorf("2 s later there are:%s", describe(left))
	}
	if victim == "codex" {
		c.drain()
		c.allAnswered()
	}
	c.absent("undecided")
}

// settles waits for the end of the turn that a tool or a hook has left.
func (c *conversation) settles() {
	c.t.Helper()
	c.waitFor(0, "turn/completed", nil)
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
