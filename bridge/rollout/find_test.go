package rollout_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/bridge/rollout"
	"codex-bridge.example/bridge/rules"
)

const (
	unknown   = rules.EscalationUnknown
	escalated = rules.Escalated
	sandboxed = rules.Sandboxed
)

// call returns a line of a rollout file.
func call(name, arguments string) string {
	text, err := json.Marshal(arguments)
	if err != nil {
		panic(err)
	}
	return `{"timestamp":"2026-01-01T00:00:00Z","type":"response_item","payload":{"type":"function_call","id":"f1","name":"` + name +
		`","arguments":` + string(text) + `,"call_id":"call_1"}}` + "\n"
}

// started is the first line of the turn in which call has its call.
const started = `{"type":"event_msg","payload":{"type":"task_started","turn_id":"turn_1"}}` + "\n"

func write(t *testing.T, text string) (home, path string) {
	t.Helper()
	home = t.TempDir()
	path = filepath.Join(home, "sessions", "2026", "rollout.jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return home, path
}

func TestFindCall(t *testing.T) {
	plain := call("exec_command", `{"cmd":"ls"}`)
	output := `{"type":"response_item","payload":{"type":"function_call_output","call_id":"call_1","output":"x"}}` + "\n"
	end := `{"type":"event_msg","payload":{"type":"item_completed","turn_id":"turn_1","item":{"type":"CommandExecution","id":"call_1"}}}` + "\n"
	for name, tt := range map[string]struct {
		text string
		want rules.Escalation
	}{
		"nothing":            {"", unknown},
		"plain":              {plain, sandboxed},
		"all of it":          {call("exec_command", `{"cmd":"ls","workdir":"/x","tty":true,"login":false,"shell":"sh","justification":"j","sandbox_permissions":"use_default","yield_time_ms":1,"max_output_tokens":2}`), sandboxed},
		"null":               {call("exec_command", `{"cmd":"ls","sandbox_permissions":null,"prefix_rule":null,"additional_permissions":null}`), sandboxed},
		"ended":              {plain + end + output, sandboxed},
		"used again later":   {plain + end + output + plain, unknown},
		"an output before":   {output + plain, sandboxed},
		"in an earlier turn": {plain + strings.ReplaceAll(started, "turn_1", "turn_0"), sandboxed},
		"far from the end":   {plain + strings.Repeat("{}\n", 4<<20/3), sandboxed},
		"long":               {strings.Replace(plain, "ls", strings.Repeat("l", 4<<20), 1), sandboxed},
		"long, and another":  {strings.Replace(call("exec_command", `{"cmd":"ls","sandbox_permissions":"require_escalated"}`), "ls", strings.Repeat("l", 5<<20), 1) + plain, escalated},
		"the end of much":    {strings.Repeat("{}\n", 4<<20/3) + plain, sandboxed},
		"a very long turn":   {plain + strings.Repeat(strings.Repeat("x", 1<<20)+"\n", 64), unknown},
		"no last line's end": {strings.TrimSuffix(plain, "\n"), unknown},
		"a line is written":  {plain + `{"type":"resp`, unknown},
	} {
		t.Run(name, func(t *testing.T) {
			home, path := write(t, started+tt.text)
			if got := rollout.FindCall(home, path, "turn_1", "call_1"); got.Escalation != tt.want {
				t.Errorf("got %d, want %d", got.Escalation, tt.want)
			}
		})
	}
}

// A call is found while other files are read; not more than the bound is read at once.
func TestFindCallReadsAtOnce(t *testing.T) {
	home, path := write(t, started+call("exec_command", `{"cmd":"ls"}`))
	other := int64(0)
	for rollout.Reading.TryAcquire(rollout.MaxTail) {
		other += rollout.MaxTail
	}
	if other < 2*rollout.MaxTail {
		t.Fatalf("%d bytes may be read at once", other)
	}
	found := make(chan rules.Escalation, 1)
	go func() { found <- rollout.FindCall(home, path, "turn_1", "call_1").Escalation }()
	select {
	case <-found:
		t.Error("the bound is not kept")
	case <-time.After(20 * time.Millisecond):
	}
	rollout.Reading.Release(rollout.MaxTail)
	if got := <-found; got != sandboxed {
		t.Errorf("got %d", got)
	}
	rollout.Reading.Release(other - rollout.MaxTail)
}

// Ids of any length and with any characters are found.
func TestFindCallWithOddID(t *testing.T) {
	for _, id := range []string{"call_1__thought__" + strings.Repeat("aB9+/", 1000) + "==", "call/1", `call"1\\`, "ü call 1", "functions.exec_command:0"} {
		spelled, err := json.Marshal(id)
		if err != nil {
			t.Fatal(err)
		}
		home, path := write(t, started+strings.Replace(call("exec_command", `{"cmd":"ls"}`), `"call_1"`, string(spelled), 1))
		got := rollout.FindCall(home, path, "turn_1", id)
		if got.Escalation != sandboxed || got.Command != "ls" {
			t.Errorf("%.40s: %+v", id, got)
		}
		if got := rollout.FindCall(home, path, "turn_1", id+"x"); got.Escalation != unknown {
			t.Errorf("%.40s, longer: %+v", id, got)
		}
	}
}

// Only the calls of the turn count. If the end of the file that is read does not have the start of
// the turn, more is read.
func TestFindCallInTurn(t *testing.T) {
	plain, out := call("exec_command", `{"cmd":"ls"}`), call("exec_command", `{"cmd":"ls","sandbox_permissions":"require_escalated"}`)
	earlier := strings.ReplaceAll(started, "turn_1", "turn_0")
	much := strings.Repeat(strings.Repeat("x", 1<<20)+"\n", 5)
	named := `{"type":"event_msg","payload":{"type":"item_completed","turn_id":"turn_1"}}` + "\n"
	for name, tt := range map[string]struct {
		text string
		want rules.Escalation
	}{
		"escalated in an earlier turn":       {earlier + out + started + plain, sandboxed},
		"in an earlier turn only":            {earlier + plain + started, unknown},
		"the turn is missing":                {earlier + plain, unknown},
		"far before the end":                 {started + out + much + plain, escalated},
		"twice, far before the end":          {started + plain + much + plain, unknown},
		"once, far before the end":           {earlier + out + started + plain + much, sandboxed},
		"the turn is only named near it":     {earlier + much + started + out + much + named + plain, escalated},
		"the start of the turn is spoken of": {started + out + much + strings.Replace(named, "item_completed", "task_started and", 1) + plain, escalated},
	} {
		home, path := write(t, tt.text)
		if got := rollout.FindCall(home, path, "turn_1", "call_1"); got.Escalation != tt.want {
			t.Errorf("%s: got %d, want %d", name, got.Escalation, tt.want)
		}
	}
}

// Codex certainly asks about a call only if it asks for no sandbox.
func TestFindCallRequested(t *testing.T) {
	plain := call("exec_command", `{"cmd":"ls"}`)
	out := call("exec_command", `{"cmd":"ls","sandbox_permissions":"require_escalated","justification":"j","prefix_rule":["ls"],"shell":"sh"}`)
	for text, want := range map[string]bool{
		out: true, out + out: false, plain: false, plain + out: false, out + plain: false,
		out + strings.Replace(out, "function_call", "custom_tool_call", 1):                       false,
		call("exec_command", `{"cmd":"ls","prefix_rule":["ls"]}`):                                false,
		call("exec_command", `{"cmd":"ls","foo":1}`):                                             false,
		call("exec_command", `{"cmd":"ls","sandbox_permissions":"require_escalated","foo":1}`):   false,
		call("exec_command", `{"cmd":"ls","sandbox_permissions":"with_additional_permissions"}`): false,
		call("other", `{"cmd":"ls","sandbox_permissions":"require_escalated"}`):                  false,
	} {
		home, path := write(t, started+text)
		if got := rollout.FindCall(home, path, "turn_1", "call_1"); got.Requested != want {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

// Only Codex's own files are read, and only ids with one spelling are searched.
func TestFindCallReadsOnlyCodexFiles(t *testing.T) {
	plain := call("exec_command", `{"cmd":"ls"}`)
	home, path := write(t, started+plain)
	other, foreign := write(t, started+plain)
	folder := filepath.Dir(path)
	link := filepath.Join(folder, "link.jsonl")
	if err := os.Symlink(foreign, link); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(home, "sessions", "out")
	if err := os.Symlink(filepath.Dir(foreign), out); err != nil {
		t.Fatal(err)
	}
	moved := t.TempDir()
	if err := os.Symlink(filepath.Join(home, "sessions"), filepath.Join(moved, "archived_sessions")); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		home, path, id string
		want           rules.Escalation
	}{
		"its own":               {home, path, "call_1", sandboxed},
		"elsewhere":             {home, foreign, "call_1", unknown},
		"a link out":            {home, link, "call_1", unknown},
		"a folder's link out":   {home, filepath.Join(out, "rollout.jsonl"), "call_1", unknown},
		"dots":                  {home, home + "/sessions/../../" + filepath.Base(filepath.Dir(other)), "call_1", unknown},
		"the folder":            {home, folder, "call_1", unknown},
		"missing":               {home, path + "x", "call_1", unknown},
		"sessions kept by link": {moved, path, "call_1", sandboxed},
		"no home":               {"", path, "call_1", unknown},
		"no path":               {home, "", "call_1", unknown},
		"relative":              {home, "rollout.jsonl", "call_1", unknown},
		"no id":                 {home, path, "", unknown},
		"an id with a quote":    {home, path, `call_1"`, unknown},
		"an id with a space":    {home, path, "call_1 ", unknown},
		"an id without letters": {home, path, "//", unknown},
	} {
		t.Run(name, func(t *testing.T) {
			if got := rollout.FindCall(tt.home, tt.path, "turn_1", tt.id); got.Escalation != tt.want {
				t.Errorf("got %d, want %d", got.Escalation, tt.want)
			}
		})
	}
}

// In no file a call that names an escalation is Sandboxed.
func FuzzFind(f *testing.F) {
	f.Add(`{"cmd":"ls"}`)
	f.Add(`{"cmd":"ls","sandbox_permissions":"require_escalated"}`)
	f.Fuzz(func(t *testing.T, arguments string) {
		home, path := write(t, started+call("exec_command", arguments))
		var read map[string]any
		err := json.Unmarshal([]byte(arguments), &read)
		if got := rollout.FindCall(home, path, "turn_1", "call_1"); got.Escalation == sandboxed &&
			(err != nil || read["sandbox_permissions"] != nil && read["sandbox_permissions"] != "use_default" || read["additional_permissions"] != nil) {
			t.Errorf("%s counts as plain", arguments)
		}
	})
}
