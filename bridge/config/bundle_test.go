package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"codex-bridge.example/bridge/config"
)

// sourceText is a section that names a source.
const sourceText = "[policy_source]\nurl = \"https://policy.example.com/repo\"\nroot = \"root.json\"\n"

// withBundle returns options with a bundle, of which the managed or the user file names the source.
func withBundle(t *testing.T, managed, user string, bundle *config.Bundle) config.Options {
	t.Helper()
	dir := t.TempDir()
	o := config.Options{Home: "/home/someone", Managed: filepath.Join(dir, "managed.toml"), User: filepath.Join(dir, "user.toml")}
	for name, text := range map[string]string{o.Managed: managed, o.User: user} {
		if text != "" {
			put(t, name, text)
		}
	}
	o.Bundle = func(from config.PolicySource) config.Bundle {
		if from.URL != "https://policy.example.com/repo" || from.Root != filepath.Join(dir, "root.json") {
			t.Errorf("the bundle of %+v is wanted", from)
		}
		return *bundle
	}
	return o
}

// A bundle is a layer before the file that names it: it binds that file and the later ones, and earlier files
// bind it. Places name it.
func TestBundleIsLayerBeforeItsFile(t *testing.T) {
	bundle := &config.Bundle{Name: "bundle v7 policy.toml", Text: "[policy]\nsandbox = \"read-only\"\nmodels = [\"gpt-5\"]\n[[policy.rule]]\ncommand = \"curl **\"\ndecision = \"deny\"\n"}
	for name, test := range map[string]struct{ managed, user, warning string }{
		"of the user": {"[policy]\nmodels = [\"gpt-4\", \"gpt-5\"]\n", "[policy]\nsandbox = \"danger-full-access\"\n" + sourceText,
			"which the bundle layer (bundle v7 policy.toml:2) sets"},
		"of the organisation": {"[policy]\nsandbox = \"workspace-write\"\n" + sourceText, "[policy]\nmodels = [\"gpt-4\"]\n", `the bundle layer (bundle v7 policy.toml:2) sets; "read-only" holds`},
	} {
		c, err := config.Load(withBundle(t, test.managed, test.user, bundle))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if c.Policy.Mode != config.Enforce || c.Policy.Sandbox != "read-only" || c.Policy.Missing != "" || len(c.Policy.Rules) != 1 {
			t.Errorf("%s: %+v", name, c.Policy)
		}
		if got := c.Policy.Rules[0].Origin.String(); got != "bundle v7 policy.toml:4" {
			t.Errorf("%s: the rule is of %q", name, got)
		}
		if got := c.Place("policy.sandbox"); got != "bundle v7 policy.toml:2" {
			t.Errorf("%s: the sandbox is of %q", name, got)
		}
		if len(c.Files()) != 2 || strings.Contains(strings.Join(c.Files(), " "), "bundle v7") {
			t.Errorf("%s: the files are %q", name, c.Files())
		}
		if w := fmt.Sprint(c.Warnings()); !strings.Contains(w, test.warning) {
			t.Errorf("%s: the warnings are %s", name, w)
		}
	}
}

// Without a bundle that counts, everything is enforced and Missing says why, whatever the files say. A stale
// bundle still counts.
func TestMissingBundleEnforces(t *testing.T) {
	bundle := &config.Bundle{Missing: "no bundle yet"}
	for _, user := range []string{"", "[policy]\nmode = \"off\"\n"} {
		c, err := config.Load(withBundle(t, "", user+sourceText, bundle))
		if err != nil || c.Policy.Mode != config.Enforce || c.Policy.Missing != "no bundle yet" || !c.Hooks.On {
			t.Errorf("%q: %+v, %v", user, c.Policy, err)
		}
	}
	*bundle = config.Bundle{Name: "b", Text: "[policy]\nsandbox = \"read-only\"\n", Missing: "stale"}
	c, err := config.Load(withBundle(t, "", sourceText, bundle))
	if err != nil || c.Policy.Missing != "stale" || c.Policy.Sandbox != "read-only" {
		t.Errorf("%+v, %v", c.Policy, err)
	}
	o := withBundle(t, "", sourceText, bundle)
	o.Bundle = nil
	if c, err = config.Load(o); err != nil || c.Policy.Mode != config.Off || c.Policy.Missing != "" {
		t.Errorf("without a loader: %+v, %v", c.Policy, err)
	}
}

// The first file with the section counts, also if it names no source.
func TestFirstPolicySourceCounts(t *testing.T) {
	bundle := &config.Bundle{Name: "b", Text: "[policy]\n"}
	c, err := config.Load(withBundle(t, sourceText, "[policy_source]\nurl = \"https://other.example.com/\"\nroot = \"x\"\non_stale = \"deny\"\n", bundle))
	if err != nil || c.PolicySource.URL != "https://policy.example.com/repo" || c.PolicySource.OnStale != config.KeepStale || len(c.Warnings()) != 3 {
		t.Errorf("%+v, %v, %v", c.PolicySource, c.Warnings(), err)
	}
	c, err = config.Load(withBundle(t, "[policy_source]\n", sourceText, bundle))
	if err != nil || c.PolicySource.URL != "" || c.Policy.Mode != config.Off {
		t.Errorf("%+v, %v", c.PolicySource, err)
	}
}

