//go:build linux

package e2e_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/cmd/internal/editor"
)

// The tests of this file are about the day on which Codex has updated itself, and the bridge knows heldRelease.

// heldModel returns the default model of heldRelease.
func heldModel(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "internal", "releasediff", "testdata", "codex-"+heldRelease+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var release struct{ DefaultModel string }
	if err := json.Unmarshal(text, &release); err != nil {
		t.Fatal(err)
	}
	return release.DefaultModel
}

// ownNotices returns the sentences of the bridge that an editor has got, and the lines of its log.
func (c *conversation) ownNotices() []string {
	c.t.Helper()
	var notices []string
	for _, m := range c.Messages() {
		if text := m.Param("summary"); !m.Sent && m.Method == "configWarning" && strings.HasPrefix(text, "codex-bridge") {
			notices = append(notices, text)
		}
	}
	for line := range strings.Lines(c.Stderr()) {
		if strings.Contains(line, "level=") {
			notices = append(notices, line)
		}
	}
	return notices
}

// Codex has another default model. A user of policy.models who names none gets one that fits, and of the new release
// notices one line, at the first of three starts. Where no model fits, the refusal says how to name one.
func TestNewDefaultModelIsOneLine(t *testing.T) {
	t.Parallel()
	bridge := heldBridge(t)
	family := regexp.MustCompile(`^gpt-[\d.]+`).FindString(heldModel(t)) + "*"
	for name, pattern := range map[string]string{"wildcard": family, "plain name": "gpt-5.5", "none": "gpt-0*"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{codex: codexPath, config: "[policy]\nmodels = [\"" + pattern + "\"]\n"})
			w.write("home/config.toml", regexp.MustCompile(`(?m)^model =.*\n`).ReplaceAllString(w.read("home/config.toml"), ""))
			params := map[string]any{"cwd": w.workspace}

			alone := w.open(codexPath, "app-server")
			alone.initialize(nil)
			_, echo := alone.openThread("thread/start", params)
			if config.Match(pattern, editor.Member(echo, "model")) {
				t.Fatalf("Codex alone takes %s, so the test shows nothing", editor.Member(echo, "model"))
			}
			var list struct{ Data []struct{ Model string } }
			w.must(json.Unmarshal(alone.must("model/list", map[string]any{}), &list))
			alone.closeAndWait()
			fits := ""
			for _, m := range slices.Backward(list.Data) {
				if config.Match(pattern, m.Model) {
					fits = m.Model
				}
			}
			if (fits == "") != (name == "none") {
				t.Fatalf("of Codex's models, %q fits %s", fits, pattern)
			}

			var notices []string
			for range 3 {
				c := w.open(bridge, "app-server")
				c.initialize(nil)
				if fits == "" {
					if err := c.mustFail("thread/start", params); !strings.Contains(err.Message, "; name an allowed model in model, or add a plain name to the list") {
						t.Error(err)
					}
					return
				}
				thread, _ := c.openThread("thread/start", params)
				c.runTurn(thread, "good day")
				requests := w.model.Requests()
				if model := editor.Member(requests[len(requests)-1].Body, "model"); model != fits {
					t.Errorf("the turn runs with %s, want %s", model, fits)
				}
				c.closeAndWait()
				notices = append(notices, c.ownNotices()...)
			}
			if want := "codex-bridge was not tested with Codex " + codexVersion(t) + ": it is newer than " + heldRelease + ". "; len(notices) != 1 || !strings.HasPrefix(notices[0], want) {
				t.Errorf("the user reads %q, want one line: %s", notices, want)
			}
			if log, _, _ := w.execute(bridge, "", "decisions", "list"); strings.Count(log, "was not tested with Codex") != 1 {
				t.Errorf("want one row in\n%s", log)
			}
		})
	}
}

