package featurecmd

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	sdk "github.com/coder/acp-go-sdk"
	"pgregory.net/rapid"

	"codex-bridge.example/lifecycle/acp"
)

// contentOf returns what an agent shows of a call, of JSON as the protocol has it.
func contentOf(t interface{ Fatal(...any) }, text string) (content []sdk.ToolCallContent) {
	if err := json.Unmarshal([]byte(text), &content); err != nil {
		t.Fatal(err)
	}
	return content
}

// Two requests of an agent never look the same.
func TestDescribeAskProperty(t *testing.T) {
	two := "echo a # c\nrm -rf /"
	for want, a := range map[string]acp.Ask{
		`"make clean"|folder: "/etc"`: {Command: new("make clean"), Cwd: "/etc"},
		`a command of several lines|  | echo a # c|  | rm -rf /|folder: not known`: {Command: &two},
		`"ls"|shell: "/bin/bash -lc"|folder: "/w"`:                                 {Command: new("ls"), Shell: "/bin/bash -lc", Cwd: "/w"},
		`"title"|folder: "/w"|input: {"cmd":"rm"}`:                                 {Title: "title", Command: new(""), Cwd: "/w", Input: []byte(`{"cmd":"rm"}`)},
		`"make"|folder: "/w"|input: {"command":"make","env":{"A":"b"}}`:            {Command: new("make"), Cwd: "/w", Unread: []string{"env"}, Input: []byte(`{"command":"make","env":{"A":"b"}}`)},
		`"ls"|folder: not known|input: {"command":"ls","cwd":"-"}`:                 {Command: new("ls"), Input: []byte(`{"command":"ls","cwd":"-"}`)},
		`"edit"|files: "/a, b", a file that it does not name`:                      {Title: "edit", Files: []string{"/a, b", ""}},
		`"GET good"|kind: "fetch"|input: {"url":"evil"}`:                           {Title: "GET good", Kind: "fetch", Input: []byte(`{"url":"evil"}`)},
		`"Change a"|kind: "delete"|files: "/a"`:                                    {Title: "Change a", Kind: "delete", Files: []string{"/a"}},
		`"Change a"|kind: "edit"|files: "/a"|change of "/a"|before:|  | one|after:|  | rm -rf ~|  | "after: "|content: {"terminalId":"1","type":"terminal"}`: {
			Title: "Change a", Kind: "edit", Files: []string{"/a"}, Content: contentOf(t, `[{"type":"diff","path":"/a","oldText":"one","newText":"rm -rf ~\nafter: "},{"type":"terminal","terminalId":"1"}]`),
		},
		`"New a"|kind: "edit"|change of "/a"|the agent states no text before|after:|  | `: {Title: "New a", Kind: "edit", Content: contentOf(t, `[{"type":"diff","path":"/a","newText":""}]`)},
	} {
		if got := strings.Join(describeAsk(a), "|"); got != want {
			t.Errorf("the question shows %s, want %s", got, want)
		}
	}
	long := []string{"", "a", "a\n", "after:\nb"}
	text := rapid.StringOfN(rapid.SampledFrom([]rune("ab \\\"|,:\n\t")), 1, 8, -1)
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) (acp.Ask, string) {
			command, cwd, files := text.Draw(t, name), text.Draw(t, name), rapid.SliceOfN(text, 0, 2).Draw(t, name)
			shell := rapid.SampledFrom([]string{"", "bash -lc", "sh -c"}).Draw(t, name)
			kind := rapid.SampledFrom([]string{"edit", "delete", "read"}).Draw(t, name)
			before, after := rapid.SampledFrom(long).Draw(t, name), rapid.SampledFrom(long).Draw(t, name)
			ask := acp.Ask{Command: &command, Shell: shell, Cwd: cwd, Files: files, Kind: kind}
			ask.Content = contentOf(t, fmt.Sprintf(`[{"type":"diff","path":"/a","oldText":%q,"newText":%q}]`, before, after))
			return ask, strings.Join(append(files, command, shell, cwd, kind, before, after), "\x00")
		}
		one, key := draw("one")
		other, otherKey := draw("other")
		if key != otherKey && strings.Join(describeAsk(one), "\n") == strings.Join(describeAsk(other), "\n") {
			t.Fatalf("%+v looks like %+v", one, other)
		}
	})
}
