//go:build linux

package e2e_test

import (
	"encoding/json"
	"fmt"
	osuser "os/user"
	"slices"
	"strings"
	"testing"
)

// simulated is the part of the report of policy simulate that the test reads.
type simulated struct {
	Records, Repeated, Recomputed, Looser, Tighter, Unchanged int
	LooserKeys, RecordedOtherwise                             []any
	Changes                                                   []struct {
		From, To, ToApprovers string
		Looser                bool
		Count                 int
		Examples              []struct{ What, User string }
	}
	NotRecomputed []struct {
		Reason string
		Count  int
	}
}

// A simulation predicts what the same conversation does under the candidate: for a rule that is gone, new rules,
// an exception that is renewed, and a second person.
func TestSimulationPredicts(t *testing.T) {
	t.Parallel()
	runner, _ := sshKey(t, t.TempDir(), "runner")
	// No key is of a second person, so a command that needs one is refused at once.
	head := fmt.Sprintf("[policy]\napproval = [\"untrusted\"]\n[trace]\nenabled = true\n[approvals.desk]\nrunner = [%q]\n[approvals.desk.groups.release]\nkeys = [%[1]q]\n", runner)
	rule := func(command, rest string) string {
		return fmt.Sprintf("[[policy.rule]]\ncommand = \"touch %s\"\n%s\n", command, rest)
	}
	before := head + rule("first", `decision = "deny"`) + rule("third", `decision = "allow"`) + rule("sixth", "decision = \"allow\"\nuntil = \"2020-03-31\"")
	after := head + rule("second", `decision = "deny"`) + rule("fifth", "decision = \"ask\"\napprovers = \"release\"") + rule("sixth", "decision = \"allow\"\nuntil = \"9999-12-31\"")
	names := []string{"first", "second", "third", "fourth", "fifth", "sixth"}
	// converse returns the effect of the policy on each command.
	converse := func(w *world) (effects []string) {
		p := w.newUser()
		thread := p.thread(map[string]any{"approvalPolicy": "untrusted", "sandbox": "workspace-write"})
		for _, name := range names {
			asked := p.turn(thread, "RUN: touch "+name, `{"decision":"accept"}`)
			ran, output := w.hasFile("workspace/"+name), w.lastToolOutput()
			switch {
			case asked == 1 && ran:
				effects = append(effects, "ask")
			case asked == 0 && ran:
				effects = append(effects, "allow")
			case asked == 1 && strings.Contains(output, "no second person has approved this command"):
				effects = append(effects, "approvers")
			case asked == 0 && strings.Contains(output, "a rule says deny"):
				effects = append(effects, "deny")
			default:
				t.Errorf("touch %s: asked %d times, ran %t, the model got %q", name, asked, ran, output)
				effects = append(effects, "")
			}
		}
		p.closeAndWait()
		return effects
	}
	// Each message of noise would be a record.
	quiet := func(config string) options {
		return options{config: config, codex: codexPath, mute: "the counts are exact"}
	}
	w := newWorld(t, quiet(before))
	was := converse(w)
	if want := []string{"deny", "ask", "allow", "ask", "ask", "ask"}; !slices.Equal(was, want) {
		t.Fatalf("the policy's effects are %q", was)
	}
	text, stderr, status := w.runCommand("policy", "simulate", "--json", "--fail-on", "loosen", "--candidate", w.write("candidate.toml", after))
	var report simulated
	if err := json.Unmarshal([]byte(text), &report); err != nil {
		t.Fatalf("%v: %s%s", err, text, stderr)
	}
	account, err := osuser.Current()
	if err != nil {
		t.Fatal(err)
	}
	predicted := slices.Clone(was)
	for _, c := range report.Changes {
		for _, e := range c.Examples {
			if i := slices.Index(names, strings.TrimPrefix(e.What, "touch ")); i < 0 || was[i] != c.From || e.User != account.Username {
				t.Errorf("%s was not %s, or not of %s: %+v", e.What, c.From, account.Username, e)
			} else {
				predicted[i] = c.To
			}
		}
	}
	// The log has thread/start, the denial of first, and the answers about second, fourth, fifth and sixth; the trace
	// has third. Of the changes, first and sixth are looser, and second, third and fifth tighter.
	if status != 1 || report.Records != 7 || report.Recomputed != 6 || report.Repeated != 0 || report.Looser != 2 || report.Tighter != 3 || report.Unchanged != 1 ||
		len(report.LooserKeys) != 0 || len(report.RecordedOtherwise) != 0 || len(report.NotRecomputed) != 1 || !strings.Contains(report.NotRecomputed[0].Reason, "a client's message") {
		t.Errorf("status %d, %s", status, text)
	}
	if want := []string{"ask", "deny", "ask", "ask", "approvers", "allow"}; !slices.Equal(predicted, want) {
		t.Errorf("predicted %q: %s", predicted, text)
	}
	candidate := newWorld(t, quiet(after))
	if got := converse(candidate); !slices.Equal(got, predicted) {
		t.Errorf("predicted %q, the effects are %q", predicted, got)
	}
	// There, both answers about fifth are records, and the way back is looser where this one is tighter.
	text, _, status = candidate.runCommand("policy", "simulate", "--json", "--fail-on", "loosen", "--candidate", candidate.write("back.toml", before))
	report = simulated{}
	if err := json.Unmarshal([]byte(text), &report); err != nil || status != 1 || report.Records != 8 || report.Repeated != 1 || report.Recomputed != 6 ||
		report.Looser != 3 || report.Tighter != 2 || report.Unchanged != 1 || len(report.RecordedOtherwise) != 0 {
		t.Errorf("the way back: status %d, %v, %s", status, err, text)
	}
	text, _, status = w.runCommand("policy", "simulate", "--json", "--fail-on", "loosen", "--candidate", w.write("same.toml", before))
	if status != 0 || !strings.Contains(text, `"changes": []`) || !strings.Contains(text, `"unchanged": 6`) {
		t.Errorf("an equal candidate: status %d, %s", status, text)
	}

	// The proposed rule allows the denied command.
	text, _, status = w.runCommand("policy", "suggest")
	if want := "[[policy.rule]]\ntool = \"shell\"\ncommand = \"touch first\"\ndecision = \"allow\"\n"; status != 0 || !strings.Contains(text, want) || strings.Count(text, "[[policy.rule]]") != 1 {
		t.Fatalf("status %d, %s", status, text)
	}
	got := converse(newWorld(t, quiet(strings.Replace(before, "[[policy.rule]]", text+"[[policy.rule]]", 1))))
	if want := []string{"allow", "ask", "allow", "ask", "ask", "ask"}; !slices.Equal(got, want) {
		t.Errorf("with the proposal the effects are %q", got)
	}
}
