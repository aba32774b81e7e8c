package simulate_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/replay"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/cmd/codex-bridge/internal/simulate"
	"codex-bridge.example/rpc"
)

// today is the time of the simulations.
var today = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// plainDisk has no links.
type plainDisk struct{}

func (plainDisk) Canonical(path string) (string, error)  { return path, nil }
func (plainDisk) Follow(path string) (string, error)     { return path, nil }
func (plainDisk) Readings(path string) ([]string, error) { return []string{filepath.Clean(path)}, nil }

type tester interface {
	Helper()
	Fatal(...any)
}

func compile(t tester, cfg config.Policy) *policy.Policy {
	t.Helper()
	p, err := policy.New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// section returns an enforced policy with rules in one or more files, written
// "decision command approvers:GROUP until:TIME".
func section(files ...[]string) config.Policy {
	cfg := config.Default().Policy
	cfg.Mode, cfg.Sandbox, cfg.Approval, cfg.Gate, cfg.Escalation = config.Enforce, "workspace-write", []string{"untrusted", "on-request"}, true, "deny"
	cfg.WritableRoots, cfg.ProtectedPaths = []string{"${workspace}"}, []string{".git", ".codex", ".agents"}
	for layer, lines := range files {
		for i, line := range lines {
			decision, command, _ := strings.Cut(line, " ")
			r := config.Rule{Decision: decision, Origin: config.Origin{Layer: config.Managed + config.Layer(layer), File: fmt.Sprint(layer), Line: i + 1}}
			command, r.Until, _ = strings.Cut(command, " until:")
			command, r.Approvers, _ = strings.Cut(command, " approvers:")
			r.Command = command
			if path, ok := strings.CutPrefix(command, "path:"); ok {
				r.Command, r.Path = "", path
			} else if tool, ok := strings.CutPrefix(command, "tool:"); ok {
				r.Command, r.Tool = "", tool
			}
			cfg.Rules = append(cfg.Rules, r)
		}
	}
	return cfg
}

// call returns the record of a call under a policy, as the guard writes it.
func call(t tester, p *policy.Policy, n int, tool, text string, change ...func(*policy.State)) simulate.Record {
	t.Helper()
	raw, _ := json.Marshal(map[string]string{"command": text})
	doc, err := rpc.ParseValue(raw)
	if err != nil {
		t.Fatal(err)
	}
	use := toolcall.Call{ID: fmt.Sprint("call", n), Name: tool, Input: doc.Root(), Cwd: "/w", Shell: "bash"}
	st := policy.State{
		Now: func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }, Home: "/home/ada", Paths: &replay.PathLog{Paths: plainDisk{}}, Escalation: rules.Sandboxed,
		Thread: &policy.Thread{Workspace: "/w", Sandbox: "workspace-write", Approval: json.RawMessage(`"on-request"`), Gated: true},
	}
	for _, f := range change {
		f(&st)
	}
	r := simulate.Record{Entry: decision.Entry{Seq: int64(n), Record: decision.Record{
		Time: time.Unix(int64(n), 0).UTC(), Client: "zed/1", Thread: "T", Turn: "U", Method: "hook/preToolUse", Verdict: "pass", Mode: "enforce",
	}}}
	if d := toolcall.Decide(p, use, st); d.Verdict == policy.Deny {
		refusal := d.Refusal()
		r.Verdict, r.Rule, r.Reason, r.Origin = "deny", refusal.Rule, refusal.Reason, refusal.Origin
	} else if d.Ask {
		r.Method, r.Verdict, r.Rule = "item/commandExecution/requestApproval", "accept", "approvals.person"
	}
	f := replay.CallFacts(p, use, st)
	f.User = "ada"
	r.Facts = string(f.Encode())
	return r
}

