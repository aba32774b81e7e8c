//go:build linux

package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

const noKeys = "[policy]\nconfig_keys = []\nsandbox = \"workspace-write\"\n"

// Credentials that a client wants in memory only are not written.
func TestCredentialsStayInMemory(t *testing.T) {
	t.Parallel()
	inMemory := []string{"-c", `cli_auth_credentials_store="ephemeral"`}
	for name, test := range map[string]struct {
		argv    []string
		written bool
	}{
		"codex alone":            {[]string{codexPath, "app-server"}, true},
		"codex alone, in memory": {append([]string{codexPath, "app-server"}, inMemory...), false},
		"bridge":                 {[]string{proxyPath, "app-server"}, true},
		"bridge, in memory":      {append([]string{proxyPath, "app-server"}, inMemory...), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: noKeys})
			c := w.open(test.argv...)
			c.initialize(nil)
			c.must("account/login/start", map[string]any{"type": "apiKey", "apiKey": "sk-not-a-key"})
			if w.hasFile("home/auth.json") != test.written {
				t.Errorf("auth.json written: %t", !test.written)
			}
			c.must("account/logout", nil)
			c.closeAndWait()
			if strings.HasPrefix(name, "bridge") {
				log, _, _ := w.runCommand("decisions", "list", "--verdict", "accept")
				for _, want := range []string{`the client signs in with "apiKey"`, "the client signs the user out"} {
					if !strings.Contains(log, want) {
						t.Errorf("the decision log lacks %q:\n%s", want, log)
					}
				}
			}
		})
	}
}

// An override whose loss would send data to another place ends the start, and names the key to add.
func TestLostOverrideRefusesStart(t *testing.T) {
	t.Parallel()
	for flag, key := range map[string]string{
		`openai_base_url="http://127.0.0.1:1/v1"`:                "openai_base_url",
		`chatgpt_base_url="http://127.0.0.1:1"`:                  "chatgpt_base_url",
		`cli_auth_credentials_store="keyring"`:                   "cli_auth_credentials_store",
		`mcp_oauth_credentials_store="file"`:                     "mcp_oauth_credentials_store",
		`forced_login_method="api"`:                              "forced_login_method",
		`model_provider="other"`:                                 "model_provider",
		`model_providers.mine={name="x",base_url="http://[::]"}`: "model_providers.mine",
	} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: noKeys})
			c := w.open(proxyPath, "-c", flag, "app-server")
			c.Send([]byte(initializeLine))
			exit, err := c.Exit(c.ctx)
			if err != nil {
				t.Fatal(err)
			}
			c.drain()
			if exit.Code != 2 || !strings.Contains(c.Stderr(), "add "+key+" to policy.config_keys") {
				t.Errorf("%v: %s", exit, c.Stderr())
			}
			if got := lines(c.Messages(), false); got != "" {
				t.Errorf("on stdout: %s", got)
			}
		})
	}
}

// With the key in config_keys, Codex gets the override; in an overlay the same key refuses the
// thread without it.
func TestProviderAddressNeedsKey(t *testing.T) {
	t.Parallel()
	overlay := map[string]any{"config": map[string]any{"openai_base_url": "http://127.0.0.1:1/v1"}}
	for _, allowed := range []bool{false, true} {
		t.Run(fmt.Sprint(allowed), func(t *testing.T) {
			t.Parallel()
			config, argv := noKeys, proxyArgv
			if allowed {
				config = strings.Replace(noKeys, "[]", `["openai_base_url"]`, 1)
				argv = []string{proxyPath, "-c", `openai_base_url="http://127.0.0.1:1/v1"`, "app-server"}
			}
			w := newWorld(t, options{config: config})
			c := w.open(argv...)
			c.initialize(nil)
			if allowed {
				c.thread(overlay)
				if got := editor.Member(c.must("config/read", map[string]any{}), "config", "openai_base_url"); got != "http://127.0.0.1:1/v1" {
					t.Errorf("address %q", got)
				}
			} else if err := c.mustFail("thread/start", overlay); err.Code != -32010 || !strings.Contains(err.Message, "add openai_base_url to policy.config_keys") {
				t.Error(err)
			}
			c.closeAndWait()
		})
	}
}

