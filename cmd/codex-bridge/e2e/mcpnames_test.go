//go:build linux

package e2e_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// Codex changes names of MCP servers and tools, and names that are equal then get a hash. A rule
// with the server's own names denies the tool.
func TestRulesOfRenamedMCPTools(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		servers []string
		rule    string // "" is the control
		ran     bool
	}{
		"no rule":         {[]string{"my-probe"}, "", true},
		"another rule":    {[]string{"my-probe"}, "mcp__my-probe2__*", true},
		"server":          {[]string{"my-probe"}, "mcp__my-probe__*", false},
		"renamed server":  {[]string{"my-probe"}, "mcp__my_probe__*", false},
		"server with dot": {[]string{`"my.probe"`}, "mcp__my.probe__touch-it", false},
		"tool":            {[]string{"probe"}, "mcp__probe__touch-it", false},
		"two servers":     {[]string{"my-probe", "my_probe"}, "mcp__my-probe__*", false},
	} {
		if !isSampledName(2, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := "[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\n"
			if test.rule != "" {
				config += fmt.Sprintf("[[policy.rule]]\ntool = %q\ndecision = \"deny\"\nreason = \"No such tool.\"\n", test.rule)
			}
			servers := ""
			for _, server := range test.servers {
				servers += mcpConfig(server)
			}
			w := newWorld(t, options{config: config, codexConfig: servers})
			a := w.newAcceptingEditor(proxyArgv...)
			thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
			a.turn(thread, "RUN: true")
			requests := w.model.Requests()
			server := regexp.MustCompile(`mcp__(my_)?probe[0-9a-f_]*`).FindString(string(requests[len(requests)-1].Body))
			if len(test.servers) > 1 && !regexp.MustCompile(`_[0-9a-f]{12}`).MatchString(server) {
				t.Fatalf("Codex's name is %q", server)
			}
			a.turn(thread, "CALL: "+strings.TrimSuffix(server, "__")+`/touch_it {"path":"`+w.workspace+`/touched"}`)
			if ran := w.hasFile("workspace/touched"); ran != test.ran || !ran && !strings.Contains(w.lastToolOutput(), "No such tool") {
				t.Errorf("%s/touch_it ran: %v; the model got %q", server, ran, w.lastToolOutput())
			}
			a.closeAndWait()
		})
	}
}

// Codex removes underscores, and what becomes one, between the names of a server and its tool. A rule with the
// server's own names denies the tool.
func TestRulesOfJoinedMCPNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{codexConfig: mcpConfigOf(`"s-"`, []string{"a"}) + mcpConfigOf("t_", []string{"b"}) + mcpConfigOf("u", []string{"-c", "_d", " e", "__f", "g"}), config: `[policy]
approval = ["on-request"]
sandbox = "workspace-write"
[[policy.rule]]
tool = "{mcp__s-__*,mcp__t___*,mcp__u__-c,mcp__u___d,mcp__u__ e,mcp__u___*f}"
decision = "deny"
reason = "No such tool."
`})
	a := w.newAcceptingEditor(proxyArgv...)
	thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
	for _, call := range []string{"s_/a", "t_/b", "u/_c", "u/_d", "u/_e", "u/__f", "u/g"} {
		a.turn(thread, "CALL: mcp__"+call+` {"path":"`+w.workspace+`/touched"}`)
		if ran := w.hasFile("workspace/touched"); ran != (call == "u/g") || !ran && !strings.Contains(w.lastToolOutput(), "No such tool") {
			t.Errorf("%s ran: %t; the model got %q", call, ran, w.lastToolOutput())
		}
	}
	a.closeAndWait()
}

// A rule that denies the tools of an MCP server denies Codex's own tools for the server's resources,
// too. Codex asks no question before it reads a resource.
func TestRulesOfMCPResources(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		rule string // "" is the control
		ran  bool
	}{
		"no rule":        {"", true},
		"another server": {"mcp__other__*", true},
		"every tool":     {"mcp", false},
		"the server":     {"mcp__my-probe__*", false},
	} {
		if !isSampledName(2, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := "[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\n"
			if test.rule != "" {
				config += fmt.Sprintf("[[policy.rule]]\ntool = %q\ndecision = \"deny\"\nreason = \"No such tool.\"\n", test.rule)
			}
			w := newWorld(t, options{config: config, codexConfig: mcpConfig("my-probe")})
			a := w.newAcceptingEditor(proxyArgv...)
			thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
			questions := a.turn(thread, `CALL: read_mcp_resource {"server":" my-probe ","uri":"touch:`+w.workspace+`/touched"}`)
			if ran := w.hasFile("workspace/touched"); ran != test.ran || len(questions) > 0 || !ran && !strings.Contains(w.lastToolOutput(), "No such tool") {
				t.Errorf("the resource was read: %v, %d questions; the model got %q", ran, len(questions), w.lastToolOutput())
			}
			a.closeAndWait()
		})
	}
}
