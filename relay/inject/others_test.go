package inject_test

import (
	"fmt"
	"strings"
	"testing"

	"codex-bridge.example/relay/inject"
	"codex-bridge.example/rpc"
)

// A hook counts unless it surely does not replace the input of the tool's calls.
func TestReplacing(t *testing.T) {
	const own = `"eventName":"preToolUse","sourcePath":"/h/hooks.json","command":"./lint","enabled":true,"async":false,"matcher":"Bash","trustStatus":"trusted"`
	for name, test := range map[string]struct {
		was, is string // a change of own
		tool    string
		counts  bool
	}{
		"of commands":               {tool: "Bash", counts: true},
		"any tool":                  {tool: "", counts: true},
		"of other tools":            {tool: "apply_patch"},
		"a tool with unknown names": {tool: "view_image", counts: true},
		"managed":                   {was: `"trustStatus":"trusted"`, is: `"trustStatus":"managed"`, tool: "Bash", counts: true},
		"unknown members":           {was: own, is: `"eventName":"preToolUse"`, tool: "Bash", counts: true},
		"untrusted":                 {was: `"trustStatus":"trusted"`, is: `"trustStatus":"untrusted"`, tool: "Bash"},
		"changed":                   {was: `"trustStatus":"trusted"`, is: `"trustStatus":"modified"`, tool: "Bash"},
		"disabled":                  {was: `"enabled":true`, is: `"enabled":false`, tool: "Bash"},
		"async":                     {was: `"async":false`, is: `"async":true`, tool: "Bash"},
		"another event":             {was: "preToolUse", is: "postToolUse", tool: "Bash"},
		"the bridge's":              {was: "/h/hooks.json", is: strings.ReplaceAll(inject.Source, `\`, `\\`), tool: "Bash"},
		"no matcher":                {was: `"Bash"`, is: `null`, tool: "Bash", counts: true},
		"a list":                    {was: `"Bash"`, is: `"Read|Bash"`, tool: "Bash", counts: true},
		"a list with nothing":       {was: `"Bash"`, is: `"Read|"`, tool: "Bash", counts: true},
		"a list of others":          {was: `"Bash"`, is: `"Read|Write"`, tool: "Bash"},
		"another name of a patch":   {was: `"Bash"`, is: `"Read|Write"`, tool: "apply_patch", counts: true},
		"a pattern":                 {was: `"Bash"`, is: `"^B.s"`, tool: "Bash", counts: true},
		"a pattern of MCP tools":    {was: `"Bash"`, is: `"^mcp__.*"`, tool: "Bash"},
		"that of others, too":       {was: `"Bash"`, is: `"mcp__.*|.*"`, tool: "Bash", counts: true},
		"of an MCP tool":            {was: `"Bash"`, is: `"mcp__.*"`, tool: "mcp__a__b", counts: true},
		"of another MCP tool":       {was: `"Bash"`, is: `"mcp__c__d"`, tool: "mcp__a__b"},
	} {
		hook := strings.Replace(own, test.was, test.is, 1)
		if test.was == "" {
			hook = own
		}
		list, err := rpc.ParseValue(fmt.Appendf(nil, `{"data":[{"hooks":[{%s}]}]}`, hook))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		names, err := inject.Replacing(list.Root(), test.tool)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if counts := len(names) == 1; counts != test.counts {
			t.Errorf("%s: %q", name, names)
		}
	}
}

// Hooks in a form that the bridge does not know are no empty list.
func TestUnknownFormOfHooksIsAnError(t *testing.T) {
	for text, known := range map[string]bool{
		`{"data":[]}`: true, `{"data":[{"cwd":"/w","hooks":[]}]}`: true,
		`{}`: false, `null`: false, `{"data":{}}`: false, `{"data":[{"cwd":"/w"}]}`: false, `{"data":[{"hooks":{}}]}`: false,
	} {
		list, err := rpc.ParseValue([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if names, err := inject.Replacing(list.Root(), "Bash"); (err == nil) != known || names != nil {
			t.Errorf("%s: %q, %v", text, names, err)
		}
	}
}
