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

// On Windows the line has no quotes, and nothing that cmd.exe would interpret.
func TestCommandLineOnWindows(t *testing.T) {
	short := map[string]string{
		`C:\Program Files\x.exe`: `C:\PROGRA~1\x.exe`, `C:\Users\a b\run\hook.sock`: `C:\Users\AB12~1\run\hook.sock`,
		`C:\Users\a&b\hook.sock`: `C:\Users\A&B~1\hook.sock`,
	}
	for _, c := range []struct{ program, socket, want string }{
		{`C:\bin\x.exe`, `C:\run\hook.sock`, `C:\bin\x.exe hook --socket C:\run\hook.sock`},
		{`C:/bin/x.exe`, `\\server\share\hook.sock`, `C:/bin/x.exe hook --socket \\server\share\hook.sock`},
		{`C:\Program Files\x.exe`, `C:\Users\a b\run\hook.sock`, `C:\PROGRA~1\x.exe hook --socket C:\Users\AB12~1\run\hook.sock`},
		{`C:\Users\Zoë\x.exe`, `C:\Users\山田\hook.sock`, `C:\Users\Zoë\x.exe hook --socket C:\Users\山田\hook.sock`},
		{`C:\my folder\x.exe`, `C:\run\hook.sock`, ""},
		{`C:\bin\x.exe`, `C:\Users\a&b\hook.sock`, ""},
		{`C:\%TEMP%\x.exe`, `C:\run\hook.sock`, ""},
		{`C:\a^b\x.exe`, `C:\run\hook.sock`, ""},
		{`C:\a(1)\x.exe`, `C:\run\hook.sock`, ""},
		{`C:\a,b\x.exe`, `C:\run\hook.sock`, ""},
		{`C:\a;b\x.exe`, `C:\run\hook.sock`, ""},
		{`C:\a=b\x.exe`, `C:\run\hook.sock`, ""},
		{`C:\a!b\x.exe`, `C:\run\hook.sock`, ""},
		{`C:\it's\x.exe`, `C:\run\hook.sock`, ""},
		{"C:\\a\u00a0b\\x.exe", `C:\run\hook.sock`, ""},
		{"", `C:\run\hook.sock`, ""},
	} {
		got, err := hook.CommandLine([]string{c.program, "hook", "--socket", c.socket}, "windows", func(path string) string {
			if name, ok := short[path]; ok {
				return name
			}
			return path
		})
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%q %q: %s, %v; want %s", c.program, c.socket, got, err, c.want)
		}
	}
}

// commandOf returns the command line of a hook.
func commandOf(t *testing.T, s *hook.Server, program string, e hook.Event, timeout time.Duration, allow bool) string {
	t.Helper()
	line, err := s.Command(program, e, timeout, allow)
	if err != nil {
		t.Fatal(err)
	}
	return line
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
		cmd := exec.Command("sh", "-c", commandOf(t, s, program, e, longTimeout, false))
		cmd.Stdin = strings.NewReader(payload(e, "call-9"))
		out, err := cmd.Output()
		if reason := checkDenial(t, e, awaitAnswer{stdout: string(out)}); reason != "call-9" || err != nil {
			t.Errorf("%s: %q, %v", e, reason, err)
		}
	}
	s := listen(t, hook.Options{Folder: folder(t)})
	want := "/bin/codex-bridge hook --socket " + s.Socket() + " --event stop --timeout 10s"
	for allow, want := range map[bool]string{false: want, true: want + " --on-failure allow"} {
		if got := commandOf(t, s, "/bin/codex-bridge", hook.Stop, 10*time.Second, allow); got != want {
			t.Errorf("%s\n%s", got, want)
		}
	}
}
