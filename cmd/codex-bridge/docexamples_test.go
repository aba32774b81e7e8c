package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The guide to a first policy shows what the program prints. "…" stands for any further lines.
func TestFirstPolicyGuideShowsTheOutput(t *testing.T) {
	page, err := os.ReadFile("../../docs/guides/first-policy.md")
	if err != nil {
		t.Fatal(err)
	}
	profile := regexp.MustCompile(`codex-bridge init --profile (\w+)`).FindStringSubmatch(string(page))
	blocks := regexp.MustCompile("(?s)```toml\n# cases.toml\n(.*?)```").FindStringSubmatch(string(page))
	examples := regexp.MustCompile("(?s)```console\n\\$ (.*?)\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if profile == nil || blocks == nil || len(examples) != 2 {
		t.Fatalf("profile %q, cases %q, examples %q", profile, blocks, examples)
	}
	home := onlyState(t)
	file := filepath.Join(home, ".config", "codex-bridge", "config.toml")
	environ := append(os.Environ(), "CODEX_BRIDGE_CONFIG="+file, "COLUMNS=")
	profileText := outputOf(t, environ, "", "init", "--stdout", "--profile", profile[1])
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	cases := filepath.Join(home, "cases.toml")
	for name, text := range map[string]string{file: profileText, cases: blocks[1]} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(home)
	for _, example := range examples {
		input, command, piped := strings.Cut(example[1], " | ")
		if !piped {
			input, command = "", input
		}
		input = strings.Trim(strings.TrimPrefix(input, "echo "), "'")
		got := strings.ReplaceAll(outputOf(t, environ, input, strings.Fields(command)[1:]...), home, "~")
		want, _, more := strings.Cut(example[2], "…\n")
		if !strings.HasPrefix(got, want) || !more && got != want {
			t.Errorf("%s prints\n%s\nThe guide says\n%s", command, got, example[2])
		}
	}
}

// outputOf returns what codex-bridge prints with an input and arguments.
func outputOf(t *testing.T, environ []string, input string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Args[0], cmd.Env, cmd.Stdin, cmd.Stderr = "codex-bridge", environ, strings.NewReader(input), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return string(out)
}
