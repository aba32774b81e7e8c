package guard_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/rpc"
)

const hookSource = "/<session-flags>/config.toml"

// otherStarts has Codex start a hook and the item of a call. The run's id does not name the call if the source
// has a "#".
func otherStarts(source, call, item string) (lines []string) {
	run := fmt.Sprintf("pre-tool-use:0:%s:%s", source, call)
	if strings.Contains(source, "#") {
		run = "1"
	}
	return []string{
		fmt.Sprintf(`{"method":"hook/started","params":{"threadId":"t1","turnId":"u","run":{"id":%q,"eventName":"preToolUse","sourcePath":%q}}}`, run, source),
		fmt.Sprintf(`{"method":"item/started","params":{"item":{%s,"id":%q},"threadId":"t1","turnId":"u"}}`, item, call),
	}
}

// The turn of a call that runs with another input than it was judged with is interrupted if another hook ran.
func TestReplacedInputEndsTurn(t *testing.T) {
	patch := func(t *testing.T, folder string) toolcall.Call {
		input, err := rpc.ParseValue([]byte(`{"command":"*** Begin Patch\n*** Update File: a/../b\n*** Move to: c\n@@\n-x\n+y\n*** End Patch\n"}`))
		if err != nil {
			t.Fatal(err)
		}
		return toolcall.Call{Name: "apply_patch", Input: input.Root(), Cwd: folder}
	}
	command := func(text string) string { return fmt.Sprintf(`"type":"commandExecution","command":%q`, text) }
	const changes = `"type":"fileChange","changes":[{"path":"FOLDER/b","kind":{"type":"update","move_path":"FOLDER/%s"}}]`
	for name, test := range map[string]struct {
		judged string // the command; "": a patch
		source string
		item   string
		ends   bool
	}{
		"the same":          {"echo 'a b'", "/h/hooks.json", command(`/bin/bash -lc "echo 'a b'"`), false},
		"another":           {"echo a", "/h/hooks.json", command(`/bin/bash -lc 'echo b'`), true},
		"another, quoted":   {"echo a", "/h/hooks.json", command(`/bin/bash -lc echo a`), true},
		"not to be split":   {"echo a", "/h/hooks.json", command("/bin/bash -lc '"), true},
		"the bridge's hook": {"echo a", hookSource, command(`/bin/bash -lc '{ echo a\n}'`), false},
		"a patch instead":   {"echo a", "/h/hooks.json", `"type":"fileChange","changes":[]`, true},
		"the same patch":    {"", "/h/hooks.json", fmt.Sprintf(changes, "c"), false},
		"another patch":     {"", "/h/hooks.json", fmt.Sprintf(changes, "d"), true},
		"an unnamed call":   {"echo a", "/h/hooks.json#1", command(`/bin/bash -lc 'echo b'`), true},
		"an unnamed one":    {"echo a", "/h/hooks.json#1", command(`/bin/bash -lc 'echo a'`), false},
	} {
		t.Run(name, func(t *testing.T) {
			b := &book{}
			c, g, w := converse(t, strictPolicy, b)
			g.SetOtherHooks(func(context.Context, string, string, string) ([]string, error) { return nil, nil }, hookSource)
			opens(c, "thread/start", "t1", "untrusted")
			use := patch(t, w.StartFolder)
			if test.judged != "" {
				use = bash(t, test.judged, w.StartFolder)
			}
			use.ID = "call"
			if refusal := g.StartCall(t.Context(), "t1", "u", use.ID, "", nil); refusal != "" {
				t.Fatal(refusal)
			}
			g.JudgedCall("t1", "u", use)
			for _, line := range append(otherStarts(test.source, "call", strings.ReplaceAll(test.item, "FOLDER", w.StartFolder)), `{"method":"last","params":{}}`) {
				c.CodexSends(line)
			}
			if test.ends {
				m, err := rpc.ParseMessage([]byte(<-c.CodexReceives()))
				if err != nil || m.Method != "turn/interrupt" || !m.Params.Get("turnId").Is("u") {
					t.Fatalf("Codex gets %v %v", m, err)
				}
				c.CodexSends(fmt.Sprintf(`{"id":%s,"result":{}}`, m.ID.Raw()))
			}
			var warned bool
			for last := false; !last || test.ends && !warned; {
				line := <-c.EditorReceives()
				last = last || strings.Contains(line, `"last"`)
				warned = warned || strings.Contains(line, `"warning"`) && strings.Contains(line, "/h/hooks.json") && strings.Contains(line, "[[hooks.handler]]")
			}
			if logged := len(b.entries) == 1; warned != test.ends || logged != test.ends {
				t.Errorf("warned: %t; logged: %v", warned, b.entries)
			}
		})
	}
}