// The events of exec --json are those of Codex alone, with the same ids. The first run has one line about the new
// release on stderr.
func TestNewReleaseIsNoEvent(t *testing.T) {
	t.Parallel()
	bridge := heldBridge(t)
	w := newWorld(t, options{codex: codexPath, config: "[policy]\nmode = \"enforce\"\n"})
	events := func(program string) (string, string) {
		out, stderr, status := w.execute(program, "", "exec", "--json", "-s", "read-only", "RUN: echo hi")
		if status != 0 {
			t.Errorf("%s: status %d\n%s", program, status, stderr)
		}
		return threadUUID.ReplaceAllString(out, "ID"), stderr
	}
	want, quiet := events(codexPath)
	notice := quiet + "warning: codex-bridge was not tested with Codex " + codexVersion(t) + ": it is newer than " + heldRelease + ". "
	for i := range 2 {
		got, stderr := events(bridge)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-codex +bridge)\n%s", diff)
		}
		if i == 0 && (!strings.HasPrefix(stderr, notice) || strings.Count(stderr, "\n") != strings.Count(quiet, "\n")+1) || i > 0 && stderr != quiet {
			t.Errorf("run %d has on stderr\n%s", i, stderr)
		}
	}
}

// An enforced policy stops new methods, fields, keys, features and flags. The refusals say which release the bridge
// knows, and what to do. Without a configuration all of them work.
func TestNewSurface(t *testing.T) {
	t.Parallel()
	bridge := heldBridge(t)
	flags := [][]string{
		{"--enable", "multi_environment_mcp"}, {"-c", `otel.headers_helper="x"`}, {"-c", "code_mode.heartbeat_interval_s=1"},
	}
	t.Run("enforced", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, options{codex: codexPath, config: "[policy]\nmode = \"enforce\"\n"})
		c := w.open(bridge, "app-server")
		c.initialize(nil)
		for method, params := range newRequests {
			err := c.mustFail(method, params)
			if want := method + ": codex-bridge knows the methods of Codex " + heldRelease + ", and this is none of them (policy.unknown_methods, "; !strings.HasPrefix(err.Message, want) ||
				!strings.Contains(err.Message, "; update codex-bridge, or use Codex "+heldRelease+"; ") {
				t.Error(err)
			}
		}
		// Codex alone lists one thread, and refuses an environment without a server.
		if threads, environment := c.sendNewFields(); threads != 2 || environment != nil {
			t.Errorf("%d threads, %v: the new fields are not removed", threads, environment)
		}
		for key, want := range map[string]string{
			"features.network_proxy.transparent_tcp": "without it Codex would protect less", "features.mcp_shared_repl_cwd": "", "otel.headers_helper": "",
		} {
			_, err := c.Call(c.ctx, "thread/start", map[string]any{"cwd": w.workspace, "config": map[string]any{key: true}})
			if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Message, want) {
				t.Errorf("%s: %v", key, err)
			}
			if log, _, _ := w.execute(bridge, "", "decisions", "list"); want == "" && !strings.Contains(log, "params.config."+key+": no pattern in policy.config_keys allows it") {
				t.Errorf("%s is not removed:\n%s", key, log)
			}
		}
		c.closeAndWait()
		for _, flag := range flags {
			if got := checkPinned(t, w.flagsLayer(append([]string{bridge}, append(flag, "app-server")...))); got != "null" {
				t.Errorf("%q: %s", flag, got)
			}
		}
		for _, args := range [][]string{{"app-server", "--mcp-launch-cwd", "x", "/bin/sh", "/"}, {"exec", "--mcp-launch-cwd", ".", "x"}, {"--mcp-launch-cwd", ".", "exec", "x"}, {"exec", "--remote", "x", "y"}} {
			_, stderr, status := w.execute(bridge, "", args...)
			known := slices.Contains(args, "--remote")
			if status != 2 || strings.Contains(stderr, "codex.args") || !known && (!strings.Contains(stderr, "--mcp-launch-cwd: codex-bridge knows the flags of Codex "+heldRelease) || !strings.Contains(stderr, "if a newer Codex has it, update codex-bridge\n")) {
				t.Errorf("%q: %d, %s", args, status, stderr)
			}
		}
	})
	t.Run("no configuration", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, options{codex: codexPath})
		c := w.open(bridge, "app-server", "--mcp-launch-cwd", "x", "/bin/sh", w.workspace)
		c.initialize(nil)
		for method, params := range newRequests {
			if _, err := c.Call(c.ctx, method, params); err != nil && strings.Contains(err.Message, "codex-bridge") {
				t.Error(err)
			}
		}
		if threads, environment := c.sendNewFields(); threads != 1 || environment == nil {
			t.Errorf("%d threads, %v: the new fields do not pass", threads, environment)
		}
		if notices := c.ownNotices(); len(notices) > 0 {
			t.Errorf("notices: %q", notices)
		}
		c.closeAndWait()
		for _, flag := range flags {
			if alone, got := w.flagsLayer(append([]string{codexPath}, append(flag, "app-server")...)), w.flagsLayer(append([]string{bridge}, append(flag, "app-server")...)); got != alone || got == "null" {
				t.Errorf("%q: %s, want %s", flag, got, alone)
			}
		}
	})
}

