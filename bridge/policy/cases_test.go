package policy_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/reported"
	"codex-bridge.example/bridge/toml"
	"codex-bridge.example/rpc"
)

var update = flag.Bool("update", false, "write what is decided into testdata/policy; read the diff")

// TestCases runs testdata/policy. A file is a txtar archive; each of its files
// is one case:
//
//	policy> key = value       over the policy of the contract, TOML
//	state> {"start", "home", "codexHome", "workspaces", "thread": {"id", "workspace", "sandbox"}, "stands", "opened", "nowhere", "defaults": {…},
//	        "own": {FOLDER: "trusted"}, "flags": {FOLDER: "trusted"}, "readFor": FOLDER, "stored": {"sandbox", "network"},
//	        "policyFiles": {FOLDER: [FILE]}, "programs": [PATH], "links": [PATH], "models": [NAME]}
//	editor> the client's message
//	codex< what Codex gets; "the same" for the line as it came
//	change> FIELD RULE        one for each change, in order
//	error> CODE FIELD RULE
//	needs> defaults FOLDER | folder | stored | models
//	untrusted> FOLDER
//	answer> the result of Codex
//	verified> yes | FIELD RULE
//	settings> the threadSettings of a thread/settings/updated, and verified>
func TestCases(t *testing.T) { playCases(t, "policy", run) }

// playCases runs each case of each file in a folder of testdata. run returns the case with the
// actual decisions.
func playCases(t *testing.T, folder string, run func(t *testing.T, text string) string) {
	t.Helper()
	files, err := filepath.Glob("../../testdata/" + folder + "/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		head, cases := archive(string(text))
		all := head
		for _, c := range cases {
			got := c.text
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txt")+"/"+c.name, func(t *testing.T) {
				got = run(t, c.text)
				if diff := cmp.Diff(strings.Split(c.text, "\n"), strings.Split(got, "\n")); diff != "" && !*update {
					t.Errorf("(-want +got)\n%s", diff)
				}
			})
			all += "-- " + c.name + " --\n" + got
		}
		if *update && all != string(text) {
			if err := os.WriteFile(file, []byte(all), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

type testcase struct{ name, text string }

// archive parses the txtar format.
func archive(text string) (head string, cases []testcase) {
	for line := range strings.Lines(text) {
		name, ok := strings.CutPrefix(line, "-- ")
		if name, closed := strings.CutSuffix(name, " --\n"); ok && closed {
			cases = append(cases, testcase{name: name})
		} else if len(cases) == 0 {
			head += line
		} else {
			cases[len(cases)-1].text += line
		}
	}
	return head, cases
}

type world struct {
	Start, Home   string
	CodexHome     string
	Workspaces    []string
	Writable      []string // that commands could write before
	Thread        *policy.Thread
	ThreadFolder  string
	LoadedProfile *policy.Profile
	Unsubscribed  bool
	NotAsked      bool // whether Codex has loaded the thread
	OpenedIn      string
	UnknownThread bool
	Defaults      json.RawMessage
	// The projects of the user's own configuration and of the command line, and the
	// cwd of config/read.
	Own, Flags map[string]string
	ConfigCwd  string
	// The stored sandbox of the thread, and the policy files by folder.
	StoredSandbox *policy.SandboxSettings
	KnownFolder   string
	PolicyFiles   policyFiles
	// Programs that run outside of the sandbox, or folders of them.
	Programs, Links []string
	Models          []string // that Codex lists
}

type policyFiles map[string][]string

func (f policyFiles) PolicyFiles(folder string) []string { return f[folder] }

// run returns the case with the actual decisions.
func run(t *testing.T, text string) string {
	t.Helper()
	cfg, st := contract(), state()
	st.Thread = nil
	var decision policy.Decision
	var p *policy.Policy
	var out strings.Builder
	keep := func(line string) { out.WriteString(line + "\n") }
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "policy>":
			keep(line)
			if err := toml.Decode(rest, &cfg); err != nil {
				t.Fatal(err)
			}
		case "state>":
			keep(line)
			setState(t, &st, rest)
		case "editor>":
			keep(line)
			p = compile(t, cfg)
			m := message(t, rest)
			decision = p.Decide(m, st)
			out.WriteString(printed(decision, rest))
			checkDecision(t, cfg, m, decision, st)
		case "answer>":
			keep(line)
			err := reported.Verify(p, decision.Sent, value(t, rest), st)
			if err == nil {
				err = reported.VerifyProfile(p, decision.Sent, value(t, rest), st)
			}
			keep(verified(err))
		case "settings>":
			keep(line)
			keep(verified(reported.VerifySettings(compile(t, cfg), value(t, rest), st)))
		case "codex<", "change>", "error>", "needs>", "untrusted>", "verified>":
		default:
			keep(line)
		}
	}
	return out.String()
}

