package rollout_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/bridge/rollout"
)

// folders returns the folder in which the thread of a file was opened, and its current one.
func folders(t *testing.T, home, path, id string) (opened, last string, err error) {
	if opened, err = rollout.OpenedFolder(home, path, id); err != nil {
		return "", "", err
	}
	settings, err := rollout.StoredSettings(t.Context(), home, path)
	if err != nil {
		return "", "", err
	}
	return opened, rollout.LastFolder(opened, settings), nil
}

func TestFolders(t *testing.T) {
	const id, other = "01900000-0000-7000-8000-00000000000a", "01900000-0000-7000-8000-00000000000b"
	const turn = `{"type":"turn_context","payload":{"turn_id":"u","cwd":"/last"}}` + "\n"
	const applied = `{"type":"event_msg","payload":{"type":"thread_settings_applied","thread_settings":{"cwd":"/now"}}}` + "\n"
	for name, test := range map[string]struct {
		text, opened, last string
		fails              bool
	}{
		"moved":           {`{"type":"session_meta","payload":{"id":"` + id + `","cwd":"/opened"}}` + "\n" + turn, "/opened", "/last", false},
		"moved since":     {`{"type":"session_meta","payload":{"id":"` + id + `","cwd":"/opened"}}` + "\n" + turn + applied, "/opened", "/now", false},
		"no turn":         {`{"type":"session_meta","payload":{"id":"` + id + `","cwd":"/opened"}}` + "\n", "/opened", "/opened", false},
		"unreadable":      {`{"type":"session_meta","payload":{"id":"` + id + `","cwd":"/opened"}}` + "\n" + strings.Replace(turn, "{", `{"type":1,`, 1), "", "", true},
		"another thread":  {`{"type":"session_meta","payload":{"id":"` + other + `","cwd":"/opened"}}` + "\n" + turn, "", "", true},
		"no first line":   {turn, "", "", true},
		"no JSON":         {"{\n" + turn, "", "", true},
		"half a line":     {`{"type":"session_meta"`, "", "", true},
		"no file":         {"", "", "", true},
		"no text for cwd": {`{"type":"session_meta","payload":{"id":"` + id + `","cwd":1}}` + "\n" + turn, "", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			folder := filepath.Join(home, "sessions", "2024", "06", "10")
			if err := os.MkdirAll(folder, 0o700); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(folder, "rollout-2024-06-10T02-35-18-"+id+".jsonl")
			if test.text != "" {
				if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			opened, last, err := folders(t, home, path, id)
			if opened != test.opened || last != test.last || (err != nil) != test.fails || errors.Is(err, fs.ErrNotExist) != (test.text == "") {
				t.Errorf("got %q, %q and %v, want %q and %q", opened, last, err, test.opened, test.last)
			}
		})
	}
}

// The sandbox type follows from the paths that can be written.
func TestAppliedSettings(t *testing.T) {
	line := func(profile string) string {
		return `{"type":"event_msg","payload":{"type":"thread_settings_applied","thread_settings":{"cwd":"/w","approval_policy":"never","permission_profile":` + profile + "}}}\n"
	}
	managed := func(network string, access ...string) string {
		var entries []string
		for _, one := range access {
			entries = append(entries, `{"path":{"type":"path","path":"/p"},"access":"`+one+`"}`)
		}
		return `{"type":"managed","file_system":{"type":"restricted","entries":[` + strings.Join(entries, ",") + `]},"network":"` + network + `"}`
	}
	sandbox := func(noTemps, network bool, kind string) string {
		return fmt.Sprintf(`"never" "/w" {"excludeSlashTmp":%v,"excludeTmpdirEnvVar":%v,"networkAccess":%v,"type":"%s"}`, noTemps, noTemps, network, kind)
	}
	temps := strings.Replace(managed("restricted", "read"), `"entries":[`, `"entries":[{"path":{"type":"special","value":{"kind":"slash_tmp"}},"access":"write"},{"path":{"type":"special","value":{"kind":"tmpdir"}},"access":"write"},`, 1)
	for name, test := range map[string]struct{ text, want string }{
		"temporary":       {line(temps), sandbox(false, false, "workspaceWrite")},
		"read-only":       {line(managed("restricted", "read")), sandbox(false, false, "readOnly")},
		"nothing":         {line(managed("restricted", "none", "read", "deny")), sandbox(false, false, "readOnly")},
		"workspace-write": {line(managed("enabled", "read", "write", "read")), sandbox(true, true, "workspaceWrite")},
		"another access":  {line(managed("restricted", "append")), sandbox(true, false, "workspaceWrite")},
		"another profile": {line(`{"type":"disabled"}`), sandbox(false, true, "dangerFullAccess")},
		"another sandbox": {line(`{"type":"external","network":"restricted"}`), sandbox(false, false, "externalSandbox")},
		"no entries":      {line(`{"type":"managed","file_system":{"type":"restricted"},"network":"restricted"}`), sandbox(false, false, "dangerFullAccess")},
		"the last":        {line(managed("enabled", "write")) + line(managed("restricted", "read")), sandbox(false, false, "readOnly")},
		"spoken of":       {`{"type":"response_item","payload":{"type":"message","text":"thread_settings_applied"}}` + "\n", ""},
		"cut short":       {line(managed("enabled", "write"))[:40], ""},
		"far from the end": {line(managed("restricted", "read")) + strings.Repeat(`{"text":"`+strings.Repeat("x", 1<<20)+`"}`+"\n", 6),
			sandbox(false, false, "readOnly")},
	} {
		t.Run(name, func(t *testing.T) {
			home, path := write(t, test.text)
			got := ""
			if doc := rollout.AppliedSettings(home, path); doc != nil {
				settings := doc.Root()
				got = fmt.Sprintf("%s %s %s", settings.Get("approvalPolicy").Raw(), settings.Get("cwd").Raw(), settings.Get("sandboxPolicy").Raw())
			}
			if got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