func sequence(all []simulate.Record) iter.Seq2[simulate.Record, error] {
	return func(yield func(simulate.Record, error) bool) {
		for _, r := range all {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func compare(t tester, all []simulate.Record, current, candidate *policy.Policy) *simulate.Report {
	t.Helper()
	report, err := simulate.Compare(sequence(all), current, candidate, today)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

var commands = []string{
	"git status", "git push origin main", "make test", "make", "rm -rf build", "curl https://x", "git log | head -3", "echo a > out/b", "make && git push origin main",
	"echo \"$X\"", "npm run 'lint all'", "rm -rf .git",
}

var ruleLines = []string{
	"deny git push **", "allow git **", "ask make **", "allow make test", "deny rm **", "ask curl **", "deny path:${workspace}/out/**", "allow echo **", "allow head **", "deny npm **",
}

// An equal candidate changes nothing, and a further file of rules that deny or ask never loosens.
func TestFurtherRulesNeverLoosen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) []string {
			return rapid.SliceOfNDistinct(rapid.SampledFrom(ruleLines), 0, len(ruleLines), rapid.ID).Draw(t, name)
		}
		tighter := slices.DeleteFunc(draw("a further file"), func(line string) bool { return strings.HasPrefix(line, "allow") })
		lines := draw("rules")
		current := compile(t, section(lines))
		var all []simulate.Record
		for i := range rapid.IntRange(1, 20).Draw(t, "records") {
			all = append(all, call(t, current, i+1, "Bash", rapid.SampledFrom(commands).Draw(t, "command")))
		}
		r := compare(t, all, current, compile(t, section(lines)))
		if r.Looser+r.Tighter != 0 || r.Unchanged != int64(len(all)) || len(r.Otherwise) != 0 {
			t.Fatalf("an equal candidate: %+v", r)
		}
		if r := compare(t, all, current, compile(t, section(lines, tighter))); r.Looser != 0 || r.Recomputed != int64(len(all)) {
			t.Fatalf("a further file: %+v", r)
		}
	})
}

// A candidate without a rule loosens exactly the calls that the rule has decided.
func TestRemovedRuleLoosensItsCalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		removed := rapid.SampledFrom([]string{"deny git push **", "deny rm **", "ask curl **"}).Draw(t, "removed")
		with, without := section([]string{"allow make **", removed}), section([]string{"allow make **"})
		with.Approval, without.Approval = []string{"on-request"}, []string{"on-request"}
		current, candidate := compile(t, with), compile(t, without)
		_, begin, _ := strings.Cut(strings.TrimSuffix(removed, "**"), " ")
		matched := int64(0)
		var all []simulate.Record
		for i := range rapid.IntRange(1, 20).Draw(t, "records") {
			text := rapid.SampledFrom([]string{"git push origin main", "rm -rf build", "curl https://x", "make", "make && git push a", "git log"}).Draw(t, "command")
			all = append(all, call(t, current, i+1, "Bash", text, func(st *policy.State) { st.Thread.Gated = false }))
			if strings.Contains(text, begin) {
				matched++
			}
		}
		r := compare(t, all, current, candidate)
		if r.Looser != matched || r.Tighter != 0 || r.Recomputed != int64(len(all)) {
			t.Fatalf("without %q: %+v, %d matched", removed, r, matched)
		}
		for _, c := range r.Changes {
			if c.Count != matched || c.To != replay.Allows {
				t.Fatalf("without %q: %+v", removed, c)
			}
		}
	})
}