func setState(t *testing.T, st *policy.State, text string) {
	t.Helper()
	w := world{Start: st.StartFolder, Home: st.Home, CodexHome: st.CodexHome, Thread: st.Thread}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&w); err != nil {
		t.Fatal(err)
	}
	st.StartFolder, st.Home, st.Thread, st.ThreadFolder, st.UnknownThread = w.Start, w.Home, w.Thread, w.ThreadFolder, w.UnknownThread
	st.LoadedProfile, st.Unsubscribed, st.NotLoaded = w.LoadedProfile, w.Unsubscribed, w.LoadedProfile == nil && !w.NotAsked
	if st.LoadedProfile != nil { // as fenceEntries writes it
		if inner, ok := st.LoadedProfile.Entries[":workspace_roots"].(map[string]any); ok {
			roots := make(map[string]string)
			for at, access := range inner {
				roots[at] = access.(string)
			}
			st.LoadedProfile.Entries[":workspace_roots"] = roots
		}
	}
	st.OpenedIn, st.CodexHome = w.OpenedIn, w.CodexHome
	st.Workspaces, st.Writable, st.StoredSandbox = w.Workspaces, w.Writable, w.StoredSandbox
	st.KnownFolder = w.KnownFolder
	st.Programs, st.Links, st.Models = w.Programs, w.Links, w.Models
	if w.PolicyFiles != nil {
		st.PolicyFiles = w.PolicyFiles
	}
	switch {
	case string(w.Defaults) == "null":
		st.Defaults = nil
	case w.Defaults != nil || w.Own != nil || w.Flags != nil:
		config := map[string]json.RawMessage{}
		if w.Defaults != nil {
			if err := json.Unmarshal(w.Defaults, &config); err != nil {
				t.Fatal(err)
			}
		}
		config["projects"] = json.RawMessage(merge(w.Own, w.Flags))
		all, err := json.Marshal(config)
		if err != nil {
			t.Fatal(err)
		}
		d, err := policy.ParseDefaults(value(t, `{"config":`+string(all)+`,"layers":[{"name":{"type":"sessionFlags"},"config":{"projects":`+merge(w.Flags)+
			`}},{"name":{"type":"user","file":"/home/ada/.codex/config.toml"},"config":{"projects":`+merge(w.Own)+`}}]}`))
		if err != nil {
			t.Fatal(err)
		}
		st.Defaults = d
	}
	if st.Defaults != nil {
		st.Defaults.Cwd = w.ConfigCwd
	}
}

func value(t testing.TB, text string) rpc.Value {
	t.Helper()
	d, err := rpc.ParseValue([]byte(text))
	if err != nil {
		t.Fatal(text, err)
	}
	return d.Root()
}

func printed(d policy.Decision, line string) string {
	var b strings.Builder
	switch {
	case d.Err != nil:
		r := refusalOf(d.Err)
		fmt.Fprintf(&b, "error> %d %s %s\n", d.Err.Code, r.Field, r.Rule)
		if d.Message != nil {
			fmt.Fprintf(&b, "codex< %s\n", d.Message)
		}
	case string(d.Message) == line:
		b.WriteString("codex< the same\n")
	default:
		fmt.Fprintf(&b, "codex< %s\n", d.Message)
	}
	for _, c := range d.Changes {
		fmt.Fprintf(&b, "change> %s %s\n", c.Field, c.Rule)
	}
	if d.Want == policy.WantModels {
		b.WriteString("needs> models\n")
	}
	if d.Want == policy.WantConfiguration {
		b.WriteString(strings.TrimSpace("needs> defaults "+d.ConfigCwd) + "\n")
	}
	if d.Want == policy.WantThreadFolder {
		b.WriteString("needs> folder\n")
	}
	if d.Want == policy.WantStoredSandbox {
		b.WriteString("needs> stored\n")
	}
	if d.Want == policy.WantLoadedProfile {
		b.WriteString("needs> loaded\n")
	}
	if d.Untrusted != "" {
		b.WriteString("untrusted> " + d.Untrusted + "\n")
	}
	return b.String()
}

