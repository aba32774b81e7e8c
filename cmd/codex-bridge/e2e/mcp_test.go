//go:build linux

package e2e_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// The test program is also an MCP server for configurations. Its tool touch and its resources
// touch:PATH create a file. The tool ask asks the user by a form and returns the answer. The tool
// floods asks many questions at once. The tool die ends the server. The tool hangs creates the file, starts a process in a new session and never
// responds.
const mcpEnv = "CODEX_BRIDGE_E2E_MCP"

// mcpConfigOf returns the section of a server that has more tools like touch-it.
func mcpConfigOf(name string, tools []string) string {
	return strings.Replace(mcpConfig(name), mcpEnv+` = "1"`, mcpEnv+" = "+strconv.Quote(strings.Join(tools, "\n")), 1)
}

// mcpConfig returns the server's section of Codex's configuration.
func mcpConfig(name string) string {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("[mcp_servers.%s]\ncommand = %q\nenv = { %s = \"1\" }\n", name, self, mcpEnv)
}

// serveMCP serves until the end of its input.
func serveMCP() int {
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return 0
		}
		var request struct {
			ID     json.RawMessage
			Method string
			Params struct {
				ProtocolVersion string
				Name            string
				URI             string
				Arguments       struct {
					Path           string
					Question       json.RawMessage
					Count, Answers int
				}
			}
		}
		if json.Unmarshal(line, &request) != nil || request.ID == nil {
			continue
		}
		reply := map[string]any{"jsonrpc": "2.0", "id": request.ID}
		result := map[string]any{}
		switch request.Method {
		case "initialize":
			result["protocolVersion"] = request.Params.ProtocolVersion
			result["capabilities"] = map[string]any{"tools": map[string]any{}, "resources": map[string]any{}}
			result["serverInfo"] = map[string]any{"name": "touch", "version": "0"}
		case "tools/list":
			tools := []any{
				map[string]any{
					"name": "touch", "description": "Leaves a file.",
					"inputSchema": map[string]any{"type": "object", "properties": map[string]any{"path": map[string]any{"type": "string"}}},
				},
				touchTool("touch-it"),
				map[string]any{"name": "ask", "description": "Asks the person.", "inputSchema": map[string]any{"type": "object"}},
				map[string]any{
					"name": "asks", "description": "Asks the person a question of its caller's.", "annotations": map[string]any{"readOnlyHint": true},
					"inputSchema": map[string]any{"type": "object", "properties": map[string]any{"question": map[string]any{"type": "object"}}},
				},
				map[string]any{
					"name": "floods", "description": "Asks the person without end.", "annotations": map[string]any{"readOnlyHint": true},
					"inputSchema": map[string]any{"type": "object", "properties": map[string]any{"count": map[string]any{"type": "integer"}, "answers": map[string]any{"type": "integer"}}},
				},
				map[string]any{"name": "hangs", "description": "Gives no answer.", "inputSchema": map[string]any{"type": "object"}},
				map[string]any{"name": "die", "description": "Ends the server.", "inputSchema": map[string]any{"type": "object"}},
			}
			if more := os.Getenv(mcpEnv); more != "1" {
				tools = nil
				for name := range strings.SplitSeq(more, "\n") {
					tools = append(tools, touchTool(name))
				}
			}
			result["tools"] = tools
		case "tools/call":
			said := ""
			switch request.Params.Name {
			case "die":
				return 7
			case "hangs":
				if exec.Command("setsid", "sleep", "3600").Start() != nil {
					return 1
				}
				touchFile(request.Params.Arguments.Path)
				continue
			case "ask":
				said = elicit(in, howMany)
			case "floods":
				said = flood(in, request.Params.Arguments.Count, request.Params.Arguments.Answers)
			case "asks":
				said = elicit(in, request.Params.Arguments.Question)
			default:
				said = touchFile(request.Params.Arguments.Path)
			}
			result["content"] = []any{map[string]any{"type": "text", "text": said}}
		case "resources/list":
			result["resources"] = []any{}
		case "resources/templates/list":
			result["resourceTemplates"] = []any{}
		case "resources/read":
			path := strings.TrimPrefix(request.Params.URI, "touch:")
			result["contents"] = []any{map[string]any{"uri": request.Params.URI, "text": touchFile(path)}}
		default:
			reply["error"] = map[string]any{"code": -32601, "message": "no such method"}
		}
		if reply["error"] == nil {
			reply["result"] = result
		}
		b, err := json.Marshal(reply)
		if err != nil {
			return 1
		}
		fmt.Printf("%s\n", b)
	}
}

// touchTool returns a tool that claims to change nothing, so that Codex does not ask about it.
func touchTool(name string) map[string]any {
	return map[string]any{
		"name": name, "description": "Leaves a file.", "annotations": map[string]any{"readOnlyHint": true},
		"inputSchema": map[string]any{"type": "object", "properties": map[string]any{"path": map[string]any{"type": "string"}}},
	}
}

var howMany = json.RawMessage(`{"message":"How many?","requestedSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}`)

// elicit asks the user a question and returns the answer.
func elicit(in *bufio.Reader, question json.RawMessage) string {
	fmt.Printf(`{"jsonrpc":"2.0","id":"question","method":"elicitation/create","params":%s}`+"\n", question)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return err.Error()
		}
		var answer struct {
			ID     json.RawMessage
			Result json.RawMessage
			Error  json.RawMessage
		}
		if json.Unmarshal(line, &answer) == nil && string(answer.ID) == `"question"` {
			return "answered " + string(answer.Result) + string(answer.Error)
		}
	}
}

// flood asks a question many times at once, waits for some of the answers, and returns the number of declined ones.
func flood(in *bufio.Reader, questions, answers int) string {
	out := bufio.NewWriter(os.Stdout)
	for i := range questions {
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":"flood%d","method":"elicitation/create","params":%s}`+"\n", i, howMany)
	}
	if err := out.Flush(); err != nil {
		return err.Error()
	}
	declined := 0
	for range answers {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return err.Error()
		}
		var answer struct {
			ID     string
			Result struct{ Action string }
		}
		if json.Unmarshal(line, &answer) == nil && strings.HasPrefix(answer.ID, "flood") && answer.Result.Action == "decline" {
			declined++
		}
	}
	return fmt.Sprintf("%d declined", declined)
}

// touchFile appends a line to a file and returns a text.
func touchFile(path string) string {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	if _, err := f.WriteString("touched\n"); err != nil {
		return err.Error()
	}
	return "touched"
}
