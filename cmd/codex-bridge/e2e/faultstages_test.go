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

// faultConfig has every kind of pending work: a policy, a hook and a tool that never end on demand,
// a server with such a tool, and an agent.
func faultConfig(w *world) string {
	return "[policy]\nsandbox = \"workspace-write\"\napproval = [\"on-request\", \"untrusted\"]\n[codex]\nshutdown_grace = \"1m\"\n" +
		"[tools.waits]\ndescription = \"D\"\ntimeout = \"5m\"\n" +
		"command = [\"/bin/sh\", \"-c\", \"setsid sleep 3600 & : > '" + w.root + "/begun'; sleep 3600\"]\n" +
		"[hooks]\ntimeout = \"2m\"\n" +
		w.writeHandler("pre_tool_use", "2m", "case \"$(cat)\" in *HOOK*) : > '"+w.root+"/begun'; sleep 3600;; esac") +
		smallServer() + "[acp]\n[acp.agents.codex]\n" + fmt.Sprintf("command = [%q]\n", acpAgent)
}

// stage is a point of a conversation at which a process is killed.
type stage struct {
	name string
	// reach brings the conversation there; requests without a response are pending.
	reach func(c *conversation)
	// of is the process that works only at this stage; its end ends the turn.
	of string
}

var stages = []stage{
	{name: "before initialize", reach: func(*conversation) {}},
	{name: "after initialize", reach: func(c *conversation) { c.initializeForTools() }},
	{name: "thread/start sent", reach: func(c *conversation) {
		c.initializeForTools()
		c.sendRequest("start", "thread/start", map[string]any{"cwd": c.workspace})
	}},
	{name: "rotation", reach: func(c *conversation) {
		c.initializeForTools()
		start := func(engine string) map[string]any {
			return map[string]any{"cwd": c.workspace, "bridge": map[string]any{"sessionKey": "chat", "contextEngine": map[string]any{"id": engine}}}
		}
		c.must("thread/start", start("one"))
		c.sendRequest("start", "thread/start", start("two"))
	}},
	{name: "turn running", reach: func(c *conversation) {
		_, mark := c.startTurn(c.faultThread(), "SLOW: 3600000")
		c.waitFor(mark, "item/agentMessage/delta", nil)
	}},
	{name: "command running", reach: func(c *conversation) {
		c.startTurn(c.faultThread(), "RUN: : > begun; (setsid sleep 3600 &); sleep 3600")
		c.waitFile(filepath.Join(c.workspace, "begun"))
	}},
	{name: "approval pending", reach: func(c *conversation) {
		c.initializeForTools()
		thread := c.thread(map[string]any{"approvalPolicy": "untrusted", "sandbox": "workspace-write"})
		_, mark := c.startTurn(thread, "RUN: touch undecided")
		c.waitFor(mark, commandApproval, nil)
	}},
	{name: "tool call pending", of: "tool", reach: func(c *conversation) {
		c.startTurn(c.faultThread(), "CALL: waits {}")
		c.waitFile(filepath.Join(c.root, "begun"))
	}},
	{name: "server call pending", of: "tool server", reach: func(c *conversation) {
		c.waitTool("hangs")
		c.startTurn(c.faultThread(), `CALL: small/hangs {"path":"`+c.root+`/begun"}`)
		c.waitFile(filepath.Join(c.root, "begun"))
	}},
	{name: "hook in flight", of: "hook", reach: func(c *conversation) {
		c.startTurn(c.faultThread(), "RUN: : HOOK; touch undecided")
		c.waitFile(filepath.Join(c.root, "begun"))
	}},
	{name: "agent running", reach: func(c *conversation) { c.faultAgent() }},
	{name: "store write", reach: func(c *conversation) {
		c.faultThread()
		for i := range 40 { // each is logged before the response
			c.sendRequest(fmt.Sprint("deny", i), "thread/shellCommand", map[string]any{"threadId": "t", "command": "true"})
		}
	}},
	{name: "shutdown", reach: func(c *conversation) {
		c.faultThread()
		if err := c.CloseInput(); err != nil {
			c.t.Fatal(err)
		}
	}},
}

// initializeForTools does the handshake once.
func (c *conversation) initializeForTools() {
	c.t.Helper()
	for _, m := range c.Messages() {
		if m.Sent && m.Method == "initialize" {
			return
		}
	}
	c.initializeWithBridge()
}

func (c *conversation) faultThread() string {
	c.initializeForTools()
	return c.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
}

// faultAgent starts an agent: the real codex-acp, with its own bridge and Codex.
func (c *conversation) faultAgent() {
	c.initializeForTools()
	one := c.spawn(map[string]any{"task": "SLOW: 3600000", "agentId": "codex"})
	one.waitUpdate(one.run, "text")
}

// waitTool waits until a tool is offered: a thread does not wait for servers.
func (c *conversation) waitTool(tool string) {
	c.t.Helper()
	for c.initializeForTools(); !strings.Contains(string(c.must("bridge/tool/list", map[string]any{})), tool); time.Sleep(5 * time.Millisecond) {
	}
}

// sendRequest sends a request and does not wait.
func (c *conversation) sendRequest(id, method string, params map[string]any) {
	line, err := json.Marshal(map[string]any{"id": id, "method": method, "params": params})
	if err == nil {
		err = c.Send(line)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// waitFile waits for a file. Its error has the last messages, which say whether the turn has ended without it.
func (c *conversation) waitFile(path string) {
	for {
		if _, err := os.Stat(path); err == nil {
			return
		}
		if c.ctx.Err() != nil {
			all := c.Messages()
			var last strings.Builder
			for _, m := range all[max(0, len(all)-8):] {
				fmt.Fprintf(&last, "\n%.400s", m.Raw)
			}
			c.t.Fatalf("%s does not exist; the last messages: %s", path, &last)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