// The table of a newer bridge lets the new requests and fields pass that need no rule. Others stay refused.
func TestNewerTable(t *testing.T) {
	t.Parallel()
	bridge := heldBridge(t)
	w := newWorld(t, options{codex: codexPath, config: "[codex]\ntable = \"table.txt\"\n[policy]\nmode = \"enforce\"\n"})
	table, stderr, status := w.execute(proxyPath, "", "methods", "--table")
	if status != 0 {
		t.Fatal(stderr)
	}
	w.write("table.txt", table)
	if out, _, _ := w.execute(bridge, "", "version"); !strings.Contains(out, "\ntable   "+codexVersion(t)+": ") {
		t.Errorf("the newer table does not count:\n%s", out)
	}
	c := w.open(bridge, "app-server")
	c.initialize(nil)
	for method, params := range newRequests {
		_, err := c.Call(c.ctx, method, params)
		row, _ := methods.Lookup(methods.ClientRequest, method)
		if refused := err != nil && strings.Contains(err.Message, "policy."); refused != (row.Verdict == methods.Deny) {
			t.Errorf("%s: %v", method, err)
		}
	}
	// The field of mcpServerStatus/list has a rule, which the bridge lacks.
	if threads, environment := c.sendNewFields(); threads != 1 || environment != nil {
		t.Errorf("%d threads, %v", threads, environment)
	}
	if _, err := c.Call(c.ctx, "thread/start", map[string]any{"cwd": w.workspace, "config": map[string]any{"features.network_proxy.transparent_tcp": true}}); err == nil {
		t.Error("a new key under a known one passes")
	}
}

// newRequests are requests that heldRelease does not have.
var newRequests = map[string]map[string]any{
	"thread/search/stream":        {"searchTerm": "day"},
	"thread/search/stream/cancel": {"requestId": "1"},
	"thread/search/cancel":        {"requestId": "1"},
	"modelProvider/default/set":   {"providerId": "mock"},
}

// sendNewFields sends new fields of methods that the policy passes on: a list of one of two threads, and an environment
// without a server. It returns the number of threads and the error.
func (c *conversation) sendNewFields() (threads int, environment *editor.Error) {
	c.t.Helper()
	var ids []string
	for range 2 {
		id, _ := c.openThread("thread/start", map[string]any{"cwd": c.workspace, "sandbox": "read-only"})
		c.runTurn(id, "good day")
		ids = append(ids, id)
	}
	var list struct{ Data []any }
	c.world.must(json.Unmarshal(c.must("thread/list", map[string]any{"includedThreadIds": ids[:1]}), &list))
	_, environment = c.Call(c.ctx, "mcpServerStatus/list", map[string]any{"environmentId": "x"})
	return len(list.Data), environment
}

// The command codex check tries conversations under a policy. They work, the verdict counts the new names, and the bridge
// gives no notice after it.
func TestCheckOfNewRelease(t *testing.T) {
	t.Parallel()
	bridge := heldBridge(t)
	w := newWorld(t, options{codex: codexPath, config: "[policy]\nmode = \"enforce\"\n"})
	c, code := w.checkCodex(bridge)
	verdict := regexp.MustCompile(`^Codex ` + regexp.QuoteMeta(codexVersion(t)) + `: \d+ new methods, refused; \d+ other new names; \d+ known names changed or gone; everything tried works$`)
	if code != 0 || !c.Works || !verdict.MatchString(c.Verdict) {
		t.Errorf("%d: %+v", code, c)
	}
	for _, name := range []string{"turn", "approval", "patch", "deny rule", "resume", "tools"} {
		if !slices.ContainsFunc(c.Tried, func(one struct{ Name, Error string }) bool { return one.Name == name }) {
			t.Errorf("%s is not tried: %+v", name, c.Tried)
		}
	}
	e := w.open(bridge, "app-server")
	e.initialize(nil)
	thread, _ := e.openThread("thread/start", map[string]any{"cwd": w.workspace})
	e.runTurn(thread, "good day")
	e.closeAndWait()
	if notices := e.ownNotices(); len(notices) > 0 {
		t.Errorf("after the check: %q", notices)
	}
}
