package policy_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/policy"
)

// nestKey returns an overlay that has key as nested objects.
func nestKey(key, value string) string {
	segments := strings.Split(key, ".")
	slices.Reverse(segments)
	for _, segment := range segments {
		value = fmt.Sprintf("{%q:%s}", segment, value)
	}
	return value
}

// fieldKeys are keys of an overlay that a field of the request stands for.
var fieldKeys = map[string]string{
	"sandbox_mode": `"sandbox":"read-only"`, "default_permissions": `"sandbox":"read-only"`,
	"approvals_reviewer": `"approvalsReviewer":"user"`, "approval_policy": `"approvalPolicy":"on-request"`,
}

// TestNarrowestValuesPass checks each row of the table, for the command line and the overlay.
func TestNarrowestValuesPass(t *testing.T) {
	p := argsPolicy(t, "config_keys = []\ngate = true")
	for _, row := range policy.Overrides {
		if row.Narrowest == "" {
			continue
		}
		texts := []string{row.Narrowest, " " + row.Narrowest + " "}
		if word := strings.Trim(row.Narrowest, `"`); word != row.Narrowest {
			texts = append(texts, word, "'"+word+"'")
		}
		for _, text := range texts {
			args := []string{"-c", row.Key + "=" + text, "app-server", "--config=" + row.Key + " = " + text}
			if d := p.DecideArgs(args, 0); d.Verdict != policy.Pass {
				t.Errorf("%q: %+v %v", args, d, d.Err)
			}
		}
		if name, ok := strings.CutPrefix(row.Key, "features."); ok {
			if d := p.DecideArgs([]string{"--disable", name, "app-server"}, 0); d.Verdict != policy.Pass {
				t.Errorf("--disable %s: %+v", name, d)
			}
			d := p.DecideArgs([]string{"--enable", name, "app-server"}, 0)
			if d.Verdict == policy.Pass {
				t.Errorf("--enable %s: %+v", name, d)
			}
		}
		field, isField := fieldKeys[row.Key]
		for _, overlay := range []string{fmt.Sprintf("{%q:%s}", row.Key, row.Narrowest), nestKey(row.Key, row.Narrowest)} {
			d := p.Decide(message(t, `{"id":1,"method":"thread/start","params":{"config":`+overlay+`}}`), state())
			if d.Verdict == policy.Deny {
				t.Fatal(overlay, d.Err)
			}
			want := fmt.Sprintf("%q:%s", row.Key, row.Narrowest)
			if isField {
				want = field
			}
			if !strings.Contains(string(d.Message), want) || isField && strings.Contains(string(d.Message), `"`+row.Key+`"`) {
				t.Errorf("%s: got %s, want %s", overlay, d.Message, want)
			}
		}
	}
}

// TestLostOverridesAreRefused checks that an override whose loss weakens something ends the start
// or the request, with the key to add, or the reason why no key helps.
func TestLostOverridesAreRefused(t *testing.T) {
	p := argsPolicy(t, "config_keys = []")
	for _, row := range policy.Overrides {
		if row.Optional {
			continue
		}
		key := strings.ReplaceAll(row.Key, "*", "any")
		hint := "add " + key
		if row.Never {
			hint = "remove it: "
		}
		for _, value := range []string{`"x"`, `["x"]`, `{"a":1}`, "1"} {
			text := value
			if value == `{"a":1}` {
				text = "{a=1}"
			}
			for _, args := range [][]string{
				{"-c", key + "=" + text, "app-server"}, {"app-server", "--config", key + ".x=" + text},
				{"-c", key + `="half a quote`, "app-server"},
			} {
				d := p.DecideArgs(args, 0)
				if d.Verdict != policy.Deny || !strings.Contains(d.Err.Argument, key) {
					t.Errorf("%q: %+v %v", args, d, d.Err)
				} else if row.Key != "approval_policy" && row.Key != "default_permissions" && (!strings.Contains(d.Err.Reason, row.Loss) || !strings.HasSuffix(args[1], "quote") && !strings.Contains(d.Err.Hint, hint)) {
					t.Errorf("%q: %+v", args, d.Err)
				}
			}
			if row.Key == "approval_policy" || strings.HasSuffix(row.Key, "writable_roots") { // the bridge takes it from an overlay
				continue
			}
			for _, overlay := range []string{fmt.Sprintf("{%q:%s}", key, value), nestKey(key, value), nestKey(key+".x", value)} {
				d := p.Decide(message(t, `{"id":1,"method":"thread/resume","params":{"threadId":"T","cwd":"/code/proj","config":`+overlay+`}}`), state())
				if d.Verdict != policy.Deny || row.Key != "default_permissions" && (!strings.Contains(d.Err.Message, hint) || !strings.Contains(d.Err.Message, row.Loss)) {
					t.Errorf("%s: %s %v", overlay, d.Message, d.Err)
				}
			}
		}
		if row.Never {
			continue
		}
		allowed := argsPolicy(t, fmt.Sprintf("config_keys = [%q]", key))
		if d := allowed.DecideArgs([]string{"-c", key + `="x"`, "app-server"}, 0); d.Verdict != policy.Pass {
			t.Errorf("%s: %+v %v", row.Key, d, d.Err)
		}
	}
}

