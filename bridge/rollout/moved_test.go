package rollout_test

import (
	"os"
	"path/filepath"
	"testing"

	"codex-bridge/bridge/rollout"
)

func TestMoved(t *testing.T) {
	const id, other = "01900000-0000-7000-8000-00000000000a", "01900000-0000-7000-8000-00000000000b"
	const turn = `{"type":"turn_context","payload":{"turn_id":"u","cwd":"/last"}}` + "\n"
	for name, test := range map[string]struct{ text, opened, last string }{
		"moved":           {`{"type":"session_meta","payload":{"id":"` + id + `","cwd":"/opened"}}` + "\n" + turn, "/opened", "/last"},
		"no turn":         {`{"type":"session_meta","payload":{"id":"` + id + `","cwd":"/opened"}}` + "\n", "/opened", ""},
		"another thread":  {`{"type":"session_meta","payload":{"id":"` + other + `","cwd":"/opened"}}` + "\n" + turn, "", ""},
		"no first line":   {turn, "", ""},
		"no JSON":         {"{\n" + turn, "", ""},
		"half a line":     {`{"type":"session_meta"`, "", ""},
		"no file":         {"", "", ""},
		"no text for cwd": {`{"type":"session_meta","payload":{"id":"` + id + `","cwd":1}}` + "\n" + turn, "", "/last"},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			folder := filepath.Join(home, "sessions", "2024", "06", "10")
			if err := os.MkdirAll(folder, 0o700); err != nil {
				t.Fatal(err)
			}
			if test.text != "" {
				if err := os.WriteFile(filepath.Join(folder, "rollout-2024-06-10T02-35-18-"+id+".jsonl"), []byte(test.text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if opened, last := rollout.Moved(home, id); opened != test.opened || last != test.last {
				t.Errorf("got %q and %q, want %q and %q", opened, last, test.opened, test.last)
			}
		})
	}
}
