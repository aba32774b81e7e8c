package rollout_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/rollout"
)

// applies is a record of settings that have the profile.
func applies(profile string) string {
	return fmt.Sprintf(`"type":"event_msg","payload":{"type":"thread_settings_applied","thread_settings":{"cwd":"/w","approval_policy":"never","reasoning_effort":"high","active_permission_profile":{"id":%q},"permission_profile":{"type":"managed"}}}`, profile)
}

// turns is the record of a turn with the profile.
func turns(profile string) string {
	return fmt.Sprintf(`"type":"turn_context","payload":{"cwd":"/w","effort":"high","approval_policy":"never","active_permission_profile":{"id":%q},"permission_profile":{"type":"managed"}}`, profile)
}

// Codex restores the settings that it last recorded for the thread, in its file or in the one that this
// continues. Where the record can't be read as Codex reads it, that is an error.
func TestStoredSettings(t *testing.T) {
	const before = "sessions/2024/06/10/rollout-2024-06-10T00-00-00-" + older + ".jsonl"
	const none, fails = "none", "error"
	continued := begins(`"history_base":{"thread_id":"` + older + `","end_ordinal_exclusive":3}`)
	whole := func(record string) string { return "{" + record + "}" }
	for name, test := range map[string]struct {
		base, own []string
		end       string // of the file
		want      string
	}{
		"applied":                      {nil, []string{begins(""), turns("t"), applies("a")}, "", "a"},
		"the last":                     {nil, []string{begins(""), applies("a"), applies("b")}, "", "b"},
		"not a later turn":             {nil, []string{begins(""), applies("a"), turns("t")}, "", "a"},
		"a turn":                       {nil, []string{begins(""), turns("t"), turns("u")}, "", "u"},
		"none":                         {nil, []string{begins(""), item("a")}, "", none},
		"spoken of":                    {nil, []string{begins(""), `"type":"response_item","payload":{"text":"thread_settings_applied turn_context"}`}, "", none},
		"after a revert":               {[]string{begins(""), turns("t"), applies("a")}, []string{continued, applies("b")}, "", "b"},
		"from before a revert":         {[]string{begins(""), turns("t"), applies("a")}, []string{continued}, "", "a"},
		"applied before a later turn":  {[]string{begins(""), turns("t"), applies("a")}, []string{continued, turns("u")}, "", "a"},
		"a turn after a revert":        {[]string{begins(""), turns("t")}, []string{continued, turns("u")}, "", "u"},
		"reverted":                     {[]string{begins(""), applies("a"), item("x"), applies("b")}, []string{continued}, "", "a"},
		"none before a revert":         {[]string{begins(""), item("a")}, []string{continued}, "", none},
		"base is gone":                 {nil, []string{continued, turns("t")}, "", fails},
		"base is gone and not needed":  {nil, []string{continued, applies("a")}, "", "a"},
		"base without numbers":         {[]string{begins(""), applies("a") + `,"ordinal":7`}, []string{continued}, "", fails},
		"cut short":                    {nil, []string{begins(""), applies("a")}, whole(applies("b"))[:150], "a"},
		"cut short, with another line": {nil, []string{begins(""), applies("a")}, whole(turns("b"))[:150] + whole(applies("b")) + "\n", "a"},
		"without an end":               {nil, []string{begins(""), applies("a")}, whole(applies("b")), "b"},
		"unreadable":                   {nil, []string{begins(""), applies("a")}, whole(`"x":1,"x":2,`+applies("b")) + "\n", fails},
		"no first record":              {nil, []string{item("a"), applies("a")}, "", "a"},
		"no first record, none":        {nil, []string{item("a")}, "", fails},
		"empty":                        {nil, nil, "", fails},
		"far from the end":             {nil, []string{begins(""), applies("a"), `"x":"` + strings.Repeat("x", 70<<20) + `"`, turns("t")}, "", "a"},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			if test.base != nil {
				numbered(t, filepath.Join(home, before), 0, test.base...)
			}
			path := filepath.Join(home, "sessions/2024/06/10/rollout-2024-06-10T01-00-00-"+older+"_"+segment+".jsonl")
			numbered(t, path, 3, test.own...)
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.WriteString(test.end); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			settings, err := rollout.StoredSettings(t.Context(), home, path)
			got := none
			switch {
			case err != nil:
				got = fails
			case settings != nil:
				got, _ = settings.Root().Get("activePermissionProfile").Get("id").Text()
				if s := settings.Root(); !s.Get("approvalPolicy").Is("never") || !s.Get("effort").Is("high") || !s.Get("permissionProfile").Exists() {
					t.Errorf("settings %s", s.Raw())
				}
			}
			if got != test.want {
				t.Errorf("got %s, want %s (%v)", got, test.want, err)
			}
		})
	}
	ended, end := context.WithCancelCause(t.Context())
	end(errors.New("the time is over"))
	home, path := write(t, `{"type":"session_meta","payload":{}}`+"\n")
	if _, err := rollout.StoredSettings(ended, home, path); err == nil || err.Error() != "the time is over" {
		t.Errorf("after the end of the time: %v", err)
	}
	if _, err := rollout.StoredSettings(t.Context(), t.TempDir(), "/sessions/none.jsonl"); err == nil {
		t.Error("a file elsewhere is read")
	}
	home, path = write(t, "")
	if _, err := rollout.StoredSettings(t.Context(), home, path+"x.jsonl"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a file: %v", err)
	}
}

// The record of settings has the workspace roots that Codex restores.
func TestStoredWorkspaceRoots(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, "sessions", "rollout-2024-06-10T00-00-00-"+older+".jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	record := strings.Replace(applies("a"), `"cwd":"/w"`, `"cwd":"/w","runtime_workspace_roots":["/w","/srv"]`, 1)
	if err := os.WriteFile(path, []byte("{"+begins("")+"}\n{"+record+"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	settings, err := rollout.StoredSettings(t.Context(), home, path)
	if err != nil {
		t.Fatal(err)
	}
	if got := policy.ParseStoredProfile(settings.Root()).Roots; !slices.Equal(got, []string{"/w", "/srv"}) {
		t.Errorf("%q", got)
	}
}