// TestRemovedOverridesOnlyNarrow checks the values that the bridge removes: their loss can't loosen.
func TestRemovedOverridesOnlyNarrow(t *testing.T) {
	p := argsPolicy(t, "sandbox = \"read-only\"\nconfig_keys = []")
	for _, row := range policy.Overrides {
		key := strings.ReplaceAll(row.Key, "*", "any")
		for _, value := range row.Removable {
			if d := p.DecideArgs([]string{"-c", key + "=" + value, "app-server"}, 0); d.Verdict != policy.Rewrite {
				t.Errorf("-c %s=%s: %+v, error %v", key, value, d, d.Err)
			}
			for _, overlay := range []string{fmt.Sprintf("{%q:%s}", key, value), nestKey(key, value)} {
				if row.Key == "plugins.*.enabled" { // a whole plugin may have more
					break
				}
				d := p.Decide(message(t, `{"id":1,"method":"thread/start","params":{"sandbox":"read-only","config":`+overlay+`}}`), state())
				if d.Err != nil || strings.Contains(string(d.Message), `"config"`) {
					t.Errorf("%s: %s, error %v", overlay, d.Message, d.Err)
				}
			}
		}
	}
}

// TestHintForLostOverride checks which key the hint names: a provider, or the key of the table.
func TestHintForLostOverride(t *testing.T) {
	p := argsPolicy(t, "config_keys = []")
	for arg, want := range map[string]string{
		`model_providers={x={base_url="y"}}`:   "model_providers.x",
		`model_providers.x.base_url="y"`:       "model_providers.x",
		`model_providers.x="y"`:                "model_providers.x",
		`model_providers="y"`:                  "model_providers",
		`openai_base_url.x="y"`:                "openai_base_url",
		`shell_environment_policy.exclude.x=1`: "shell_environment_policy.exclude",
	} {
		if d := p.DecideArgs([]string{"-c", arg, "app-server"}, 0); d.Err == nil || !strings.Contains(d.Err.Hint, "add "+want+" to") {
			t.Errorf("%s: %v, want a hint to add %s", arg, d.Err, want)
		}
	}
}

