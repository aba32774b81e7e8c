package guard

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
)

// A line of Codex's .env counts if it may set a variable that the policy depends on, in any
// spelling.
func TestCheckEnvFile(t *testing.T) {
	root, at := inFolder(t, nil, nil)
	world := policy.State{CodexHome: root}
	if faults := CheckEnvFile(world); faults != nil {
		t.Errorf("without a file: %v", faults)
	}
	for text, want := range map[string]string{
		"":                               "",
		"OPENAI_API_KEY=x\nMY_PATH=/x":   "",
		"X.PATH=/x\nPATH_X=/x\nPATHS=":   "",
		"aPATH=\nzPATH=\nAPATH=\nZPATH=": "",
		"0PATH=\n9PATH=\n_PATH=":         "",
		"PATH":                           "",
		"PATH: /x":                       "",
		"  # PATH=/x\n#HOME=/x":          "",
		"URL=http://x/?PATH=1":           "",
		"PATH=/x":                        "1 PATH",
		"\ufeffPATH=/x":                  "1 PATH",
		"X=1\r\n\texport\tPATH = /x":     "2 PATH",
		"X='\nHOME\u00a0=/x\n'":          "2 HOME",
		"\u00a0XDG_CONFIG_HOME\v=":       "1 XDG_CONFIG_HOME",
		"GIT_CONFIG_COUNT=0\nGIT_X=1":    "1 GIT_CONFIG_COUNT, 2 GIT_X",
		"\xff=1\nPATH=\xff":              "2 PATH",
		strings.Repeat("X=1\n", 1<<18):   "",
	} {
		if err := os.WriteFile(at(".env"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, fault := range CheckEnvFile(world) {
			got = append(got, fmt.Sprint(fault.Line, " ", fault.Name))
			if message := fault.Error(); !strings.Contains(message, at(".env")+":") || !strings.Contains(message, fault.Name) || !strings.Contains(message, "[codex.env]") {
				t.Errorf("%.40q: %s", text, message)
			}
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%.40q: got %q, want %q", text, got, want)
		}
	}
	for _, name := range tempNames() {
		if !isUsedByPolicy(name) || isUsedByPolicy("X"+name) {
			t.Error(name)
		}
	}
	if isUsedByPolicy("path") != (runtime.GOOS == "windows") {
		t.Error("path")
	}
	if faults := CheckEnvFile(policy.State{}); faults != nil {
		t.Errorf("of an unknown folder: %v", faults)
	}
}

// A .env that can't be read completely is an error.
func TestEnvFileThatCannotBeRead(t *testing.T) {
	root, at := inFolder(t, []string{"folder/.env", "long", "loop"}, map[string]string{"loop/.env": ".env"})
	if err := os.WriteFile(at("long/.env"), make([]byte, maxEnvFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"folder", "long", "loop"} {
		faults := CheckEnvFile(policy.State{CodexHome: filepath.Join(root, name)})
		if len(faults) != 1 || errors.Unwrap(faults[0]) == nil || errors.Is(faults[0], fs.ErrNotExist) || !strings.Contains(faults[0].Error(), "can't be read") {
			t.Errorf("%s: %v", name, faults)
		}
	}
}

// Each link at the top of Codex's own folder is protected with its target, even if the target does
// not exist.
func TestLinksInCodexHome(t *testing.T) {
	_, at := inFolder(t, []string{"codex/rules", "codex/own", "mine/rules"}, map[string]string{
		"codex/.env": "../mine/env", "codex/skills": "own", "codex/AGENTS.md": "../mine/way", "mine/way": "agents.md", "codex/rules/a.rules": "../../mine/rules/a.rules",
		"codex/own/deep": "../../mine/deep", "codex/tips.md": "../mine/tips",
	})
	t.Setenv("CODEX_HOME", at("codex"))
	t.Setenv("CODEX_BRIDGE_CONFIG", "")
	t.Setenv("CODEX_BRIDGE_STATE", at("state"))
	var got []string
	for _, kept := range WorldOf(config.Codex{}).Sensitive {
		name, err := filepath.Rel(at(""), kept)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, filepath.ToSlash(name))
	}
	if want := "mine/agents.md mine/env mine/rules/a.rules mine/tips mine/way state"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
