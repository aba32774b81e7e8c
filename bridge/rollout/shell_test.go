package rollout_test

import (
	"fmt"
	"strings"
	"testing"

	"codex-bridge.example/bridge/rollout"
)

// worldState returns Codex's record of its default shell.
func worldState(shell string) string {
	return fmt.Sprintf(`{"type":"world_state","payload":{"state":{"environments":{"environments":{"local":{"shell":%q}}}}}}`+"\n", shell)
}

// A command has a terminal if the call asks for one, in whatever form.
func TestFindCallTerminal(t *testing.T) {
	for arguments, want := range map[string]bool{``: false, `,"tty":false`: false, `,"tty":null`: false, `,"tty":true`: true, `,"tty":"true"`: true} {
		home, path := write(t, started+call("exec_command", `{"cmd":"ls"`+arguments+`}`))
		if got := rollout.FindCall(home, path, "turn_1", "call_1"); got.Terminal != want || got.Command != "ls" {
			t.Errorf("%s: %+v", arguments, got)
		}
	}
}

// The shell is that of the call or Codex's default, otherwise unknown.
func TestFindCallShell(t *testing.T) {
	of := func(arguments string) string { return call("exec_command", `{"cmd":"ls"`+arguments+`}`) }
	bash := worldState("bash")
	for name, tt := range map[string]struct{ text, shell, flags string }{
		"codex's own":            {bash + of(""), "bash", ""},
		"codex's own, null":      {bash + of(`,"shell":null,"login":null`), "bash", ""},
		"codex's own, login":     {worldState("zsh") + of(`,"login":true`), "zsh", "-lc"},
		"not told":               {of(""), "", ""},
		"not told, login":        {of(`,"login":true`), "", ""},
		"PowerShell":             {worldState("powershell") + of(""), "", ""},
		"the last one told":      {bash + worldState("zsh") + of(""), "zsh", ""},
		"told of something else": {bash + `{"type":"world_state","payload":{"full":false,"state":{}}}` + "\n" + of(""), "bash", ""},
		"told by the user":       {strings.Replace(bash, `"type":"world_state"`, `"type":"response_item","role":"world_state"`, 1) + of(""), "", ""},
		"named":                  {bash + of(`,"shell":"zsh"`), "zsh", ""},
		"named, no login":        {bash + of(`,"shell":"sh","login":false`), "sh", "-c"},
		"by its path":            {bash + of(`,"shell":"/usr/bin/zsh"`), "zsh", ""},
		"unknown":                {bash + of(`,"shell":"fish"`), "", ""},
		"unknown, login":         {bash + of(`,"shell":"pwsh","login":true`), "", ""},
		"not a name":             {bash + of(`,"shell":"bash "`), "", ""},
		"not a text":             {bash + of(`,"shell":7`), "", ""},
		"empty":                  {bash + of(`,"shell":""`), "", ""},
		"told at the beginning":  {bash + strings.Repeat("{}\n", 5<<20/3) + of(""), "bash", ""},
		"outside of the sandbox": {bash + of(`,"sandbox_permissions":"require_escalated","shell":"zsh"`), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			home, path := write(t, started+tt.text)
			if got := rollout.FindCall(home, path, "turn_1", "call_1"); got.Shell != tt.shell || got.Flags != tt.flags {
				t.Errorf("%+v, want %q %q", got, tt.shell, tt.flags)
			}
		})
	}
}
