//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/bridge/bridgetest/vectors"
)

// otherVectors are changes to a file of vectors: other words, other names of cases in another order,
// and a bad case before them.
type otherVectors struct {
	test, file string
	members    []string // that the test reads; the bad case is in the last of them
	words      []string // old and new
	bad        func(one map[string]any) any
}

// Other files of the same form can take the place of the vectors: every case is judged, whatever its
// name, its place and its words, and exactly the bad case fails.
func TestOtherCasesAreJudged(t *testing.T) {
	with := func(member string, value any) func(map[string]any) any {
		return func(one map[string]any) any {
			one = maps.Clone(one)
			one[member] = value
			return one
		}
	}
	for _, o := range []otherVectors{
		{"TestRequestUserInputVectors", "request_user_input.json", []string{"cases"}, []string{
			"Fast", "Quick", `"fast`, `"quick`, "Deep", "Slow", "deep", "slow", `"t"`, `"thread-77"`, `"requestId": 7`, `"requestId": 31`, "q1", "ask-a",
		}, with("response", map[string]any{"answers": map[string]any{"none": map[string]any{}}})},
		{"TestSpawnVectors", "acp_spawn.json", []string{"policy", "allowedAgents", "cases"}, []string{
			"codex", "gemini", "agent:main:chat", "agent:main:talk", "do it", "try that",
		}, func(map[string]any) any { return map[string]any{"name": "case 0", "input": "does not decode"} }},
		{"TestApprovalVectorsCases", "approval.json", []string{"cases"}, []string{
			"thread-1", "T-9", "turn-1", "U-9", "agent:main:session-1", "agent:other:s2", "pnpm test", "go build",
		}, with("response", map[string]any{"decision": "never"})},
		{"TestConversationBindingVectors", "conversation_binding.json", []string{"cases"}, []string{
			"old-th", "th-5", "new-th", "th-6", "/srv", "/data", "/bound", "/held", "gpt-5.5", "gpt-6", "hello", "bye", "/wd", "/here", `"hi"`, `"go on"`,
		}, func(map[string]any) any {
			return map[string]any{"name": "case 0", "input": map[string]any{}, "requests": []any{}, "result": map[string]any{"reply": map[string]any{"text": "x"}}}
		}},
		{"TestConversationInputVectors", "conversation_input.json", []string{"cases"}, []string{
			"/a.png", "/x/c.png", "https://x/", "https://y/", `"hi"`, `"look"`,
		}, with("input", []any{})}, // ends the process by a panic
	} {
		t.Run(o.test, func(t *testing.T) {
			t.Parallel()
			o.run(t)
		})
	}
}

func (o otherVectors) run(t *testing.T) {
	folder, want := t.TempDir(), 0
	all := make(map[string]any)
	for i, member := range o.members {
		cases := o.changed(t, member, i == len(o.members)-1)
		all[member], want = cases, want+len(cases)
	}
	if err := os.WriteFile(filepath.Join(folder, o.file), []byte(text(t, all)), 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^"+o.test+"$", "-test.count=1", "-test.v=test2json")
	cmd.Env = append(os.Environ(), vectors.EnvFolder+"="+folder)
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Error("the bad case passes")
	}
	var failed []string
	n := 0
	for _, r := range readResults(string(out)) {
		_, name, isCase := strings.Cut(r.name, "/")
		if !isCase {
			continue
		}
		if n++; r.status != "PASS" {
			failed = append(failed, name)
		}
	}
	bad := []string{o.members[len(o.members)-1] + "/case_0"}
	if diff := cmp.Diff(bad, failed); diff != "" || n != want || !strings.Contains(string(out), fmt.Sprintf("%d cases: ", want)) {
		t.Errorf("%d of %d cases ran; failed (-want +got):\n%s\n%s", n, want, diff, out)
	}
}

// changed returns the cases in a member of the file with the changes, and with the bad case where
// that is wanted.
func (o otherVectors) changed(t *testing.T, member string, withBad bool) (cases []any) {
	t.Helper()
	for i, raw := range vectors.Cases(t, o.file, member) {
		body := strings.NewReplacer(o.words...).Replace(string(raw))
		var one map[string]any
		if err := json.Unmarshal([]byte(body), &one); err != nil {
			t.Fatal(err)
		}
		one["name"] = fmt.Sprint("case ", i+1)
		cases = append(cases, one)
	}
	slices.Reverse(cases)
	if withBad {
		bad := o.bad(cases[len(cases)-1].(map[string]any)).(map[string]any)
		bad["name"] = "case 0"
		cases = slices.Insert(cases, 0, any(bad))
	}
	return cases
}
