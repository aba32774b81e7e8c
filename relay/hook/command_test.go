package hook_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/relay/hook"
)

func TestQuoteShellAndCmd(t *testing.T) {
	for word, want := range map[string]string{
		"/usr/bin/codex-bridge": "/usr/bin/codex-bridge", "10s": "10s", "pre_tool_use": "pre_tool_use", "": "''",
		"/a b": "'/a b'", "/it's": `'/it'\''s'`, "$HOME": "'$HOME'", "/a\nb": "'/a\nb'", `\`: `'\'`, "~": "'~'", "é": "'é'", "a;b": "'a;b'",
	} {
		if got := hook.QuoteShell(word); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
	for word, want := range map[string]string{
		`C:\bin\codex-bridge.exe`: `C:\bin\codex-bridge.exe`, `C:\Program Files\x`: `"C:\Program Files\x"`, "a&b": `"a&b"`, "": `""`,
	} {
		if got := hook.QuoteCmd(word); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
}

// The command line reaches the server through a shell, even when the paths have special
// characters.
func TestCommandSurvivesTheShell(t *testing.T) {
	odd := folder(t) + ` it's "$HOME" & \`
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(odd, 0o700); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(odd, "codex bridge")
	if err := os.Symlink(self, program); err != nil {
		t.Fatal(err)
	}
	for _, e := range []hook.Event{hook.PreToolUse, hook.PermissionRequest} {
		s := listen(t, hook.Options{Folder: odd, Decide: denyCall})
		cmd := exec.Command("sh", "-c", s.Command(program, e, longTimeout, false))
		cmd.Stdin = strings.NewReader(payload(e, "call-9"))
		out, err := cmd.Output()
		if reason := checkDenial(t, e, awaitAnswer{stdout: string(out)}); reason != "call-9" || err != nil {
			t.Errorf("%s: %q, %v", e, reason, err)
		}
	}
	s := listen(t, hook.Options{Folder: folder(t)})
	want := "/bin/codex-bridge hook --socket " + s.Socket() + " --event stop --timeout 10s"
	for allow, want := range map[bool]string{false: want, true: want + " --on-failure allow"} {
		if got := s.Command("/bin/codex-bridge", hook.Stop, 10*time.Second, allow); got != want {
			t.Errorf("%s\n%s", got, want)
		}
	}
}