func TestOverridesOfOneCommandLine(t *testing.T) {
	p := argsPolicy(t, "config_keys = []")
	for _, c := range []struct {
		args    string
		verdict policy.Verdict
		gets    string
	}{
		{`-c features.goals=false -c features.goals=false app-server`, policy.Pass, ""},
		{`-c features.goals=false app-server -c features.goals=true`, policy.Rewrite, `-c features.goals=false app-server`},
		{`--enable goals app-server --disable goals`, policy.Rewrite, `app-server --disable goals`},
		{`-c cli_auth_credentials_store="ephemeral" app-server -c cli_auth_credentials_store="file"`, policy.Deny, ""},
		// A limit in another form does not pass, and is not lost.
		{`-c features={goals=false} app-server`, policy.Deny, ""},
		{`-c features={goals=true} app-server`, policy.Rewrite, `app-server`},
		{`-c features.goals=False app-server`, policy.Deny, ""},
		{`-c features.goals="false" app-server`, policy.Deny, ""},
		{`-c features.goals=false#x app-server`, policy.Deny, ""},
		{`-c web_search="\u0064isabled" app-server`, policy.Deny, ""},
		{`-c web_search="""disabled""" app-server`, policy.Deny, ""},
		{`-c web_search="cached" app-server`, policy.Rewrite, `app-server`},
		{`-c sandbox_mode="""workspace-write""" app-server`, policy.Deny, ""},
		{`-c sandbox_workspace_write={network_access=false} app-server`, policy.Deny, ""},
		{`-c sandbox_workspace_write.writable_roots=["out"] app-server`, policy.Deny, ""},
		{`-c profile="strict" app-server`, policy.Deny, ""},
		{`-c features."goals"=false app-server`, policy.Deny, ""},
		{`-c Features.goals=false app-server`, policy.Rewrite, `app-server`},
		{`--disable hooks --enable unified_exec --disable network_proxy app-server`, policy.Rewrite, `app-server`},
		{`--disable later app-server`, policy.Deny, ""},
		{`--enable network_proxy app-server`, policy.Deny, ""},
		{`-c model_providers={x={base_url="http://x"}} app-server`, policy.Deny, ""},
		{`-c shell_environment_policy.inherit=all app-server`, policy.Rewrite, `app-server`},
		{`--enable secret_auth_storage app-server`, policy.Deny, ""},
		{`--enable respect_system_proxy app-server`, policy.Deny, ""},
		{`--disable respect_system_proxy app-server`, policy.Rewrite, `app-server`},
		// These flags have no effect beside app-server, so their loss has none.
		{`--oss --local-provider ollama app-server`, policy.Rewrite, `app-server`},
		{`-a untrusted app-server`, policy.Pass, ""},
	} {
		d := p.DecideArgs(strings.Fields(c.args), 0)
		if d.Verdict != c.verdict || c.verdict == policy.Rewrite && strings.Join(d.Args, " ") != c.gets {
			t.Errorf("%s: %+v %v", c.args, d, d.Err)
		}
	}
}

// TestUntrustedIsNarrowerOnlyWithGate checks -c and -a for the approval policy.
func TestUntrustedIsNarrowerOnlyWithGate(t *testing.T) {
	for text, passes := range map[string]bool{
		`approval = ["on-request"]` + "\ngate = true":            true,
		`approval = ["on-request"]` + "\ngate = false":           false,
		`approval = ["never"]` + "\ngate = true":                 false,
		`approval = ["untrusted", "never"]` + "\ngate = false":   true,
		`approval = ["never", "on-request"]` + "\ngate = true":   true,
		`approval = ["granular", "never"]` + "\ngate = true":     false,
		`approval = ["on-request", "never"]` + "\ngate = false":  false,
		`approval = ["on-request", "granular"]` + "\ngate=true":  true,
		`approval = ["untrusted", "on-request"]` + "\ngate=true": true,
	} {
		p := argsPolicy(t, text)
		for _, args := range [][]string{{"-c", `approval_policy="untrusted"`, "app-server"}, {"-a", "untrusted", "app-server"}} {
			if d := p.DecideArgs(args, 0); (d.Verdict == policy.Pass) != passes {
				t.Errorf("%s: %q: %+v", text, args, d)
			}
		}
	}
}

// TestOverridesAreDocumented checks that docs/reference/policy.md names each key of the table.
func TestOverridesAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "### Values that always pass")
	passing, lost, _ := strings.Cut(section, "### Overrides that are never lost")
	lost, _, _ = strings.Cut(lost, "### Pinned features")
	names := func(section, key string) bool {
		_, feature, _ := strings.Cut(key, ".")
		last := key[strings.LastIndexByte(key, '.')+1:]
		return strings.Contains(section, "`"+key+"`") || strings.Contains(section, "`"+feature+"`") || strings.Contains(section, "`."+last+"`")
	}
	for _, row := range policy.Overrides {
		if row.Narrowest != "" && !names(passing, row.Key) {
			t.Errorf("%s is not in the table of values that always pass", row.Key)
		}
		if row.Narrowest == "" && !names(lost, row.Key) {
			t.Errorf("%s is not in the table of overrides that are never lost", row.Key)
		}
	}
}

