//go:build linux

package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"codex-bridge.example/bridge/setting"
	"codex-bridge.example/cmd/internal/editor"
)

// requirementValues has a value for each key of requirements.toml.
var requirementValues = map[string]string{
	"additional_developer_instructions":  `"x"`,
	"allow_appshots":                     `false`,
	"allow_browser_and_computer_use":     `false`,
	"allow_login_shell":                  `false`,
	"allow_managed_hooks_only":           `false`,
	"allow_remote_control":               `false`,
	"allowed_approval_policies":          `["on-request"]`,
	"allowed_approvals_reviewers":        `["user"]`,
	"allowed_chatgpt_workspaces":         `["w"]`,
	"allowed_login_methods":              `["api"]`,
	"allowed_permission_profiles":        `{ ":workspace" = true, ":read-only" = true }`,
	"allowed_sandbox_modes":              `["read-only", "workspace-write"]`,
	"allowed_web_search_modes":           `["cached"]`,
	"application":                        `{ network = { enabled = false } }`,
	"apps":                               `{ a = { enabled = false } }`,
	"auto_review":                        `{ required_on_models = ["x"] }`,
	"browser_use":                        `{ allow_history_access = false }`,
	"chatgpt_base_url":                   `"https://127.0.0.1:1"`,
	"check_for_update_on_startup":        `false`,
	"cli_auth_credentials_store":         `"file"`,
	"computer_use":                       `{ allow_locked_computer_use = false }`,
	"config_server":                      `{}`,
	"default_permissions":                `":workspace"`,
	"enforce_residency":                  `"us"`,
	"experimental_network":               `{ enabled = false }`,
	"features":                           `{ goals = false }`,
	"feedback":                           `{ enabled = false }`,
	"guardian_extra_policy":              `"x"`,
	"guardian_policy_config":             `"x"`,
	"hooks":                              `{ managed_dir = "/etc/hooks" }`,
	"in_app_browser":                     `{ allow_external_browser_settings_import = false }`,
	"log_dir":                            `"$ROOT/none"`,
	"marketplaces":                       `{ restrict_to_allowed_sources = true }`,
	"mcp_servers":                        `{ a = { identity = { command = "x" } } }`,
	"model_catalog_json":                 `5`,
	"model_provider":                     `"mock"`,
	"model_providers":                    `{ x = { name = "x", base_url = "http://127.0.0.1:1" } }`,
	"models":                             `{ new_thread = { model = "gpt-5" } }`,
	"otel":                               `{ environment = "x" }`,
	"permissions":                        `{ filesystem = { deny_read = ["/etc/codex-bridge-none"] } }`,
	"plugins":                            `{ a = { mcp_servers = {} } }`,
	"remote_sandbox_config":              `[{ hostname_patterns = ["none"], allowed_sandbox_modes = ["read-only"] }]`,
	"rules":                              `{ prefix_rules = [{ pattern = [{ token = "rm" }], decision = "prompt" }] }`,
	"sqlite_home":                        `"$ROOT/none"`,
	"unsafe_enforce_sqlite_journal_mode": `true`,
	"windows":                            `{ allowed_sandbox_implementations = ["elevated"] }`,
}

// needingService are keys whose valid values need a server, or a catalogue of models. Codex refuses their
// values above, and names the key.
var needingService = []string{"config_server", "model_catalog_json"}

