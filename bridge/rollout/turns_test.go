package rollout_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/bridge/rollout"
)

// The running turn is the last one whose start is in the file, if no end is after it.
func TestRunningTurn(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, "sessions", "rollout-t.jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	event := func(kind, turn string) string {
		return `{"type":"event_msg","payload":{"type":"` + kind + `","turn_id":"` + turn + `"}}` + "\n"
	}
	started, ended := event("task_started", "u"), event("task_complete", "u")
	said := `{"type":"response_item","payload":{"type":"message","content":[{"type":"input_text","text":"` + strings.Repeat("x", 1<<20) + `"}]}}` + "\n"
	for name, test := range map[string]struct{ text, want string }{
		"no turn":           {`{"type":"session_meta","payload":{"id":"t"}}` + "\n", ""},
		"running":           {started, "u"},
		"completed":         {started + ended, ""},
		"interrupted":       {started + event("turn_aborted", "u"), ""},
		"the next":          {started + ended + event("task_started", "v"), "v"},
		"the next at once":  {started + event("task_started", "v"), "v"},
		"a review":          {event("task_started", "inner") + event("task_complete", "outer"), ""},
		"an end is written": {started + strings.TrimSuffix(ended, "}\n"), ""},
		"another record":    {started + `{"type":"response_item","payload":{"type":"task_complete","turn_id":"u"}}` + "\n", "u"},
		"a text":            {started + `{"type":"event_msg","payload":{"type":"agent_message","message":"\"task_complete\""}}` + "\n", "u"},
		"long ago":          {started + strings.Repeat(said, 6), "u"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := rollout.RunningTurn(home, path); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	if got := rollout.RunningTurn(home, ""); got != "" {
		t.Errorf("without a file: %q", got)
	}
}