// Compare groups the changes by rule and user, and counts what it can't recompute by its reason.
func TestCompare(t *testing.T) {
	current := compile(t, section([]string{"deny git push **", "allow git **", "ask make"}))
	candidate := compile(t, section([]string{"ask git push **", "deny git log **", "ask make"}))
	all := []simulate.Record{
		call(t, current, 1, "Bash", "git push origin main"), call(t, current, 2, "Bash", "git log"),
		call(t, current, 3, "Bash", "git push --force"), call(t, current, 4, "Bash", "make"),
	}
	repeated := call(t, current, 4, "Bash", "make")
	foreign := call(t, compile(t, section([]string{"deny make"})), 6, "Bash", "make")
	old, message, method, secret, other, later := all[0], all[0], all[0], all[0], all[0], all[0]
	old.Facts = ""
	message.Method, message.Rule, message.Facts = "turn/start", "policy.sandbox", ""
	method.Method, method.Rule, method.Facts = "fs/remove", "policy.methods", ""
	secret.Facts = `{"unknown":"it has a secret","id":"x"}`
	other.Method, other.Facts = "bridge/config/changed", ""
	later.Facts = `{"later":1}`
	all = append(all, repeated, foreign, old, message, method, secret, other, later)
	r := compare(t, all, current, candidate)
	var changes []string
	for _, c := range r.Changes {
		changes = append(changes, fmt.Sprintf("%s %s %s %d %s", c.From, c.To, c.Origin, c.Count, c.Examples[0].What))
	}
	if want := []string{"deny ask managed 0:1 2 git push origin main", "allow deny managed 0:2 1 git log"}; !slices.Equal(changes, want) {
		t.Errorf("changes %q", changes)
	}
	if len(r.Users) != 1 || *r.Users[0] != (simulate.User{Name: "ada", Looser: 2, Tighter: 1}) {
		t.Errorf("users %+v", r.Users)
	}
	var reasons []string
	for _, n := range r.NotRecomputed {
		reasons = append(reasons, fmt.Sprint(n.Count, " ", n.Reason))
	}
	for _, part := range []string{"an older version", "a client's message, whose content", "it has a secret", "not about a call or a message", "this version can't read"} {
		if !slices.ContainsFunc(reasons, func(s string) bool { return strings.HasPrefix(s, "1 ") && strings.Contains(s, part) }) {
			t.Errorf("%q is not in %q", part, reasons)
		}
	}
	if r.Records != 12 || r.Repeated != 1 || r.Recomputed != 6 || r.Looser != 2 || r.Tighter != 1 || r.Unchanged != 3 {
		t.Errorf("%+v", r)
	}
	if len(r.Otherwise) != 1 || r.Otherwise[0].Count != 1 || r.Otherwise[0].From != replay.Denies || r.Otherwise[0].To != replay.Asks {
		t.Errorf("recorded otherwise: %+v", r.Otherwise)
	}
	failed := func(yield func(simulate.Record, error) bool) { yield(simulate.Record{}, errors.New("disk")) }
	if _, err := simulate.Compare(failed, current, candidate, today); err == nil || err.Error() != "disk" {
		t.Errorf("an error of the log: %v", err)
	}
}

// Calls with equal inputs are computed once, and counted for each user and call.
func TestEqualCallsCountEach(t *testing.T) {
	current, candidate := compile(t, section([]string{"deny git push **"})), compile(t, section([]string{"ask git push **"}))
	var all []simulate.Record
	for n := range 6 {
		r := call(t, current, n, "Bash", "git push")
		r.Facts = strings.Replace(r.Facts, `"user":"ada"`, []string{`"user":"ada"`, `"user":"bo"`, `"user":"x\"y"`}[n%3], 1)
		all = append(all, r)
	}
	r := compare(t, append(all, all[0]), current, candidate)
	var users []string
	for _, u := range r.Users {
		users = append(users, fmt.Sprint(u.Name, u.Looser))
	}
	if want := []string{"ada2", "bo2", `x"y2`}; !slices.Equal(users, want) || r.Repeated != 1 || len(r.Changes) != 1 || r.Changes[0].Examples[1].User != "bo" {
		t.Errorf("users %q, %+v", users, r)
	}
}

// changesOf returns the changes of a report as "from groups → to groups starts: count".
func changesOf(r *simulate.Report) (all []string) {
	for _, c := range r.Changes {
		text := fmt.Sprintf("%s%s → %s%s", c.From, c.FromApprovers, c.To, c.ToApprovers)
		if !c.Starts.IsZero() {
			text += c.Starts.Format(" 2006-01-02")
		}
		all = append(all, fmt.Sprintf("%s: %d", text, c.Count))
	}
	return all
}