// The error of a bundle or file names its place and the fault.
func TestBundleErrors(t *testing.T) {
	for text, want := range map[string]string{
		"[policy]\nsandbox = 1\n": "bundle v1 policy.toml:2:11: policy.sandbox: ",
		sourceText:                "policy_source.url: a bundle can't set this",
		"[[hooks.handler]]\nevent = \"stop\"\ncommand = [\"x\"]\n":             "hooks.handler[0]: a bundle can't set this",
		"[codex]\ncommand = \"x\"\n":                                           "codex.command: a bundle can't set this",
		"[tools.a]\ndescription = \"a\"\ncommand = [\"x\"]\n":                  "tools.a: a bundle can't set this",
		"[store]\nurl = \"\"\n":                                                "store.url: a bundle can't set this",
		"[otel]\nendpoint = \"\"\n":                                            "otel.endpoint: a bundle can't set this",
		"[acp.agents.a]\ncommand = [\"x\"]\n":                                  "acp.agents.a: a bundle can't set this",
		"[compat]\nignore_unknown = true\n[policy]\nsandbux = \"read-only\"\n": `did you mean "sandbox"?`,
	} {
		if _, err := config.LoadBundle(config.Bundle{Name: "bundle v1 policy.toml", Text: text}, config.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	c, err := config.LoadBundle(config.Bundle{Name: "b", Text: "[compat]\nignore_unknown = true\n[policy]\nof_the_future = 1\n[[policy.rule]]\ncommand = \"ls\"\ndecision = \"allow\"\n[hooks]\ntimeout = \"3s\"\nmax_revisions = 1\non_failure = \"deny\"\n[approvals]\nremember = \"off\"\n"}, config.Options{})
	if err != nil || len(c.Warnings()) != 1 || len(c.Policy.Rules) != 1 {
		t.Errorf("%v, %v", c, err)
	}
	for text, want := range map[string]string{
		"[policy_source]\nurl = \"http://x/\"\nroot = \"r\"\n":     "policy_source.url: the value does not fit",
		"[policy_source]\nurl = \"file://host/x\"\nroot = \"r\"\n": "policy_source.url: the value does not fit",
		"[policy_source]\nurl = \"https://x/\"\n":                  "policy_source.url: needs root",
		"[policy_source]\nroot = \"r\"\n":                          "policy_source.root: needs url",
		sourceText + "on_stale = \"warn\"\n":                       `policy_source.on_stale: "warn" is not a known value`,
		sourceText + "refresh = \"1ms\"\n":                         "policy_source.refresh: \"1ms\" is too small",
	} {
		if _, err := config.Load(withBundle(t, "", text, &config.Bundle{Name: "b", Text: "[policy]\n"})); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	dir := t.TempDir()
	put(t, filepath.Join(dir, config.WorkspaceFile), sourceText)
	if _, err := config.Load(config.Options{Workspace: dir}); err == nil || !strings.Contains(err.Error(), "a workspace file can't set this") {
		t.Error(err)
	}
}

// Watch reports another bundle, and one that becomes stale. A file that is no longer valid keeps its bundle.
func TestWatchReportsBundle(t *testing.T) {
	synctest.Test(t, testWatchReportsBundle)
}

func testWatchReportsBundle(t *testing.T) {
	state := filepath.Join(t.TempDir(), "below", "bundle.json")
	bundle := func(sandbox, missing string) string { return sandbox + "\n" + missing }
	o := withBundle(t, "", sourceText, nil)
	var stale atomic.Bool
	o.Bundle = func(config.PolicySource) config.Bundle {
		text, err := os.ReadFile(state)
		if err != nil {
			return config.Bundle{Missing: "none", File: state}
		}
		sandbox, missing, _ := strings.Cut(string(text), "\n")
		if stale.Load() {
			missing = "too old"
		}
		return config.Bundle{Name: "b", Text: "[policy]\nsandbox = \"" + sandbox + "\"\n", Missing: missing, File: state}
	}
	recheck := make(chan struct{}, 1)
	o.Recheck = recheck
	loaded, err := config.LoadLenient(o)
	if err != nil {
		t.Fatal(err)
	}
	o.Loaded = loaded
	reports := make(chan string, 16)
	runWatch(t, o, func(cfg *config.Config, err error) {
		if err != nil {
			reports <- "an error"
			return
		}
		reports <- cfg.Policy.Sandbox + " " + cfg.Policy.Missing
	})
	next := func(want string) {
		t.Helper()
		select {
		case got := <-reports:
			if got != want {
				t.Fatalf("%q is reported, want %q", got, want)
			}
		case <-time.After(deadline):
			t.Fatalf("no report of %q", want)
		}
	}
	if err := os.MkdirAll(filepath.Dir(state), 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, state, bundle("read-only", ""))
	next("read-only ")
	put(t, o.User, sourceText+"[policy]\nsandbox = 1\n")
	next("an error")
	put(t, o.User, sourceText+"# more\n")
	next("read-only ")
	put(t, state, bundle("read-only", "stale"))
	next("read-only stale")
	stale.Store(true) // by its age; the file is the same
	recheck <- struct{}{}
	next("read-only too old")
	stale.Store(false)
	if err := os.Remove(state); err != nil {
		t.Fatal(err)
	}
	next("workspace-write none")
	recheck <- struct{}{} // nothing has changed
	time.Sleep(still)
	put(t, state, bundle("workspace-write", ""))
	next("workspace-write ")
}
