//go:build linux

package e2e_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
	"codex-bridge.example/cmd/internal/scripted"
)

// openDeclining opens a conversation that declines every question.
func (w *world) openDeclining(argv ...string) *conversation {
	w.t.Helper()
	c := w.openAnswering("decline", argv...)
	c.initialize(nil)
	return c
}

// questionsSince returns the methods of Codex's questions since mark.
func (c *conversation) questionsSince(mark int) (methods []string) {
	for _, m := range c.Messages()[mark:] {
		if !m.Sent && strings.HasSuffix(m.Method, "/requestApproval") {
			methods = append(methods, m.Method)
		}
	}
	return methods
}

// review requests a review in which the model runs a command, on a thread where each command must
// ask. It returns the client's error and questions, and whether the command ran.
func (w *world) runReview(argv ...string) (err *editor.Error, asked []string, ran bool) {
	w.t.Helper()
	marker := filepath.Join(w.workspace, "marker")
	w.model.Add(scripted.Step{When: "REVIEW", Reply: scripted.Reply{scripted.Run("touch " + marker)}})
	c := w.openDeclining(argv...)
	thread := c.thread(map[string]any{"approvalPolicy": "untrusted", "sandbox": "workspace-write"})
	mark := len(c.Messages())
	_, err = c.Call(c.ctx, "review/start", map[string]any{
		"threadId": thread, "target": map[string]string{"type": "custom", "instructions": "REVIEW"},
	})
	if err == nil {
		c.waitFor(mark, "turn/completed", func(m editor.Message) bool { return m.Param("threadId") == thread })
	}
	asked = c.questionsSince(mark)
	c.closeAndWait()
	return err, asked, fileExists(marker)
}

const writableConfig = `
[policy]
mode = "enforce"
sandbox = "workspace-write"
approval = ["untrusted"]
config_keys = ["**"]
`

// Codex runs the commands of a review without a question, under any approvalPolicy. The bridge
// asks; if it does not, and every command must ask, it refuses the review.
func TestReviewUnasked(t *testing.T) {
	t.Parallel()
	if err, asked, ran := newWorld(t, options{}).runReview(codexPath, "app-server"); err != nil || asked != nil || !ran {
		t.Errorf("Codex alone: error %v, questions %v, ran %t; measured: the command runs without a question", err, asked, ran)
	}
	err, asked, ran := newWorld(t, options{config: writableConfig + "gate = false\n"}).runReview(proxyArgv...)
	if err == nil || err.Code != -32010 || !strings.Contains(err.Message, "policy.approval") || asked != nil || ran {
		t.Errorf("under a policy: error %v, questions %v, ran %t", err, asked, ran)
	}
	loosened := strings.Replace(writableConfig, `"untrusted"`, `"untrusted", "on-request"`, 1)
	if err, _, ran := newWorld(t, options{config: loosened + "gate = false\n"}).runReview(proxyArgv...); err != nil || !ran {
		t.Errorf("if commands may run in the sandbox without a question: error %v, ran %t", err, ran)
	}
	for _, config := range []string{writableConfig, loosened} {
		if err, asked, ran := newWorld(t, options{config: config}).runReview(proxyArgv...); err != nil || len(asked) != 1 || ran {
			t.Errorf("if the bridge asks: error %v, questions %v, ran %t", err, asked, ran)
		}
	}
}

// Without the gate, Codex's questions stand for those of ask rules and of escalation = "ask". It asks
// none in a review, so the bridge refuses the review. Without such a rule the review runs.
func TestReviewLeavesNoQuestionToCodex(t *testing.T) {
	t.Parallel()
	const config = "[policy]\napproval = [\"untrusted\", \"on-request\"]\nsandbox = \"workspace-write\"\n"
	for name, test := range map[string]struct {
		config  string
		refused bool
	}{
		"rule":       {"gate = false\n[[policy.rule]]\ncommand = \"touch **\"\ndecision = \"ask\"\n", true},
		"escalation": {"gate = false\nescalation = \"ask\"\n", true},
		"neither":    {"gate = false\n[[policy.rule]]\ncommand = \"rm **\"\ndecision = \"deny\"\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err, asked, ran := newWorld(t, options{config: config + test.config}).runReview(proxyArgv...)
			if (err != nil) != test.refused || err != nil && !strings.Contains(err.Message, "policy.gate") || asked != nil || ran == test.refused {
				t.Errorf("error %v, questions %v, ran %t", err, asked, ran)
			}
		})
	}
}

