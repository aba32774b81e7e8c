package rollout_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/bridge/rollout"
)

const (
	older = "01900000-0000-7000-8000-000000000001"
	newer = "01900000-0000-7000-8000-000000000002"
)

// recorded writes a thread's file in Codex's folder, with a record per line, each with its ordinal.
func recorded(t *testing.T, home, id string, records ...string) string {
	t.Helper()
	folder := filepath.Join(home, "sessions", "2024", "06", "10") // the day of the ids
	path := filepath.Join(folder, "rollout-2024-06-10T00-00-00-"+id+".jsonl")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for i, r := range records {
		fmt.Fprintf(&text, `{"ordinal":%d,%s}`+"\n", i, r)
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func begins(members string) string { return `"type":"session_meta","payload":{` + members + `}` }

func item(text string) string { return `"type":"response_item","payload":{"text":"` + text + `"}` }

const turn = `"type":"turn_context","payload":{}`

func TestDynamicTools(t *testing.T) {
	for name, tt := range map[string]struct{ members, want string }{
		"none":      {``, "[]"},
		"null":      {`"dynamic_tools":null`, "[]"},
		"some":      {`"dynamic_tools":[{"name":"a"}]`, `[{"name":"a"}]`},
		"no list":   {`"dynamic_tools":{}`, ""},
		"twice":     {`"dynamic_tools":[],"dynamic_tools":[]`, ""},
		"long line": {`"x":"` + strings.Repeat("x", 1<<20) + `"`, "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			got, err := rollout.DynamicTools(home, recorded(t, home, newer, begins(tt.members)))
			if string(got) != tt.want || (err == nil) != (tt.want != "") {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
	home := t.TempDir()
	if got, err := rollout.DynamicTools(home, recorded(t, home, newer, item("x"))); err == nil {
		t.Errorf("of what is no thread: %s", got)
	}
}

func TestHistory(t *testing.T) {
	home := t.TempDir()
	recorded(t, home, older, begins(""), `"type":"response_item","payload":{"content":[{"text":"<tools>"}]}`, turn, item("one"), item("two"), item("three"))
	forked := func(members string) string { return begins(`"forked_from_id":"` + older + `"` + members) }
	for name, tt := range map[string]struct {
		records []string
		want    string // "" means an error
	}{
		"instructions": {[]string{begins(""),
			`"type":"response_item","payload":{"role":"developer","content":[{"text":"be kind"},{"text":"<tools>\nx"},{"text":"<mine>x</mine>"}]}`,
			`"type":"response_item","payload":{"role":"user","content":[{"text":"<environment_context>x"}]}`, turn, item("a")},
			`{"content":[{"text":"be kind"},{"text":"\u003cmine\u003ex\u003c/mine\u003e"}],"role":"developer a`},
		"plain":          {[]string{begins(""), `"type":"response_item","payload":{"content":[{"text":"<tools>"}]}`, turn, item("a"), `"type":"event_msg","payload":{"type":"task_started"}`, turn, item("b")}, "a b"},
		"forked":         {[]string{forked(`,"forked_from_ordinal_exclusive":5`), turn, item("a")}, "one two a"},
		"forked at once": {[]string{forked(`,"forked_from_ordinal_exclusive":0`), `"type":"response_item","payload":{"content":[{"text":"<tools>"}]}`, turn, item("a")}, "a"},
		"compacted":      {[]string{begins(""), turn, item("a"), `"type":"compacted","payload":{"replacement_history":[{"text":"short"}]}`, item("b")}, "short b"},

		"forked of what":      {[]string{forked(``), item("a")}, ""},
		"forked of nobody":    {[]string{begins(`"forked_from_id":"01900000-0000-7000-8000-000000000009","forked_from_ordinal_exclusive":1`)}, ""},
		"forked of itself":    {[]string{begins(`"forked_from_id":"` + newer + `","forked_from_ordinal_exclusive":1`)}, ""},
		"forked of no id":     {[]string{begins(`"forked_from_id":7`)}, ""},
		"compacted, not how":  {[]string{begins(""), turn, item("a"), `"type":"compacted","payload":{"message":"m"}`}, ""},
		"rolled back":         {[]string{begins(""), turn, item("a"), `"type":"event_msg","payload":{"type":"thread_rolled_back"}`}, ""},
		"a new kind":          {[]string{begins(""), turn, item("a"), `"type":"reverted","payload":{}`}, ""},
		"an item that is not": {[]string{begins(""), turn, `"type":"response_item","payload":"x"`}, ""},
		"twice a member":      {[]string{begins(""), turn, `"type":"response_item","payload":{},"payload":{}`}, ""},
		"no beginning":        {[]string{turn, item("a")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			items, err := rollout.History(home, recorded(t, home, newer, tt.records...))
			var got []string
			for _, i := range items {
				got = append(got, strings.TrimSuffix(strings.TrimPrefix(string(i), `{"text":"`), `"}`))
			}
			if strings.Join(got, " ") != tt.want || (err == nil) != (tt.want != "") {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

func TestSize(t *testing.T) {
	home := t.TempDir()
	path := recorded(t, home, newer, begins(""))
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := rollout.Size(home, newer); n != info.Size() || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := rollout.Size(home, older); err == nil {
		t.Errorf("of no file: %d", n)
	}
	if err := os.Rename(path, path+"x"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path+"x", path); err != nil {
		t.Fatal(err)
	}
	if n, err := rollout.Size(home, newer); err == nil {
		t.Errorf("of a link: %d", n)
	}
}

// An incomplete last line is ignored.
func TestHistoryIgnoresIncompleteLine(t *testing.T) {
	home := t.TempDir()
	path := recorded(t, home, newer, begins(""), turn, item("a"))
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"ordinal":9,"type":"resp`); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if items, err := rollout.History(home, path); err != nil || len(items) != 1 {
		t.Errorf("got %s, %v", items, err)
	}
}
