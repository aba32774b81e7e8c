package main

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"codex-bridge.example/lifecycle/acp"
)

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
		`"GET good"|input: {"url":"evil"}`:                                         {Title: "GET good", Kind: "fetch", Input: []byte(`{"url":"evil"}`)},
	} {
		if got := strings.Join(describeAsk(a), "|"); got != want {
			t.Errorf("the question shows %s, want %s", got, want)
		}
	}
	text := rapid.StringOfN(rapid.SampledFrom([]rune("ab \\\"|,:\n\t")), 1, 8, -1)
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) (acp.Ask, string) {
			command, cwd, files := text.Draw(t, name), text.Draw(t, name), rapid.SliceOfN(text, 0, 2).Draw(t, name)
			shell := rapid.SampledFrom([]string{"", "bash -lc", "sh -c"}).Draw(t, name)
			return acp.Ask{Command: &command, Shell: shell, Cwd: cwd, Files: files}, strings.Join(append(files, command, shell, cwd), "\x00")
		}
		one, key := draw("one")
		other, otherKey := draw("other")
		if key != otherKey && strings.Join(describeAsk(one), "\n") == strings.Join(describeAsk(other), "\n") {
			t.Fatalf("%+v looks like %+v", one, other)
		}
	})
}
