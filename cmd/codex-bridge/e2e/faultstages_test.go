//go:build linux

package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// faultConfig has all that can be in flight: a policy, a hook that waits for ever when the
// command says so, a tool that does, a server with one, and an agent.
func faultConfig(w *world) string {
	return "[policy]\nsandbox = \"workspace-write\"\napproval = [\"on-request\", \"untrusted\"]\n[codex]\nshutdown_grace = \"1m\"\n" +
		"[tools.waits]\ndescription = \"D\"\ntimeout = \"5m\"\n" +
		"command = [\"/bin/sh\", \"-c\", \"setsid sleep 3600 & : > '" + w.root + "/begun'; sleep 3600\"]\n" +
		"[hooks]\ntimeout = \"2m\"\n" +
		w.handler("pre_tool_use", "2m", "case \"$(cat)\" in *HOOK*) : > '"+w.root+"/begun'; sleep 3600;; esac") +
		small() + "[acp]\n[acp.agents.codex]\n" + fmt.Sprintf("command = [%q]\n", acpAgent)
}

// stage is where a conversation can be when somebody is killed.
type stage struct {
	name string
	// reach brings it there; what it has sent and has no answer is under way.
	reach func(c *conversation)
	// of names who is at work there, and nowhere else, and whose end is that of the turn.
	of string
}

var stages = []stage{
	{name: "before initialize", reach: func(*conversation) {}},
	{name: "after initialize", reach: func(c *conversation) { c.knowsTools() }},
	{name: "thread/start sent", reach: func(c *conversation) {
		c.knowsTools()
		c.sends("start", "thread/start", map[string]any{"cwd": c.workspace})
	}},
	{name: "rotation", reach: func(c *conversation) {
		c.knowsTools()
		start := func(engine string) map[string]any {
			return map[string]any{"cwd": c.workspace, "bridge": map[string]any{"sessionKey": "chat", "contextEngine": map[string]any{"id": engine}}}
		}
		c.must("thread/start", start("one"))
		c.sends("start", "thread/start", start("two"))
	}},
	{name: "turn running", reach: func(c *conversation) {
		_, mark := c.begin(c.faultThread(), "SLOW: 3600000")
		c.waitFor(mark, "item/agentMessage/delta", nil)
	}},
	{name: "command running", reach: func(c *conversation) {
		c.begin(c.faultThread(), "RUN: : > begun; (setsid sleep 3600 &); sleep 3600")
		c.awaits(filepath.Join(c.workspace, "begun"))
	}},
	{name: "approval pending", reach: func(c *conversation) {
		c.knowsTools()
		thread := c.thread(map[string]any{"approvalPolicy": "untrusted", "sandbox": "workspace-write"})
		_, mark := c.begin(thread, "RUN: touch undecided")
		c.waitFor(mark, commandApproval, nil)
	}},
	{name: "tool call pending", of: "tool", reach: func(c *conversation) {
		c.begin(c.faultThread(), "CALL: waits {}")
		c.awaits(filepath.Join(c.root, "begun"))
	}},
	{name: "server call pending", of: "tool server", reach: func(c *conversation) {
		c.offered("hangs")
		c.begin(c.faultThread(), `CALL: small/hangs {"path":"`+c.root+`/begun"}`)
		c.awaits(filepath.Join(c.root, "begun"))
	}},
	{name: "hook in flight", of: "hook", reach: func(c *conversation) {
		c.begin(c.faultThread(), "RUN: : HOOK; touch undecided")
		c.awaits(filepath.Join(c.root, "begun"))
	}},
	{name: "agent running", reach: func(c *conversation) { c.faultAgent() }},
	{name: "store write", reach: func(c *conversation) {
		c.faultThread()
		for i := range 40 { // each is on record before it is answered
			c.sends(fmt.Sprint("deny", i), "thread/shellCommand", map[string]any{"threadId": "t", "command": "true"})
		}
	}},
	{name: "shutdown", reach: func(c *conversation) {
		c.faultThread()
		if err := c.CloseInput(); err != nil {
			c.t.Fatal(err)
		}
	}},
}

// knowsTools shakes hands, unless that was done.
func (c *conversation) knowsTools() {
	c.t.Helper()
	for _, m := range c.Messages() {
		if m.Sent && m.Method == "initialize" {
			return
		}
	}
	c.knows()
}

func (c *conversation) faultThread() string {
	c.knowsTools()
	return c.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
}

// faultAgent has an agent at work: the real codex-acp, with a bridge and a codex of its own.
func (c *conversation) faultAgent() {
	c.knowsTools()
	one := c.spawn(map[string]any{"task": "SLOW: 3600000", "agentId": "codex"})
	one.told(one.run, "text")
}

// offered waits until there is a tool: nobody waits for servers.
func (c *conversation) offered(tool string) {
	c.t.Helper()
	for c.knowsTools(); !strings.Contains(string(c.must("bridge/tool/list", map[string]any{})), tool); time.Sleep(5 * time.Millisecond) {
	}
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
