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

// aTool is a tool of the host's that is a command.
const aTool = `[tools.lookup_ticket]
description = "Fetch a ticket by its id."
input_schema = { type = "object", properties = { id = { type = "string" } }, required = ["id"] }
command = ["/bin/sh", "-c", "echo \"the ticket $(cat) is open\""]
`

// reference is the MCP server that `make setup` installs beside codex, from those who keep
// the protocol.
const reference = "mcp-server-everything"

// tools is what the configuration has of tools.
func tools(codex string) string {
	path := find(codex, reference)
	if path == "" {
		return aTool
	}
	return aTool + fmt.Sprintf("\n[tool_servers.everything]\ncommand = [%q, \"stdio\"]\n", path)
}

// find is a program that lies beside codex, or on PATH; "" there is none.
func find(codex, name string) string {
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

// toolsOfTheHost calls tools that the editor knows nothing of.
func toolsOfTheHost(ctx context.Context, s *stage) error {
	s.say("The configuration can give the model tools of the host's: a command, or an MCP server. The\nbridge offers them to every thread and answers their calls. This one has")
	s.block(tools(s.o.Codex))
	back, err := s.another(ctx)
	if err != nil {
		return err
	}
	defer back()
	mark := s.editor.Mark()
	calls := []struct{ order, want string }{{`lookup_ticket {"id":"A-7"}`, `the ticket {"id":"A-7"} is open`}}
	if find(s.o.Codex, reference) != "" {
		calls = append(calls, struct{ order, want string }{`everything/get-sum {"a":2,"b":40}`, "42"})
	} else {
		s.say("    (%s is not installed beside codex; with it the demo calls a tool of a real MCP server, too)", reference)
	}
	for _, c := range calls {
		text, err := s.turn(ctx, "CALL: "+c.order, nil)
		if err != nil {
			return err
		}
		s.quote("codex", text)
		if !strings.Contains(text, c.want) {
			return fmt.Errorf("the model was not told %q", c.want)
		}
	}
	for _, m := range s.editor.Messages()[mark:] {
		if m.Method == "item/tool/call" {
			return errors.New("the editor was asked to run a tool that it does not know")
		}
	}
	s.good("tools called: %d; the editor was asked to run none of them", len(calls))
	return nil
}
