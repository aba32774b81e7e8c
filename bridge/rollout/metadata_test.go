package rollout_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/bridge/rollout"
)

const (
	childID  = "01900000-0000-7000-8000-000000000002" // of 2024-06-10, 02:35 UTC
	parentID = "01900000-0000-7000-8000-000000000001"
	meta     = `{"timestamp":"2024-06-10T02:35:18.400Z","ordinal":0,"type":"session_meta","payload":{"id":"` + childID + `","parent_thread_id":"` +
		parentID + `","source":{"subagent":{"thread_spawn":{"parent_thread_id":"` + parentID + `","depth":1}}}}}` + "\n"
)

// put writes a rollout file of that day.
func put(t *testing.T, home, day, name, text string) string {
	t.Helper()
	path := filepath.Join(home, "sessions", filepath.FromSlash(day), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFindSubagent(t *testing.T) {
	const day, file = "2024/06/10", "rollout-2024-06-10T02-35-18-" + childID + ".jsonl"
	for name, tt := range map[string]struct {
		day, file, text string
		found           bool
	}{
		"as codex writes it":      {day, file, meta + "{}\n", true},
		"the evening before":      {"2024/06/09", file, meta, true},
		"the day after":           {"2024/06/11", file, meta, true},
		"two days before":         {"2024/06/08", file, meta, false},
		"another's file":          {day, file, strings.Replace(meta, childID, parentID, 1), false},
		"another name":            {day, "rollout-" + parentID + ".jsonl", meta, false},
		"another kind of file":    {day, file + ".zst", meta, false},
		"not spawned":             {day, file, strings.Replace(meta, `"subagent":{"thread_spawn"`, `"subagent":{"other"`, 1), false},
		"a review":                {day, file, strings.Replace(meta, `{"thread_spawn":{"parent_thread_id":"`+parentID+`","depth":1}}`, `"review"`, 1), false},
		"two parents":             {day, file, strings.Replace(meta, parentID, childID[:35]+"3", 1), false},
		"its own parent":          {day, file, strings.ReplaceAll(meta, parentID, childID), false},
		"no parent":               {day, file, strings.ReplaceAll(meta, `"`+parentID+`"`, "null"), false},
		"not the first line":      {day, file, "{}\n" + meta, false},
		"another line":            {day, file, strings.Replace(meta, "session_meta", "event_msg", 1), false},
		"half a line":             {day, file, strings.TrimSuffix(meta, "\n"), false},
		"no JSON":                 {day, file, "{\n", false},
		"a member twice":          {day, file, strings.Replace(meta, `"payload":`, `"payload":{},"payload":`, 1), false},
		"longer than what counts": {day, file, strings.Replace(meta, "{", `{"x":"`+strings.Repeat("x", 64<<20)+`",`, 1), false},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			path := put(t, home, tt.day, tt.file, tt.text)
			got, err := rollout.FindSubagent(home, childID)
			if (err == nil) != tt.found {
				t.Fatalf("found %v, error %v", got, err)
			}
			if want := (rollout.Subagent{Path: path, Parent: parentID}); tt.found && got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

// A file is not found if it exists twice, behind a link to another folder, or with an id that Codex
// does not create.
func TestFindSubagentErrors(t *testing.T) {
	const file = "rollout-2024-06-10T02-35-18-" + childID + ".jsonl"
	home := t.TempDir()
	away := put(t, t.TempDir(), "2024/06/10", file, meta)
	link := filepath.Join(home, "sessions", "2024", "06", "10", file)
	if err := os.MkdirAll(filepath.Dir(link), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(away, link); err != nil {
		t.Fatal(err)
	}
	if got, err := rollout.FindSubagent(home, childID); err == nil {
		t.Errorf("behind a link: %v", got)
	}
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	put(t, home, "2024/06/10", file, meta)
	for _, id := range []string{"", "..", "*", childID + "*", strings.ToUpper(childID[:35] + "a"), strings.Replace(childID, "-7", "-4", 1)} {
		if got, err := rollout.FindSubagent(home, id); err == nil {
			t.Errorf("%q: %v", id, got)
		}
	}
	if _, err := rollout.FindSubagent("", childID); err == nil {
		t.Error("found without a home")
	}
	if _, err := rollout.FindSubagent(home, childID); err != nil {
		t.Errorf("not found alone: %v", err)
	}
	put(t, home, "2024/06/09", file, meta)
	if got, err := rollout.FindSubagent(home, childID); err == nil {
		t.Errorf("there twice: %v", got)
	}
}

// turnContext returns a turn's line as Codex writes it.
func turnContext(turn, rest string) string {
	return `{"timestamp":"2026-01-01T00:00:00Z","type":"turn_context","payload":{"turn_id":"` + turn + `","cwd":"/w",` + rest + `}}` + "\n"
}

func TestTurnSettings(t *testing.T) {
	const policy = `"approval_policy":"on-request","approvals_reviewer":"user","model":"m","effort":"low","unknown":1,"sandbox_policy":`
	sandboxed := turnContext("t1", policy+`{"type":"workspace-write","writable_roots":["/r"],"network_access":true,"exclude_slash_tmp":true}`)
	readOnly := turnContext("t2", policy+`{"type":"read-only"}`)
	const head = `{"approvalPolicy":"on-request","approvalsReviewer":"user","cwd":"/w","effort":"low","model":"m","sandboxPolicy":`
	for name, tt := range map[string]struct{ text, turn, want string }{
		"that turn":          {sandboxed + readOnly, "t1", head + `{"excludeSlashTmp":true,"networkAccess":true,"type":"workspaceWrite","writableRoots":["/r"]}}`},
		"the other":          {sandboxed + readOnly, "t2", head + `{"type":"readOnly","writableRoots":[]}}`},
		"the last":           {sandboxed + readOnly, "", head + `{"type":"readOnly","writableRoots":[]}}`},
		"a turn not there":   {sandboxed, "t2", ""},
		"no turn":            {"{}\n", "", ""},
		"spoken of":          {`{"type":"response_item","payload":{"turn_id":"t1","text":"turn_context"}}` + "\n", "t1", ""},
		"an unknown sandbox": {turnContext("t1", `"sandbox_policy":{"type":"none"}`), "t1", `{"cwd":"/w","sandboxPolicy":{"type":"","writableRoots":[]}}`},
		"no sandbox":         {turnContext("t1", `"model":"m"`), "t1", `{"cwd":"/w","model":"m","sandboxPolicy":{"writableRoots":[]}}`},
		"far from the end":   {sandboxed + strings.Repeat(`{"type":"event_msg","payload":{"text":"`+strings.Repeat("x", 1<<20)+`"}}`+"\n", 6), "", head + `{"excludeSlashTmp":true,"networkAccess":true,"type":"workspaceWrite","writableRoots":["/r"]}}`},
		"a line cut short":   {sandboxed + readOnly[:len(readOnly)-5], "t1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			home, path := write(t, tt.text)
			got := ""
			if doc := rollout.TurnSettings(home, path, tt.turn); doc != nil {
				got = string(doc.Root().Raw())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}