// The bridge knows all keys that Codex reads, no others, and what Codex reports of them.
func TestRequirementKeysOfCodex(t *testing.T) {
	t.Parallel()
	keys := setting.RequirementKeys
	file, want := "codex_bridge_none = 1\n", []string{}
	for _, one := range keys {
		if requirementValues[one.Key] == "" {
			t.Errorf("%s has no value", one.Key)
		}
		if !slices.Contains(needingService, one.Key) {
			file += one.Key + " = " + requirementValues[one.Key] + "\n"
			if one.Member != "" {
				want = append(want, one.Member)
			}
		}
	}
	if len(keys) != len(requirementValues) {
		t.Errorf("%d keys, %d values", len(keys), len(requirementValues))
	}
	if n := countRequirements(t); n != len(keys) {
		t.Errorf("codex has %d keys, the bridge knows %d", n, len(keys))
	}
	c := newWorld(t, options{}).openRequiring(file)
	c.initialize(nil)
	var got struct{ Requirements map[string]json.RawMessage }
	if err := json.Unmarshal(c.must("configRequirements/read", nil), &got); err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(got.Requirements, func(_ string, v json.RawMessage) bool { return string(v) == "null" })
	members := slices.Sorted(maps.Keys(got.Requirements))
	if slices.Sort(want); !slices.Equal(members, want) {
		t.Errorf("codex reports\n%v, want\n%v", members, want)
	}
	m := c.waitFor(0, "configWarning", func(m editor.Message) bool { return strings.Contains(m.Param("summary"), "unrecognized") })
	if text := m.Param("summary"); !strings.Contains(text, "ignoring 1 unrecognized") || !strings.Contains(text, "`codex_bridge_none` is ignored") {
		t.Errorf("codex ignores other keys: %s", text)
	}
	c.closeAndWait()
	for _, key := range needingService {
		w := newWorld(t, options{})
		c := w.openRequiring(key + " = " + requirementValues[key] + "\n")
		if exit, err := c.Exit(c.ctx); err != nil || exit.Code == 0 || !strings.Contains(c.Stderr(), "in `"+key+"`") {
			t.Errorf("%s: %v, %v: %s", key, exit, err, c.Stderr())
		}
	}
}

func (w *world) openRequiring(requirements string) *conversation {
	w.t.Helper()
	return w.open(w.requiring(requirements, codexPath, "app-server")...)
}

// countRequirements returns the number of keys that the program of Codex has for requirements.toml.
func countRequirements(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(codexPath)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`struct ConfigRequirementsToml with (\d+) elements`).FindSubmatch(text)
	if found == nil {
		t.Fatal("codex does not name the number of its requirements")
	}
	n, err := strconv.Atoi(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Keys that Codex alone holds do not keep the bridge from opening threads. doctor names all keys, and those
// that the bridge does not know.
func TestDoctorNamesRequirements(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: heldPolicy})
	file, alone, held := "", []string{}, []string{"allowed_web_search_modes", "features", "rules"}
	for _, one := range setting.RequirementKeys {
		skip := slices.Contains(needingService, one.Key) || one.Key == "model_provider" || one.Key == "chatgpt_base_url"
		if skip || one.Held && !slices.Contains(held, one.Key) {
			continue
		}
		file += one.Key + " = " + requirementValues[one.Key] + "\n"
		if !one.Held {
			alone = append(alone, one.Key)
		}
	}
	c := w.open(w.requiring(file, proxyArgv...)...)
	c.initialize(nil)
	if got := c.openedWith("sandbox", map[string]any{"sandbox": "workspace-write"}); !strings.Contains(got, `"workspaceWrite"`) {
		t.Errorf("with the requirements of Codex alone the thread has %s", got)
	}
	c.closeAndWait()
	for _, more := range []string{"", "codex_bridge_none = 1\n"} {
		argv := w.requiring(more+file, proxyPath, "doctor")
		cmd := exec.CommandContext(deadline(t), argv[0], argv[1:]...)
		cmd.Env, cmd.Dir = append(slices.Clip(w.env), "COLUMNS=1000"), w.workspace
		output, _ := cmd.Output() // other rows may be broken here
		out := string(output)
		want := fmt.Sprintf("/etc/codex/requirements.toml: codex and the bridge hold %s; codex alone holds %s", strings.Join(held, ", "), strings.Join(alone, ", "))
		state := "ok"
		if more != "" {
			state, want = "warn", want+"; this bridge does not know codex_bridge_none"
		}
		if want = fmt.Sprintf("%-6s  %-13s  %s\n", state, "requirements", want); !strings.Contains(out, want) {
			t.Errorf("doctor says\n%s, want\n%s", out, want)
		}
	}
}