// Without the gate no person is asked about a tool that its server declares to be read-only, so an
// ask rule denies it. Codex alone runs it without a question.
func TestAskRuleOfUnaskedTool(t *testing.T) {
	t.Parallel()
	const config = "[policy]\napproval = [\"untrusted\"]\nsandbox = \"workspace-write\"\ngate = false\n"
	for name, test := range map[string]struct {
		rule string
		ran  bool
	}{
		"no rule": {"", true},
		"rule":    {"[[policy.rule]]\ntool = \"mcp__probe__*\"\ndecision = \"ask\"\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: config + test.rule, codexConfig: mcpConfig("probe")})
			a := w.newAcceptingEditor(proxyArgv...)
			thread := a.thread(map[string]any{"approvalPolicy": "untrusted", "sandbox": "workspace-write"})
			questions := a.turn(thread, `CALL: mcp__probe/touch_it {"path":"`+w.workspace+`/touched"}`)
			if ran := w.hasFile("workspace/touched"); ran != test.ran || len(questions) > 0 || !ran && !strings.Contains(w.lastToolOutput(), "the rule wants a question") {
				t.Errorf("%d questions, ran: %t; the model got %q", len(questions), ran, w.lastToolOutput())
			}
			a.closeAndWait()
		})
	}
}

// A client requests that a model reviews the last call of a thread, one without an output. No hook
// runs for the commands of that model, so a policy without it as reviewer refuses the request.
func TestModelReview(t *testing.T) {
	t.Parallel()
	const config = "[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\nescalation = \"ask\"\nreviewers = [%s]\n" +
		"[[policy.rule]]\ncommand = \"cat **\"\ndecision = \"deny\"\n"
	for reviewers, reviewed := range map[string]bool{`"user"`: false, `"user", "auto_review"`: true} {
		t.Run(reviewers, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: fmt.Sprintf(config, reviewers)})
			secret := w.write("secret", "A SECRET")
			c := w.open(proxyArgv...)
			c.initialize(nil)
			thread := c.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
			_, mark := c.startTurn(thread, "ESCALATE: true")
			c.waitFor(mark, commandApproval, nil)
			for _, pid := range w.processes() { // else Codex may still write an output, at the end of its input
				_ = syscall.Kill(pid, syscall.SIGSTOP) // it may have ended
			}
			w.takeDown()

			w.model.Add(scripted.Step{When: "APPROVAL REQUEST", Reply: scripted.Reply{scripted.Run("cat " + secret)}}, scripted.Step{
				When: "A SECRET", Reply: scripted.Reply{scripted.Text(`{"outcome":"allow","risk_level":"low","user_authorization":"high","rationale":"ok"}`)},
			})
			c = w.open(proxyArgv...)
			c.initialize(nil)
			c.must("thread/resume", map[string]any{"threadId": thread})
			_, err := c.Call(c.ctx, "thread/guardianReview", map[string]any{"threadId": thread})
			if (err == nil) != reviewed || err != nil && !strings.Contains(err.Message, "policy.reviewers") || w.modelReceived("A SECRET") != reviewed {
				t.Errorf("error %v; the model got the file: %t", err, w.modelReceived("A SECRET"))
			}
			c.closeAndWait()
		})
	}
}

// writeToFolder opens a thread in folder and makes the model write to file, in a turn that may
// write the folder but not the temporary folder, which contains all of this. It returns the
// questions, and whether the file was written.
func (w *world) writeToFolder(folder, file string, argv ...string) (asked []string, written bool) {
	w.t.Helper()
	w.model.Add(scripted.Step{When: "GOVERN", Reply: scripted.Reply{scripted.Run("echo '# mine' >> " + filepath.Join(w.root, file))}})
	c := w.openDeclining(argv...)
	thread := c.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "read-only", "cwd": filepath.Join(w.root, folder)})
	said := input(thread, "GOVERN")
	said["sandboxPolicy"] = map[string]any{"type": "workspaceWrite", "excludeSlashTmp": true, "excludeTmpdirEnvVar": true}
	mark := len(c.Messages())
	c.must("turn/start", said)
	c.waitFor(mark, "turn/completed", func(m editor.Message) bool { return m.Param("threadId") == thread })
	asked = c.questionsSince(mark)
	c.closeAndWait()
	return asked, strings.Contains(w.read(file), "# mine")
}

