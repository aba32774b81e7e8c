package rollout_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/bridge/rollout"
	"codex-bridge.example/bridge/rules"
)

const (
	oldest  = "01900000-0000-7000-8000-000000000000"
	segment = "01900000-0000-7000-8000-000000000003" // of a file after thread/revert
)

// numbered writes a file with the records of Codex, whose ordinals start at first.
func numbered(t *testing.T, path string, first int, records ...string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for i, r := range records {
		fmt.Fprintf(&text, `{"ordinal":%d,%s}`+"\n", first+i, r)
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// continues is the first record of a file that continues another one.
func continues(id string, before int) string {
	return begins(fmt.Sprintf(`"forked_from_id":"x","history_base":{"thread_id":%q,"end_ordinal_exclusive":%d}`, id, before))
}

// states is a record of the shell; full is whether it replaces earlier ones.
func states(shell string, full bool) string {
	return fmt.Sprintf(`"type":"world_state","payload":{"full":%t,"state":{"environments":{"environments":{"local":{"shell":%q}}}}}`, full, shell)
}

// A fork, and a thread after thread/revert, have the shell that Codex stated before they branched off.
// Where that can't be read as a whole, the shell is unknown.
func TestFindCallInheritedShell(t *testing.T) {
	const folder = "sessions/2024/06/10/" // the day of the ids
	file := func(name string) string { return folder + "rollout-2024-06-10T00-00-00-" + name + ".jsonl" }
	plain := []string{begins(""), states("bash", true), item("a"), states("zsh", false)}
	const partial, withoutShell = `"type":"world_state","payload":{"full":false,"state":{"permissions":{}}}`, `"type":"world_state","payload":{"full":true,"state":{}}`
	type files map[string][]string // the ordinals of a file start at the number before its name
	for name, tt := range map[string]struct {
		files files
		own   []string
		want  string
	}{
		"fork":                     {files{"0 " + file(older): plain}, []string{continues(older, 4)}, "zsh"},
		"as of the fork":           {files{"0 " + file(older): plain}, []string{continues(older, 3)}, "bash"},
		"its own":                  {files{"0 " + file(older): plain}, []string{continues(older, 3), states("sh", false)}, "sh"},
		"its own, without a shell": {files{"0 " + file(older): plain}, []string{continues(older, 3), partial}, "bash"},
		"its own, replaced":        {files{"0 " + file(older): plain}, []string{continues(older, 3), withoutShell}, ""},
		"before it was stated":     {files{"0 " + file(older): plain}, []string{continues(older, 1)}, ""},
		"fork of a fork":           {files{"0 " + file(oldest): plain, "3 " + file(older): {continues(oldest, 3), partial}}, []string{continues(older, 5)}, "bash"},
		"fork of its first record": {files{"0 " + file(oldest): plain, "3 " + file(older): {continues(oldest, 4), states("sh", false)}}, []string{continues(older, 3)}, "bash"},
		"after a revert":           {files{"0 " + file(older): plain}, []string{begins(`"history_base":{"thread_id":"` + older + `","end_ordinal_exclusive":3}`)}, "bash"},
		"fork after a revert": {files{"0 " + file(older): plain, "3 " + file(older+"_"+segment): {continues(older, 3), states("sh", false)}},
			[]string{continues(segment, 5)}, "sh"},
		"fork from before a revert": {files{"0 " + file(older): plain, "3 " + file(older+"_"+segment): {continues(older, 3), states("sh", false)}},
			[]string{continues(older, 3)}, "bash"},
		"archived":                {files{"0 archived_sessions/rollout-x-" + older + ".jsonl": plain}, []string{continues(older, 3)}, "bash"},
		"of an earlier Codex":     {files{"0 " + file(older): plain}, []string{begins(`"forked_from_id":"` + older + `","forked_from_ordinal_exclusive":3`)}, "bash"},
		"no parent":               {files{}, []string{continues(older, 3)}, ""},
		"two parents":             {files{"0 " + file(older): plain, "0 archived_sessions/rollout-x-" + older + ".jsonl": plain}, []string{continues(older, 3)}, ""},
		"elsewhere":               {files{"0 other/rollout-x-" + older + ".jsonl": plain}, []string{continues(older, 3)}, ""},
		"of itself":               {files{}, []string{continues(newer, 3)}, ""},
		"a cycle":                 {files{"0 " + file(older): {continues(oldest, 9)}, "0 " + file(oldest): {continues(older, 9)}}, []string{continues(older, 9)}, ""},
		"no thread id":            {files{}, []string{begins(`"history_base":{"thread_id":"../x","end_ordinal_exclusive":3}`)}, ""},
		"no end":                  {files{"0 " + file(older): plain}, []string{begins(`"history_base":{"thread_id":"` + older + `"}`)}, ""},
		"no object":               {files{"0 " + file(older): plain}, []string{begins(`"history_base":"` + older + `"`)}, ""},
		"parent without a start":  {files{"0 " + file(older): {item("a"), states("bash", true)}}, []string{continues(older, 9)}, ""},
		"parent that is no JSON":  {files{"0 " + file(older): {begins(""), states("bash", true), `"world_state"`}}, []string{continues(older, 9)}, ""},
		"a record without number": {files{"0 " + file(older): {begins(""), states("bash", true), states("zsh", true) + `,"ordinal":7`}}, []string{continues(older, 9)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			for at, records := range tt.files {
				var first int
				var path string
				if _, err := fmt.Sscan(at, &first, &path); err != nil {
					t.Fatal(err)
				}
				numbered(t, filepath.Join(home, path), first, records...)
			}
			path := filepath.Join(home, file(newer))
			numbered(t, path, 90, tt.own...)
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.WriteString(started + call("exec_command", `{"cmd":"ls"}`)); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			got := rollout.FindCall(home, path, "turn_1", "call_1")
			if got.Shell != tt.want || got.Escalation != rules.Sandboxed {
				t.Errorf("%+v, want %q", got, tt.want)
			}
		})
	}
}

// The history of a thread after thread/revert, and of its forks, has what came before.
func TestHistoryAfterRevert(t *testing.T) {
	home := t.TempDir()
	folder := filepath.Join(home, "sessions", "2024", "06", "10")
	numbered(t, filepath.Join(folder, "rollout-2024-06-10T00-00-00-"+older+".jsonl"), 0, begins(""), turn, item("one"), item("reverted"))
	reverted := filepath.Join(folder, "rollout-2024-06-10T00-00-00-"+older+"_"+segment+".jsonl")
	numbered(t, reverted, 3, continues(older, 3), turn, item("two"), item("three"))
	fork := filepath.Join(folder, "rollout-2024-06-10T00-00-00-"+newer+".jsonl")
	numbered(t, fork, 6, continues(segment, 6), turn, item("four"))
	for path, want := range map[string]string{reverted: "one two three", fork: "one two four"} {
		items, err := rollout.History(home, path)
		var got []string
		for _, i := range items {
			got = append(got, strings.TrimSuffix(strings.TrimPrefix(string(i), `{"text":"`), `"}`))
		}
		if strings.Join(got, " ") != want || err != nil {
			t.Errorf("%s: %q, %v; want %q", filepath.Base(path), got, err, want)
		}
	}
}