// Features and tools that a client switches off stay off, on the command line and in an overlay. A
// nested table of an overlay does not switch on what the configuration has switched off.
func TestFeaturesStayOff(t *testing.T) {
	t.Parallel()
	const own = noKeys + "[codex]\nshutdown_grace = \"1m\"\nargs = [\"-c\", \"features.view_image=false\"]\n"
	nested := map[string]any{"features": map[string]any{"goals": false}, "tools": map[string]any{"experimental_request_user_input": map[string]any{"enabled": false}}}
	dotted := map[string]any{"features.goals": false, "tools.experimental_request_user_input.enabled": false, "web_search": "disabled"}
	goals, ask := []string{"get_goal", "create_goal"}, []string{"request_user_input"}
	for name, test := range map[string]struct {
		config  string
		argv    []string
		overlay map[string]any
		lacks   []string
		has     []string
	}{
		"codex alone":         {"", []string{codexPath, "app-server"}, nil, nil, slices.Concat(goals, ask, []string{"view_image"})},
		"codex alone, nested": {"", []string{codexPath, "-c", "features.view_image=false", "app-server"}, nested, goals, []string{"view_image"}},
		"codex alone, dotted": {"", []string{codexPath, "-c", "features.view_image=false", "app-server"}, dotted, slices.Concat(goals, ask, []string{"view_image"}), nil},
		"nothing":             {own, proxyArgv, nil, []string{"view_image"}, slices.Concat(goals, ask)},
		"nested":              {own, proxyArgv, nested, slices.Concat(goals, ask, []string{"view_image"}), nil},
		"dotted":              {own, proxyArgv, dotted, slices.Concat(goals, ask, []string{"view_image"}), nil},
		"command line":        {own, []string{proxyPath, "-c", "tools.experimental_request_user_input.enabled=false", "--disable", "goals", "app-server"}, nil, slices.Concat(goals, ask, []string{"view_image"}), nil},
	} {
		if !isSampledName(2, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: test.config})
			c := w.open(test.argv...)
			c.initialize(nil)
			thread := c.thread(map[string]any{"config": test.overlay})
			c.runTurn(thread, "hello")
			offered := w.model.Requests()[0].ToolNames()
			for _, tool := range test.lacks {
				if slices.Contains(offered, tool) {
					t.Errorf("%s is offered: %q", tool, offered)
				}
			}
			for _, tool := range test.has {
				if !slices.Contains(offered, tool) {
					t.Errorf("%s is not offered: %q", tool, offered)
				}
			}
			c.closeAndWait()
		})
	}
}

// A client's read-only sandbox arrives, also where Codex's configuration has a profile that the
// bridge would otherwise take as the default.
func TestReadOnlyOverrideArrives(t *testing.T) {
	t.Parallel()
	readOnly := map[string]any{"config": map[string]any{"sandbox_mode": "read-only"}}
	profile := map[string]any{"config": map[string]any{"default_permissions": ":read-only"}}
	for name, test := range map[string]struct {
		own    string
		argv   []string
		thread map[string]any
		kind   string
	}{
		"the user's":           {`sandbox_mode = "workspace-write"`, nil, nil, "workspaceWrite"},
		"overlay":              {`sandbox_mode = "workspace-write"`, nil, readOnly, "readOnly"},
		"overlay over profile": {`default_permissions = ":workspace"`, nil, readOnly, "readOnly"},
		"profile":              {`sandbox_mode = "workspace-write"`, nil, profile, "readOnly"},
		"command line":         {`default_permissions = ":workspace"`, []string{"-c", `sandbox_mode="read-only"`}, nil, "readOnly"},
	} {
		if !isSampledName(2, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: noKeys, codexConfig: test.own + "\n"})
			for _, path := range []string{codexPath, proxyPath} {
				c := w.open(append([]string{path, "app-server"}, test.argv...)...)
				c.initialize(nil)
				params := map[string]any{"cwd": c.workspace}
				for key, v := range test.thread {
					params[key] = v
				}
				if got := editor.Member(c.must("thread/start", params), "sandbox", "type"); got != test.kind {
					t.Errorf("%s: %s, want %s", path, got, test.kind)
				}
				c.closeAndWait()
			}
		})
	}
}

// A client may ask for more questions, and for the user, than the policy lists.
func TestStricterApprovalPasses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: "[policy]\napproval = [\"on-request\"]\nreviewers = [\"auto_review\"]\nsandbox = \"workspace-write\"\n"})
	a := w.newAcceptingEditor(proxyArgv...)
	thread := a.thread(map[string]any{"cwd": w.workspace, "approvalPolicy": "untrusted", "approvalsReviewer": "user", "sandbox": "workspace-write"})
	a.turn(thread, "RUN: touch made")
	if len(a.questionReasons()) != 1 || !w.hasFile("workspace/made") {
		t.Errorf("%d questions; made: %v", len(a.questionReasons()), w.hasFile("workspace/made"))
	}
	a.closeAndWait()
}