// Rules count as they do at the time of the simulation and later, whenever the call was recorded: an exception
// that is longer, or for ever, is looser.
func TestRulesThatEnd(t *testing.T) {
	const none = "allow make"
	for name, test := range map[string]struct {
		current, candidate string
		looser             bool
		changes            []string
	}{
		"an exception that has ended":          {none, "allow git push ** until:2026-05-01", false, nil},
		"without an exception that has ended":  {"allow git push ** until:2026-05-01", none, false, nil},
		"an exception":                         {none, "allow git push ** until:2026-07-01", true, []string{"ask → allow: 1"}},
		"an exception is renewed":              {"allow git push ** until:2026-05-01", "allow git push ** until:2026-07-01", true, []string{"ask → allow: 1"}},
		"an exception is longer":               {"allow git push ** until:2026-07-01", "allow git push ** until:2026-09-01", true, []string{"ask → allow 2026-07-02: 1"}},
		"an exception is for ever":             {"allow git push ** until:2026-07-01", "allow git push **", true, []string{"ask → allow 2026-07-02: 1"}},
		"an exception is shorter":              {"allow git push ** until:2026-09-01", "allow git push ** until:2026-07-01", false, []string{"allow → ask 2026-07-02: 1"}},
		"an exception ends":                    {"allow git push **", "allow git push ** until:2026-07-01", false, []string{"allow → ask 2026-07-02: 1"}},
		"the same":                             {"allow git push ** until:2026-07-01", "allow git push ** until:2026-07-01", false, nil},
		"a denial that has ended still counts": {"deny git push **", "deny git push ** until:2026-05-01", false, nil},
	} {
		current, candidate := compile(t, section([]string{test.current})), compile(t, section([]string{test.candidate}))
		r := compare(t, []simulate.Record{call(t, current, 1, "Bash", "git push origin main")}, current, candidate)
		if got := changesOf(r); !slices.Equal(got, test.changes) || r.IsLooser() != test.looser || r.Recomputed != 1 {
			t.Errorf("%s: %q, %+v", name, got, r)
		}
	}
}

// A second person is stricter than a question and looser than a denial, and another group may approve more.
func TestApprovers(t *testing.T) {
	for name, test := range map[string]struct {
		current, candidate []string
		looser             bool
		changes            []string
	}{
		"for a denial":     {[]string{"deny git push **"}, []string{"ask git push ** approvers:release"}, true, []string{"deny → approversrelease: 1"}},
		"for a question":   {[]string{"ask git push **"}, []string{"ask git push ** approvers:release"}, false, []string{"ask → approversrelease: 1"}},
		"for a permission": {[]string{"allow git push **"}, []string{"ask git push ** approvers:release"}, false, []string{"allow → approversrelease: 1"}},
		"none any more":    {[]string{"ask git push ** approvers:release"}, []string{"ask git push **"}, true, []string{"approversrelease → ask: 1"}},
		"another group":    {[]string{"ask git push ** approvers:release"}, []string{"ask git push ** approvers:interns"}, true, []string{"approversrelease → approversinterns: 1"}},
		"one of two":       {[]string{"ask git push ** approvers:a", "ask git ** approvers:b"}, []string{"ask git push ** approvers:a"}, false, nil},
		"the same":         {[]string{"ask git push ** approvers:a"}, []string{"ask git push ** approvers:a"}, false, nil},
	} {
		current, candidate := compile(t, section(test.current)), compile(t, section(test.candidate))
		r := compare(t, []simulate.Record{call(t, current, 1, "Bash", "git push origin main")}, current, candidate)
		if got := changesOf(r); !slices.Equal(got, test.changes) || r.IsLooser() != test.looser || r.Recomputed != 1 || len(r.Otherwise) != 0 {
			t.Errorf("%s: %q, %+v", name, got, r)
		}
	}
	// Files count together: both groups must approve.
	two, one := compile(t, section([]string{"ask git ** approvers:a"}, []string{"ask git push ** approvers:b"})), compile(t, section([]string{"ask git ** approvers:a"}))
	record := call(t, two, 1, "Bash", "git push")
	if got := changesOf(compare(t, []simulate.Record{record}, two, one)); !slices.Equal(got, []string{"approversa, b → approversa: 1"}) {
		t.Errorf("without a group: %q", got)
	}
	if r := compare(t, []simulate.Record{record}, one, two); r.IsLooser() || r.Tighter != 1 {
		t.Errorf("with a further group: %+v", r)
	}
	// The answers of both persons are records about one call. No rule is proposed for a call that a second person has declined.
	declined := record
	declined.Verdict, declined.Rule = "deny", "approvals.desk"
	if r := compare(t, []simulate.Record{record, declined}, two, two); r.Records != 2 || r.Repeated != 1 || len(r.Otherwise) != 0 {
		t.Errorf("two answers: %+v", r)
	}
	cfg := section([]string{"ask git ** approvers:a"})
	if s := suggest(t, cfg, []int{0}, []simulate.Record{declined}); len(s.Proposals) != 0 || len(s.NotProposed) != 1 || s.NotProposed[0].Reason != "a second person must approve it" {
		t.Errorf("%+v", s)
	}
}