func verified(err *rpc.Error) string {
	if err == nil {
		return "verified> yes"
	}
	r := refusalOf(err)
	return "verified> " + r.Field + " " + r.Rule
}

type DeclineResult struct{ Method, Rule, Reason, Field string }

func refusalOf(err *rpc.Error) (r DeclineResult) {
	if e := json.Unmarshal(err.Data, &r); e != nil {
		panic(e)
	}
	return r
}

// checkDecision checks properties of every decision.
func checkDecision(t tester, cfg config.Policy, m *rpc.Message, d policy.Decision, st policy.State) {
	t.Helper()
	switch d.Verdict {
	case policy.Pass:
		if !bytes.Equal(d.Message, m.Bytes()) || len(d.Changes) > 0 || d.Err != nil {
			t.Errorf("passed, but changed: %+v", d)
		}
	case policy.Rewrite:
		if len(d.Changes) == 0 || d.Err != nil {
			t.Errorf("rewritten without a change: %s", d.Message)
		}
	case policy.Deny:
		if d.Err == nil || d.Message != nil || d.Sent != nil {
			t.Errorf("denied, but not wholly: %+v", d)
			return
		}
		if r := refusalOf(d.Err); r.Method != m.Method || r.Reason == "" || r.Rule == "" || strings.ContainsAny(d.Err.Message, "\n\r") {
			t.Errorf("error without data: %v %s", d.Err, d.Err.Data)
		}
	}
	// Audit decides as enforce does.
	cfg.Mode = config.Audit
	audited := compile(t, cfg).Decide(m, st)
	if diff := cmp.Diff(marshal(t, d), marshal(t, audited)); diff != "" {
		t.Errorf("audit differs:\n%s", diff)
	}
	if d.Verdict != policy.Rewrite {
		return
	}
	again, err := rpc.ParseMessage(d.Message)
	if err != nil {
		t.Fatalf("rewritten to what does not parse: %s: %v", d.Message, err)
	}
	st.Rewritten = true
	if second := compile(t, cfg).Decide(again, st); !bytes.Equal(second.Message, d.Message) {
		t.Errorf("not idempotent:\n%s\n%s\n%+v", d.Message, second.Message, second)
	}
	checkDiff(t, m.Bytes(), d)
}

// checkDiff checks that the rewritten message differs from the original only in the changed fields.
func checkDiff(t tester, before []byte, d policy.Decision) {
	t.Helper()
	var a, b any
	if json.Unmarshal(before, &a) != nil || json.Unmarshal(d.Message, &b) != nil {
		t.Fatal("no JSON")
	}
	related := func(x, y string) bool {
		return x == y || strings.HasPrefix(x, y+".") || strings.HasPrefix(y, x+".")
	}
	differ(a, b, "", func(path string) {
		for _, c := range d.Changes {
			if related(c.Field, path) {
				return
			}
		}
		t.Errorf("%s changed, and nothing says so:\n%s\n%s", path, before, d.Message)
	})
	for _, c := range d.Changes {
		if c.Reason == "" || c.Rule == "" || c.Field == "" {
			t.Errorf("a change without words: %+v", c)
		}
		if bytes.Equal(c.From, c.To) {
			t.Errorf("a change of nothing: %+v", c)
		}
	}
}

func differ(a, b any, path string, report func(path string)) {
	x, ok1 := a.(map[string]any)
	y, ok2 := b.(map[string]any)
	if !ok1 || !ok2 {
		if !cmp.Equal(a, b) {
			report(path)
		}
		return
	}
	join := func(key string) string { return strings.TrimPrefix(path+"."+key, ".") }
	for k, v := range x {
		if w, there := y[k]; there {
			differ(v, w, join(k), report)
		} else {
			report(join(k))
		}
	}
	for k := range y {
		if _, there := x[k]; !there {
			report(join(k))
		}
	}
}

func marshal(t tester, d policy.Decision) string {
	t.Helper()
	raw, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