// A sandbox of the overlay or the command line that is narrower than Codex's configuration, or than the
// stored one, is not lost, and neither is a shorter list of writable roots.
func TestOverlayNarrowsStoredThread(t *testing.T) {
	cfg, st := contract(), state()
	cfg.Sandbox, cfg.WritableRoots = "danger-full-access", []string{"${workspace}", "/srv"}
	st.Thread, st.ThreadFolder, st.StoredSandbox = nil, "/code/proj", &policy.SandboxSettings{Mode: "danger-full-access"}
	st.Defaults = &policy.Defaults{Sandbox: "danger-full-access"}
	for _, overlay := range []string{`{"sandbox_mode":"workspace-write"}`, `{"default_permissions":":workspace"}`} {
		for _, method := range []string{"thread/start", "thread/resume", "thread/fork"} {
			d := compile(t, cfg).Decide(message(t, `{"id":1,"method":"`+method+`","params":{"threadId":"T","config":`+overlay+`}}`), st)
			if d.Err != nil || d.Sent == nil || d.Sent.Sandbox != "workspace-write" {
				t.Errorf("%s with %s: %+v, error %v", method, overlay, d.Sent, d.Err)
			}
		}
	}
	for _, flag := range []string{`sandbox_mode="workspace-write"`, `default_permissions=":workspace"`} {
		for sandbox, passes := range map[string]bool{"danger-full-access": true, "workspace-write": true, "read-only": false} {
			args := argsPolicy(t, "sandbox = \""+sandbox+"\"").DecideArgs([]string{"-c", flag, "app-server"}, 0)
			if (args.Verdict == policy.Pass) != passes || args.Err != nil {
				t.Errorf("-c %s where %s is the most: %+v", flag, sandbox, args)
			}
		}
	}
	cfg.Sandbox = "workspace-write"
	st.Defaults = &policy.Defaults{Sandbox: "workspace-write", WritableRoots: []string{"/srv/out", "/srv/other"}}
	for _, overlay := range []string{`{"sandbox_workspace_write":{"writable_roots":["/srv/out","/etc"]}}`, `{"sandbox_workspace_write.writable_roots":["/srv/out"]}`} {
		d := compile(t, cfg).Decide(message(t, `{"id":1,"method":"thread/start","params":{"config":`+overlay+`}}`), st)
		if want := `"sandbox_workspace_write.writable_roots":["/srv/out"]`; d.Err != nil || !strings.Contains(string(d.Message), want) {
			t.Errorf("%s: Codex gets %s, error %v", overlay, d.Message, d.Err)
		}
	}
}

// A request's overlay replaces values of the client's command line. One that only narrows is kept, and
// another that must not be lost has a loss.
func TestReplacedOverride(t *testing.T) {
	cfg := contract()
	cfg.ConfigKeys = []string{"features.goals", "shell_environment_policy.inherit"}
	p := compile(t, cfg)
	for _, c := range []struct {
		key, value, by string
		keep, lost     bool
	}{
		{"features.shell_tool", "false", "", true, false},
		{"features.shell_tool", "false", "true", true, false},
		{"features.shell_tool", "true", "", false, false},
		{"features.goals", "false", "true", false, false},
		{"sandbox_workspace_write.exclude_slash_tmp", "true", "false", true, false},
		{"sandbox_mode", `"read-only"`, `"workspace-write"`, false, false},
		{"shell_environment_policy.inherit", `"none"`, "", false, true},
		{"shell_environment_policy.inherit", `"none"`, `"core"`, false, false},
		{"shell_environment_policy.inherit", `"all"`, "", false, false},
		{"model_providers.x.base_url", `"https://x"`, `"https://y"`, false, true},
	} {
		var by json.RawMessage
		if c.by != "" {
			by = json.RawMessage(c.by)
		}
		keep, loss := p.ReplacedOverride(c.key, json.RawMessage(c.value), by)
		if keep != c.keep || (loss != "") != c.lost {
			t.Errorf("%+v: %v, %q", c, keep, loss)
		}
	}
	cfg.Mode = "off"
	if keep, loss := compile(t, cfg).ReplacedOverride("features.shell_tool", json.RawMessage("false"), nil); keep || loss != "" {
		t.Errorf("without a policy: %v, %q", keep, loss)
	}
}