// Codex may ask twice about a call: also whether it may run again outside the sandbox. Those are two decisions.
func TestSecondQuestionIsNoRepeat(t *testing.T) {
	cfg := section(nil)
	cfg.Escalation = "ask"
	current, candidate := compile(t, section(nil)), compile(t, cfg)
	question := func(reason string) simulate.Record {
		raw, _ := json.Marshal(map[string]string{"itemId": "call1", "command": "git status", "cwd": "/w", "reason": reason})
		doc, err := rpc.ParseValue(raw)
		if err != nil {
			t.Fatal(err)
		}
		st := policy.State{
			Home: "/home/ada", Paths: &replay.PathLog{Paths: plainDisk{}}, Escalation: rules.Sandboxed,
			Thread: &policy.Thread{Workspace: "/w", Sandbox: "workspace-write", Approval: json.RawMessage(`"on-request"`), Gated: true},
		}
		const method = "item/commandExecution/requestApproval"
		r := simulate.Record{Entry: decision.Entry{Record: decision.Record{Thread: "T", Turn: "U", Method: method, Mode: "enforce", Verdict: "deny", Rule: "policy.escalation"}}}
		r.Facts = string(replay.RequestFacts(current, method, doc.Root(), st).Encode())
		return r
	}
	inside, outside := question(""), question("command failed; retry without sandbox?")
	inside.Verdict, inside.Rule = "accept", "approvals.person"
	r := compare(t, []simulate.Record{inside, outside, outside}, current, candidate)
	if got := changesOf(r); r.Repeated != 1 || r.Unchanged != 1 || !slices.Equal(got, []string{"deny → ask: 1"}) {
		t.Errorf("%q, %+v", got, r)
	}
}