// A thread that may write the folder of Codex's configuration, or of the policy, could change its
// own permissions.
func TestFoldersThatGovern(t *testing.T) {
	t.Parallel()
	for name, place := range map[string]struct{ folder, file string }{
		"codex's own": {"home", "home/config.toml"},
		"its rules":   {"home/rules", "home/rules/default.rules"},
		"the policy":  {".", "config.toml"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := strings.Replace(writableConfig, `"untrusted"`, `"on-request"`, 1)
			try := func(argv ...string) ([]string, bool) {
				w := newWorld(t, options{config: config})
				w.write("home/rules/default.rules", "")
				return w.writeToFolder(place.folder, place.file, argv...)
			}
			if asked, written := try(codexPath, "app-server"); asked != nil || !written {
				t.Errorf("Codex alone: questions %v, written %t; measured: the file is written without a question", asked, written)
			}
			if _, written := try(proxyArgv...); written {
				t.Error("under a policy the file was written")
			}
		})
	}
}

// hiddenWays name a folder from which git or Codex runs programs, so that Codex makes it writable.
// $CWD stands for the workspace, $IN for the folder.
var hiddenWays = map[string]struct{ open, turn string }{
	"writable root":  {`{}`, `{"sandboxPolicy":{"type":"workspaceWrite","excludeSlashTmp":true,"excludeTmpdirEnvVar":true,"writableRoots":["$IN"]}}`},
	"workspace root": {`{}`, `{"runtimeWorkspaceRoots":["$CWD","$IN"]}`},
	"cwd":            {`{}`, `{"cwd":"$IN"}`},
	"environment":    {`{}`, `{"environments":[{"environmentId":"local","cwd":"$IN"}]}`},
	"thread":         {`{"cwd":"$IN"}`, `{}`},
}

// writeHidden makes the model write to a folder that a thread and its turn name. It returns the
// questions, and whether the file exists.
func (w *world) writeHidden(name string, open, turn string, argv ...string) (asked []string, written bool) {
	w.t.Helper()
	w.write("workspace/"+name+"/here", "")
	in := filepath.Join(w.workspace, name)
	w.model.Add(scripted.Step{When: "HIDE", Reply: scripted.Reply{scripted.Run("touch " + in + "/marker")}})
	fill := strings.NewReplacer("$CWD", w.workspace, "$IN", in)
	params := map[string]any{"approvalPolicy": "on-request", "sandbox": "read-only", "cwd": w.workspace}
	c := w.openDeclining(argv...)
	if err := json.Unmarshal([]byte(fill.Replace(open)), &params); err != nil {
		w.t.Fatal(err)
	}
	thread := c.thread(params)
	said := input(thread, "HIDE")
	said["sandboxPolicy"] = map[string]any{"type": "workspaceWrite", "excludeSlashTmp": true, "excludeTmpdirEnvVar": true}
	if err := json.Unmarshal([]byte(fill.Replace(turn)), &said); err != nil {
		w.t.Fatal(err)
	}
	mark := len(c.Messages())
	c.must("turn/start", said)
	c.waitFor(mark, "turn/completed", func(m editor.Message) bool { return m.Param("threadId") == thread })
	asked = c.questionsSince(mark)
	c.closeAndWait()
	return asked, w.hasFile("workspace/" + name + "/marker")
}

// Git hooks run outside any sandbox when the user commits; files in .codex count if the project is
// trusted.
func TestHiddenFolders(t *testing.T) {
	t.Parallel()
	config := strings.Replace(writableConfig, `"untrusted"`, `"on-request"`, 1)
	for way, named := range hiddenWays {
		for _, folder := range []string{".git/hooks", ".codex"} {
			if !isSampledName(4, way+" "+folder) {
				continue
			}
			t.Run(way+" "+folder, func(t *testing.T) {
				t.Parallel()
				if asked, written := newWorld(t, options{}).writeHidden(folder, named.open, named.turn, codexPath, "app-server"); asked != nil || !written {
					t.Errorf("Codex alone: questions %v, written %t; measured: the file is written without a question", asked, written)
				}
				if _, written := newWorld(t, options{config: config}).writeHidden(folder, named.open, named.turn, proxyArgv...); written {
					t.Error("under a policy the file was written")
				}
			})
		}
	}
}

