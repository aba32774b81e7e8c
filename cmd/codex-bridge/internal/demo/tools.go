package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// exampleTool is a host tool that runs a command.
const exampleTool = `[tools.lookup_ticket]
description = "Fetch a ticket by its id."
input_schema = { type = "object", properties = { id = { type = "string" } }, required = ["id"] }
command = ["/bin/sh", "-c", "echo \"the ticket $(cat) is open\""]
`

// referenceServer is the reference MCP server, which `make setup` installs next to Codex.
const referenceServer = "mcp-server-everything"

// toolSettings returns the configuration of tools.
func toolSettings(codex string) string {
	path := findProgram(codex, referenceServer)
	if path == "" {
		return exampleTool
	}
	return exampleTool + fmt.Sprintf("\n[tool_servers.everything]\ncommand = [%q, \"stdio\"]\n", path)
}

// findProgram returns a program next to Codex or on PATH; "" if there is none.
func findProgram(codex, name string) string {
	beside := filepath.Join(filepath.Dir(codex), name)
	if _, err := os.Stat(beside); err == nil {
		return beside
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	return path
}

// sceneTools calls tools that the editor does not know.
func sceneTools(ctx context.Context, s *stage) error {
	s.say("The configuration can give the model tools of the host: a command, or an MCP server. The\nbridge offers them in every thread and answers their calls. This one has")
	s.block(toolSettings(s.o.Codex))
	back, err := s.useNewThread(ctx)
	if err != nil {
		return err
	}
	defer back()
	mark := s.editor.Mark()
	calls := []struct{ order, want string }{{`lookup_ticket {"id":"A-7"}`, `the ticket {"id":"A-7"} is open`}}
	if findProgram(s.o.Codex, referenceServer) != "" {
		calls = append(calls, struct{ order, want string }{`everything/get-sum {"a":2,"b":40}`, "42"})
	} else {
		s.say("    (%s is not installed next to Codex; with it the demo also calls a tool of a real MCP server)", referenceServer)
	}
	for _, c := range calls {
		text, err := s.turn(ctx, "CALL: "+c.order, nil)
		if err != nil {
			return err
		}
		s.quote("codex", text)
		if !strings.Contains(text, c.want) {
			return fmt.Errorf("the model did not get %q", c.want)
		}
	}
	for _, m := range s.editor.Messages()[mark:] {
		if m.Method == "item/tool/call" {
			return errors.New("the editor got a call of a tool that it does not know")
		}
	}
	s.good("tools called: %d; the editor got none of the calls", len(calls))
	return nil
}