// suggest returns the suggestions from records, for places before the rules at some indexes.
func suggest(t *testing.T, cfg config.Policy, at []int, all []simulate.Record) *simulate.Suggestions {
	t.Helper()
	var places []simulate.Place
	for _, i := range at {
		places = append(places, simulate.Place{Name: "file " + cfg.Rules[i].Origin.File, With: func(add []config.Rule) (*policy.Policy, error) {
			with := cfg
			add = slices.Clone(add)
			for j := range add {
				add[j].Origin = cfg.Rules[i].Origin
			}
			with.Rules = slices.Concat(cfg.Rules[:i], add, cfg.Rules[i:])
			return policy.New(with, nil)
		}})
	}
	s, err := simulate.Suggest(func() iter.Seq2[simulate.Record, error] { return sequence(all) }, func(*simulate.Record) bool { return true },
		compile(t, cfg), places, today, 10)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Suggest proposes exact rules, says what else they would allow, and never proposes what leaves the
// sandbox, a protected path, or a line outside the grammar.
func TestSuggest(t *testing.T) {
	cfg := section([]string{"deny git push **", "deny rm **", "deny npm **", "deny path:${workspace}/gen/**", "deny tool:lookup"})
	current := compile(t, cfg)
	escalated := func(st *policy.State) { st.Escalation = rules.Escalated }
	full := func(st *policy.State) { st.Thread.Sandbox = "danger-full-access" }
	var all []simulate.Record
	add := func(tool, text string, change ...func(*policy.State)) {
		all = append(all, call(t, current, len(all)+1, tool, text, change...))
	}
	add("Bash", "git push origin main")
	add("Bash", "git push origin main")
	add("Bash", "git push --force")
	add("Bash", "make && rm -rf build")
	add("Bash", "rm -rf build")
	add("Bash", "echo \"$X\"; rm a")
	add("Bash", "npm run 'lint all'")
	add("Bash", "rm a", escalated)
	add("Bash", "rm b", full)
	add("Bash", "rm -rf .git")
	add("apply_patch", "*** Begin Patch\n*** Add File: gen/a.go\n+x\n*** End Patch\n")
	add("apply_patch", "*** Begin Patch\n*** Add File: .git/a\n+x\n*** End Patch\n")
	add("apply_patch", "*** Begin Patch\n*** Add File: /etc/a\n+x\n*** End Patch\n")
	add("lookup", "x")
	all = append(all, simulate.Record{Entry: decision.Entry{Record: decision.Record{Method: "turn/start", Verdict: "deny"}}})
	s := suggest(t, cfg, []int{0}, all)
	var got []string
	for _, p := range s.Proposals {
		text := fmt.Sprint(p.Denials)
		for _, r := range p.Rules {
			text += fmt.Sprintf(" [%s %s%s]", r.Tool, r.Command, r.Path)
		}
		if p.Others > 0 {
			text += fmt.Sprintf(" +%d %s", p.Others, p.OtherExamples[0].What)
		}
		got = append(got, text)
	}
	slices.Sort(got)
	want := []string{
		"1 [file ${workspace}/gen/a.go]", "1 [lookup ]", "1 [shell git push --force]",
		"1 [shell make] [shell rm -rf build] +1 rm -rf build", "1 [shell rm -rf build]", "2 [shell git push origin main]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("proposals\n%s", strings.Join(got, "\n"))
	}
	var why []string
	for _, n := range s.NotProposed {
		why = append(why, fmt.Sprint(n.Count, " ", n.Reason))
	}
	for _, part := range []string{"all shells read alike", "has a blank", "it leaves the sandbox, or may", "has no sandbox", "content is not recorded", "names a protected path"} {
		if !slices.ContainsFunc(why, func(s string) bool { return strings.Contains(s, part) }) {
			t.Errorf("no denial has the reason %q: %q", part, why)
		}
	}
	if s.NotChecked != 1 {
		t.Errorf("%d records not checked", s.NotChecked)
	}
}

// A managed file's rule can't be lifted by the user's. The first place at which a rule allows the call counts, and a
// call that rules of two places deny has no proposal.
func TestSuggestForTheFileThatDenies(t *testing.T) {
	cfg := section([]string{"deny git push **", "deny rm **"}, []string{"allow make", "deny rm **", "deny npm **"})
	current := compile(t, cfg)
	for _, test := range []struct {
		command string
		at      []int
		place   string
		why     string
	}{
		{"git push", []int{2}, "", "no rule of file 1 can allow it: policy.rule of managed 0:1 counts, too"},
		{"git push", []int{2, 0}, "file 0", ""},
		{"npm", []int{2, 0}, "file 1", ""},
		{"rm a", []int{2, 0}, "", "no rule of file 1 can allow it: policy.rule of managed 0:2 counts, too"},
	} {
		s := suggest(t, cfg, test.at, []simulate.Record{call(t, current, 1, "Bash", test.command)})
		place, why := "", ""
		for _, p := range s.Proposals {
			place += p.Place
		}
		for _, n := range s.NotProposed {
			why += n.Reason
		}
		if place != test.place || why != test.why {
			t.Errorf("%s at %v: %+v, %q", test.command, test.at, s, why)
		}
	}
}