// installPlugin installs a plugin with a hook, which Codex finds even if the user does not trust
// it.
func (w *world) installPlugin() {
	w.t.Helper()
	w.write("market/plugins/watch/.codex-plugin/plugin.json", `{"name":"watch","version":"1.0.0","description":"d","hooks":"./hooks/hooks.json"}`)
	w.write("market/plugins/watch/hooks/hooks.json", `{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"true","timeout":5}]}]}}`)
	list := w.write("market/.agents/plugins/marketplace.json", `{"name":"market","plugins":[{"name":"watch",`+
		`"source":{"source":"local","path":"./plugins/watch"},"policy":{"installation":"AVAILABLE","authentication":"ON_INSTALL"},"category":"x"}]}`)
	c := w.openDeclining(codexPath, "app-server")
	c.must("plugin/install", map[string]string{"marketplacePath": list, "pluginName": "watch"})
	c.closeAndWait()
	w.trustHooks()
}

// trustHooks makes the user trust all hooks that Codex lists.
func (w *world) trustHooks() {
	w.t.Helper()
	c := w.openDeclining(codexPath, "app-server")
	var hooks struct {
		Data []struct {
			Hooks []struct{ Key, CurrentHash string }
		}
	}
	if err := json.Unmarshal(c.must("hooks/list", map[string]any{"cwds": []string{w.workspace}}), &hooks); err != nil {
		w.t.Fatal(err)
	}
	c.closeAndWait()
	text := w.read("home/config.toml")
	for _, d := range hooks.Data {
		for _, h := range d.Hooks {
			text += "\n[hooks.state." + marshal(w.t, h.Key) + "]\nenabled = true\ntrusted_hash = " + marshal(w.t, h.CurrentHash) + "\n"
		}
	}
	w.write("home/config.toml", text)
}

// hookRanFirst makes the model run a command and reports whether the plugin's hook ran before it.
func (w *world) hookRanFirst(open, turn map[string]any, argv ...string) bool {
	w.t.Helper()
	w.model.Add(scripted.Step{When: "HOOKED", Reply: scripted.Reply{scripted.Run("true")}})
	c := w.openDeclining(argv...)
	params := map[string]any{"approvalPolicy": "untrusted", "sandbox": "read-only"}
	for key, value := range open {
		params[key] = value
	}
	thread := c.thread(params)
	mark := len(c.Messages())
	said := input(thread, "HOOKED")
	for key, value := range turn {
		said[key] = value
	}
	c.must("turn/start", said)
	c.waitFor(mark, "turn/completed", func(m editor.Message) bool { return m.Param("threadId") == thread })
	if c.questionsSince(mark) == nil {
		w.t.Error("no question about the command")
	}
	came := slices.ContainsFunc(c.Messages()[mark:], func(m editor.Message) bool { return m.Method == "hook/started" })
	c.closeAndWait()
	return came
}

// A client that switches a plugin off also switches off its hooks. The bridge keeps them on in a turn and where a
// client switches off all plugins, and opens no thread without one plugin: it would have the plugin's tools.
func TestPluginHooks(t *testing.T) {
	t.Parallel()
	for name, way := range map[string]struct{ open, turn map[string]any }{
		"turn":           {turn: map[string]any{"disabledPluginIds": []string{"watch@market"}}},
		"plugin, nested": {open: map[string]any{"config": map[string]any{"plugins": map[string]any{"watch@market": map[string]any{"enabled": false}}}}},
		"plugin, dotted": {open: map[string]any{"config": map[string]any{"plugins.watch@market.enabled": false}}},
		"feature":        {open: map[string]any{"config": map[string]any{"features.plugins": false}}},
	} {
		if !isSampledName(2, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: writableConfig, codexConfig: "[features]\nplugins = true\nhooks = true\nplugin_hooks = true\n"})
			w.installPlugin()
			if !w.hookRanFirst(nil, nil, codexPath, "app-server") {
				t.Fatal("the plugin's hook does not work")
			}
			if w.hookRanFirst(way.open, way.turn, codexPath, "app-server") {
				t.Error("Codex alone: the hook still runs; measured: it does not")
			}
			if way.open != nil && name != "feature" {
				c := w.newAcceptingEditor(proxyArgv...)
				if err := c.mustFail("thread/start", way.open); !strings.Contains(err.Message, "plugins") {
					t.Error(err)
				}
				c.closeAndWait()
			} else if !w.hookRanFirst(way.open, way.turn, proxyArgv...) {
				t.Error("under a policy the hook was switched off")
			}
		})
	}
}
