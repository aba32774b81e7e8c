package policy_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"codex-bridge.example/bridge/argv"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/toml"
)

func argsPolicy(t tester, text string) *policy.Policy {
	t.Helper()
	cfg := contract()
	cfg.Mode = config.Enforce
	if err := toml.Decode(text, &cfg); err != nil {
		t.Fatal(err)
	}
	return compile(t, cfg)
}

// TestOverrides checks that the bridge reads -c as Codex 0.169.0 does. Each case was measured with
// config/read and its layers.
func TestOverrides(t *testing.T) {
	const most = "config_keys = [\"**\"]\nmodels = [\"gpt-5.5\"]"
	for _, c := range []struct {
		name, policy, value string
		passes              bool
		rule                string
	}{
		{"a key that passes", "", `model_reasoning_effort="high"`, true, ""},
		{"spaces are trimmed", "", " model_reasoning_effort = high ", true, ""},
		{"another", "", `mcp_servers.x.command="sh"`, false, "policy.config_keys"},
		{"an empty value", most, "a=", true, ""},
		{"cut at the first =", most, "a=1=2", true, ""},
		{"an empty segment", "config_keys = [\"a.b\"]", "a..b=1", false, "policy.config_keys"},
		{"an empty segment in a key that never passes", most, "features..hooks=false", false, "policy.config_keys"},
		{"quotes don't hold a segment together", most, `projects."/x".trust_level="trusted"`, false, "policy.config_keys"},
		{"quotes around a segment", most, `features."hooks"=false`, false, "policy.config_keys"},
		{"spaces in a segment", most, "features . hooks=false", false, "policy.config_keys"},
		{"a table", most, "features={hooks=false}", false, "policy.config_keys"},
		{"a table in a table", most, "a={b={c=1}}", true, ""},
		{"dots in a table", "config_keys = [\"a.b.c\"]", "a={b.c=1}", true, ""},
		{"quoted dots in a table must pass in both readings", "config_keys = [\"a.b\"]", `a={"b.c"=1}`, false, "policy.config_keys"},
		{"and may", "config_keys = [\"a.b*.**\"]", `a={"b.c"=1}`, true, ""},
		{"a text of two lines", most, "a=\"\"\"x\ny\"\"\"", true, ""},
		{"quoted dots in a table that never passes", most, `features={"hooks.x"=1}`, false, "policy.config_keys"},
		{"one leaf of several", "config_keys = [\"a.b\"]", "a={b=1, c=2}", false, "policy.config_keys"},
		{"a table of everything above", most, "features={}", false, "policy.config_keys"},
		{"an array", most, "notify=['a', {b=1}]", true, ""},
		{"an approval policy, which each thread is judged with", "", `approval_policy="on-request"`, true, ""},
		{"writable roots, which each thread is judged with", "", `sandbox_workspace_write.writable_roots=["/srv/out"]`, true, ""},
		{"a model", most, "model=gpt-5.5", true, ""},
		{"a model in quotes", most, `model='gpt-5.5'`, true, ""},
		{"a forbidden model", most, "model=o9", false, "policy.models"},
		{"a forbidden model, spelt otherwise", most, `model="\u006f9"`, false, "policy.models"},
		{"a model that is no name", most, "model=1979-05-27", false, "policy.models"},
		{"a model in a table", most, `model={a="gpt-5.5"}`, false, "policy.models"},
		{"a review model further in", most, `agents={x={review_model="o9"}}`, false, "policy.models"},
		{"half a quote", most, `model="gpt-5.5`, false, "policy.config_keys"},
		{"a table that only codex can read", most, "a={b=1,\u00a0}", false, "policy.config_keys"},
		{"a second key", most, "a=1\nb=2", false, "policy.config_keys"},
		{"a table after the value", most, "a={b=1}\n[_x_.c]\nd=1", false, "policy.config_keys"},
		{"the same key twice", most, "a={b=1, b=2}", false, "policy.config_keys"},
		{"numbers that JSON has no word for", most, "a=inf", true, ""},
		{"too deep", most, "a=" + strings.Repeat("{b=", 130) + "1" + strings.Repeat("}", 130), false, "policy.config_keys"},
		{"a key of serde's own", most, `a={"$serde_json::private::RawValue"="1"}`, false, "policy.config_keys"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := argsPolicy(t, c.policy)
			for _, args := range [][]string{
				{"-c", c.value, "app-server"}, {"app-server", "--config", c.value},
				{"--config=" + c.value, "app-server"}, {"app-server", "-c=" + c.value},
			} {
				d := p.DecideArgs(args, 0)
				if c.passes {
					if d.Verdict != policy.Pass || !slices.Equal(d.Args, args) {
						t.Errorf("%q: %+v", args, d)
					}
					continue
				}
				if d.Verdict != policy.Rewrite || !slices.Equal(d.Args, []string{"app-server"}) || d.Changes[0].Rule != c.rule {
					t.Errorf("%q: %+v", args, d)
				}
			}
		})
	}
}

// TestOverridesThatCodexRefuses checks that the bridge does not start where Codex alone would not: the client may
// have meant a limit.
func TestOverridesThatCodexRefuses(t *testing.T) {
	p := argsPolicy(t, "config_keys = [\"**\"]")
	for _, args := range [][]string{
		{"-c", "a"}, {"-c", "=x"}, {"--config", " \u00a0=x"}, {"-c=a=\xff"}, {"--config=a\xff=1"},
		{"--disable", "shell_tool\xff"}, {"--enable", "\xff"}, {"-c", "sandbox_mode:read-only"},
	} {
		if d := p.DecideArgs(append(args, "app-server"), 0); d.Verdict != policy.Deny || d.Err.Rule != "policy.config_keys" {
			t.Errorf("%q: %+v", args, d)
		}
	}
}

// Help passes without flags and prompts, since Codex may read them in another way than the bridge.
func TestHelpPassesAlone(t *testing.T) {
	p := argsPolicy(t, "")
	for args, gets := range map[string]string{
		"app-server --ws-auth x help /y":          "app-server help /y",
		"-c a=1 --cd=/x -i a b --help app-server": "--help app-server",
		"exec -o x --json y help":                 "exec help",
		"mcp -c a=1 add --help":                   "mcp add --help",
		"newcmd help":                             "help",
		"exec newsub help":                        "exec help",
		"app-server newsub --help":                "app-server --help",
		"-c a=1 mcp":                              "mcp",
		"-c a=1 help exec":                        "help exec",
		"-c a=1 completion bash":                  "completion bash",
		"--enable x -V":                           "-V",
	} {
		d := p.DecideArgs(strings.Fields(args), 0)
		if got := strings.Join(d.Args, " "); d.Verdict != policy.Pass || got != gets {
			t.Errorf("%s: %v %q, want %q", args, d.Verdict, got, gets)
		}
	}
}

// TestFlags checks that every flag that argv knows has a rule.
func TestFlags(t *testing.T) {
	p := argsPolicy(t, "sandbox = \"workspace-write\"\napproval = [\"on-request\"]")
	for _, c := range []struct {
		args    string
		verdict policy.Verdict
		gets    string
		rule    string
	}{
		{"--strict-config --no-alt-screen --no-daemon app-server --stdio", policy.Pass, "", ""},
		{"app-server --listen stdio:// --strict-config --analytics-default-enabled --startup-client-info {}", policy.Pass, "", ""},
		{"app-server --ws-auth capability-token --ws-token-file /x", policy.Pass, "", ""},
		{"-s read-only -a on-request -m gpt app-server", policy.Pass, "", ""},
		{"-s danger-full-access -sworkspace-write app-server", policy.Rewrite, "-sworkspace-write app-server", "policy.sandbox"},
		{"-s full app-server", policy.Deny, "", "policy.sandbox"}, {"-a full app-server", policy.Deny, "", "policy.approval"},
		{"--ask-for-approval=never app-server", policy.Rewrite, "app-server", "policy.approval"},
		{"-C /x --add-dir=/y -i a b -- x", policy.Pass, "", ""},
		{"-s danger-full-access -c features.hooks=false -- x", policy.Rewrite, "-- x", "policy.sandbox"},
		{"-C /x --add-dir=/y -i a b --oss app-server --code-mode-host http://x", policy.Rewrite, "app-server", "policy.mode"},
		{"app-server --cloud-skills-snapshot /x", policy.Rewrite, "app-server", "policy.mode"},
		{"app-server --plugin-mcp-launch-cwd x@y help /x", policy.Rewrite, "app-server", "policy.mode"},
		{"app-server --mcp-launch-cwd x /y", policy.Deny, "", "policy.mode"},
		{"--search --local-provider ollama app-server", policy.Rewrite, "app-server", "policy.config_keys"},
		{"--not-so-yolo app-server", policy.Deny, "", "policy.reviewers"}, {"--approve-for-me", policy.Pass, "", ""},
		{"-a never", policy.Pass, "", ""}, // the terminal interface sends it with each thread
		{"--yolo app-server", policy.Deny, "", "policy.mode"},
		{"--yolo=1 app-server", policy.Deny, "", "policy.mode"},
		{"app-server --dangerously-bypass-hook-trust", policy.Deny, "", "policy.mode"},
		{"--dangerously-new app-server", policy.Deny, "", "policy.mode"},
		{"--full-auto app-server", policy.Deny, "", "policy.mode"},
		{"-p x app-server", policy.Deny, "", "policy.mode"},
		{"--remote ws://x app-server", policy.Deny, "", "policy.mode"},
		{"--remote-auth-token-env X app-server", policy.Deny, "", "policy.mode"},
		{"--worktree app-server", policy.Deny, "", "policy.mode"},
		{"app-server --remote-control", policy.Deny, "", "policy.mode"},
		{"app-server --managed-daemon", policy.Deny, "", "policy.mode"},
		{"app-server --startup-sign-out", policy.Deny, "", "policy.mode"},
		{"--conf=a=1 app-server", policy.Deny, "", "policy.mode"},
		{"app-server -c", policy.Deny, "", "policy.mode"},
		{"-c --help app-server", policy.Deny, "", "policy.mode"},
		{"app-server -- x", policy.Deny, "", "policy.mode"},
		{"x app-server", policy.Deny, "", "policy.mode"},
		// exec and review are clients of an app-server under the policy.
		{"-m gpt -C /x e -s workspace-write -i a b --json -o f --output-schema g --color never --ephemeral --skip-git-repo-check -- x", policy.Pass, "", ""},
		{"exec -s read-only resume --last --all -i a -m gpt x y", policy.Pass, "", ""},
		{"exec fork id --thread-source x --cyber-access-program standard --strict-config", policy.Pass, "", ""},
		{"exec review --base x", policy.Pass, "", ""}, {"review --commit x --title y", policy.Pass, "", ""},
		{"-s danger-full-access exec -s danger-full-access x", policy.Rewrite, "exec x", "policy.sandbox"},
		{"--add-dir /x exec --add-dir /y -i a b", policy.Pass, "", ""}, // workspace roots of its requests
		{"exec -s danger-full-access -i a b", policy.Rewrite, "exec -i a b", "policy.sandbox"},
		{"exec -i a -s danger-full-access b", policy.Deny, "", "policy.mode"},
		{"exec -i a -s danger-full-access --json b", policy.Rewrite, "exec -i a --json b", "policy.sandbox"},
		{"exec --approve-for-me --local-provider ollama x", policy.Rewrite, "exec --approve-for-me x", "policy.config_keys"},
		{"exec --oss x", policy.Deny, "", "policy.config_keys"}, {"--oss", policy.Deny, "", "policy.config_keys"}, // another provider would get the conversation
		{"-c hooks.x=1 review", policy.Deny, "", "policy.config_keys"},
		{"-c hooks.x=[] review --uncommitted -c hooks.state.y.enabled=false", policy.Rewrite, "review --uncommitted", "policy.config_keys"},
		{"exec --yolo x", policy.Deny, "", "policy.mode"}, {"exec resume x --dangerously-bypass-hook-trust", policy.Deny, "", "policy.mode"},
		{"exec --trust x", policy.Deny, "", "policy.mode"}, {"review --trust", policy.Deny, "", "policy.mode"},
		{"exec x --ignore-user-config", policy.Deny, "", "policy.mode"}, {"exec --ignore-rules x", policy.Deny, "", "policy.mode"},
		{"exec --worktree x", policy.Deny, "", "policy.mode"}, {"exec -p x y", policy.Deny, "", "policy.mode"},
		{"exec --new x", policy.Deny, "", "policy.mode"}, {"exec resume -s read-only x", policy.Deny, "", "policy.mode"},
		{"exec --json=1 x", policy.Deny, "", "policy.mode"}, {"exec -o", policy.Deny, "", "policy.mode"},
		{"--remote unix://x exec x", policy.Deny, "", "policy.mode"}, {"hello exec x", policy.Deny, "", "policy.commands"},
	} {
		d := p.DecideArgs(strings.Fields(c.args), 0)
		gets := c.gets
		if c.verdict == policy.Pass {
			gets = c.args
		}
		rule := ""
		switch {
		case d.Err != nil:
			rule = d.Err.Rule
		case len(d.Changes) > 0:
			rule = d.Changes[0].Rule
		}
		if d.Verdict != c.verdict || strings.Join(d.Args, " ") != gets || rule != c.rule {
			t.Errorf("%s: %+v %v", c.args, d, d.Err)
		}
	}
}

func TestCommands(t *testing.T) {
	for _, c := range []struct {
		commands, args string
		passes         bool
	}{
		{`"*"`, "exec x", true}, {`"*"`, "", true}, {`"*"`, "hello", true}, {`"**"`, "mcp add", true},
		{``, "--version", true}, {``, "help exec", true}, {``, "completion zsh", true}, {``, "exec --help", true},
		{``, "app-server generate-ts --out x", true}, {``, "app-server", true}, {``, "login", false},
		// The terminal interface is a client of an app-server under the policy.
		{``, "", true}, {``, "-m gpt-5.5", true}, {``, "-- hello", true}, {``, "resume --last", true}, {``, "fork", true}, {``, "agents", true},
		{``, "-C /x -i a -p b --add-dir /y", true}, {``, "queue --thread x", false}, {`"*"`, "queue --thread x", false}, {``, "hello", true},
		{`"*"`, "--remote unix://x", false}, {`"*"`, "resume --remote=unix://x", false}, {`"*"`, "fork x --remote-auth-token-env X", false},
		{`"*"`, "--yolo", false}, {`"*"`, "resume --yolo", false}, {`"*"`, "agents --dangerously-bypass-hook-trust", false},
		{``, "e x", true}, {`"apply"`, "a x", true}, {`"a"`, "apply", false},
		{``, "mcp", true}, {`"mcp"`, "mcp add x", true}, {`"mcp list"`, "mcp list", true},
		{`"mcp list"`, "mcp add", false}, {`"mcp list"`, "mcp", true}, {`"mcp list"`, "mcp --new list", false},
		{`"mcp l*"`, "mcp login", true}, {`"log*"`, "logout", true}, {`"* list"`, "features list", true},
		{`"*"`, "hello exec", false}, {`"*"`, "--new exec", false}, {`"*"`, "--new help app-server", false}, {`"*"`, "--new --help", false},
		{`"*"`, "app-server --listen off", false}, {`"**"`, "app-server daemon start", false}, {`"* *"`, "app-server proxy", false},
		{`"app-server"`, "app-server proxy", false}, {`"app-*"`, "app-server proxy", false},
		{`"app-server proxy"`, "app-server proxy", true}, {`"app-server proxy"`, "app-server daemon", false},
		{`"app-server *"`, "app-server --print-startup-config", false}, {`"app-server --listen"`, "app-server --listen off", true}, {`"*"`, "app-server --print-startup-config", false},
		{`"*"`, "remote-control", false}, {`"remote-control"`, "remote-control start", true}, {`"*"`, "stdio-to-uds /x", false},
		// Doors must be written out.
		{`"*"`, "sandbox ls", false}, {`"sand*"`, "sandbox ls", false}, {`"sandbox"`, "sandbox ls -l", true}, {`"sandbox ls"`, "sandbox ls -l", true},
		{`"sandbox ls"`, "sandbox rm", false}, {`"*"`, "exec-server", false}, {`"exec-server"`, "exec-server forward x", true}, {`"*"`, "responses-api-proxy", false},
		{`"app-server daemon stop"`, "app-server daemon start", false}, {`"*"`, "debug prompt-input", false}, {`"debug prompt-input"`, "debug prompt-input", true},
		// One runs a turn and answers its questions.
		{`"*", "debug", "debug app-server send-message-v2"`, "debug app-server send-message-v2 x", false}, {`"*"`, "debug -c model=gpt app-server send-message-v2 x", false},
		{`"*"`, "debug -- app-server send-message-v2 x", false},
		// Commands that the bridge does not know.
		{`"*"`, "mcp other", false}, {`"mcp", "mcp *"`, "mcp other", false}, {`"mcp other"`, "mcp other x", true}, {`"*"`, "login other", false},
		{`"*"`, "cloud --new list", false}, {`"*"`, "cloud list", true},
		// The arguments of harmless commands, and overrides.
		{`"login"`, "login --with-api-key", true}, {`"login"`, "login --experimental_issuer https://x", false}, {`"doctor"`, "doctor --feedback", false}, {`"doctor"`, "doctor x", false},
		{`"mcp"`, "mcp get x --json", true}, {`"mcp"`, "mcp get x y", false}, {`"mcp"`, "mcp get --json=1 x", false}, {`"mcp"`, "mcp -c model=gpt get x -c model=gpt", true},
		{`"sandbox"`, "sandbox -c sandbox_mode=danger-full-access -- ls", false}, {`"sandbox"`, "sandbox --new -csandbox_mode=danger-full-access ls", false},
		{`"sandbox"`, "sandbox -- sh -c x", true}, {`"sandbox"`, "sandbox sh -c x", false}, {`"sandbox"`, "sandbox --enable x ls", false}, {`"sandbox"`, "sandbox --config", false},
		{``, "app-server generate-ts --out x --prettier y", false}, {`"*"`, "app-server generate-ts -p y", false},
		{`"*"`, "--yolo login", false}, {`"*"`, "-C /x -p y login", true}, {`"*"`, "--remote unix://x queue", false},
	} {
		p := argsPolicy(t, "commands = ["+c.commands+"]")
		args := strings.Fields(c.args)
		if d := p.DecideArgs(args, 0); (d.Verdict == policy.Pass) != c.passes || d.Verdict == policy.Rewrite {
			t.Errorf("[%s] %s: %+v %v", c.commands, c.args, d, d.Err)
		}
	}
}

// A single word is a prompt, also for a Codex that has a command of this name.
func TestPromptOfOneWord(t *testing.T) {
	for args, want := range map[string]string{
		"hello": "-- hello", "-m gpt hello -C /x": "-m gpt -C /x -- hello", "-i a --strict-config hello -i b": "-i a --strict-config -i b -- hello", "-- hello": "-- hello",
		"new command": "-- new command", "new -- x": "-- new x", "-s danger-full-access new": "-- new",
	} {
		d := argsPolicy(t, `commands = ["*"]`).DecideArgs(strings.Fields(args), 0)
		if got := strings.Join(d.Args, " "); d.Err != nil || got != want {
			t.Errorf("%s: %q %v, want %q", args, got, d.Err, want)
		}
	}
	args := []string{"fix the test"}
	if d := argsPolicy(t, "").DecideArgs(args, 0); !slices.Equal(d.Args, args) {
		t.Errorf("%+v", d)
	}
}

// TestDefaultIsHarmless checks that the default of policy.commands covers the harmless commands, and nothing else.
func TestDefaultIsHarmless(t *testing.T) {
	cfg := config.Default().Policy
	cfg.Mode = config.Enforce
	p := compile(t, cfg)
	for _, row := range argv.Commands() {
		line := argv.Parse(strings.Fields(row.Name))
		passes := p.DecideArgs(strings.Fields(row.Name), 0).Verdict == policy.Pass
		want := row.Verdict == argv.Harmless || row.Verdict == argv.Bridged || line.Info
		if passes != want {
			t.Errorf("codex %s, %s: passes %v", row.Name, row.Verdict, passes)
		}
	}
	if open := p.OpenCommands(); open != nil {
		t.Errorf("%q", open)
	}
}

// TestOwnArgsPassUnchecked checks that codex.args pass, and can't take a client's argument as a
// value.
func TestOwnArgsPassUnchecked(t *testing.T) {
	p := argsPolicy(t, "")
	args := []string{"-c", "hooks.x=1", "--yolo", "-c", "features.hooks=false", "app-server"}
	d := p.DecideArgs(args, 3)
	if want := []string{"-c", "hooks.x=1", "--yolo", "app-server"}; !slices.Equal(d.Args, want) {
		t.Errorf("%+v", d)
	}
	if d := p.DecideArgs([]string{"-c", "hooks.x=1", "app-server"}, 1); d.Verdict != policy.Deny || d.Err.Rule != "codex.args" {
		t.Errorf("%+v", d)
	}
}

// TestArgsModes checks that off passes all arguments, and that audit decides as enforce does.
func TestArgsModes(t *testing.T) {
	args := []string{"--yolo", "-c", "notify=1", "app-server"}
	cfg := contract()
	cfg.Mode = config.Off
	if d := compile(t, cfg).DecideArgs(args, 0); d.Verdict != policy.Pass || !slices.Equal(d.Args, args) {
		t.Errorf("%+v", d)
	}
	cfg.Mode = config.Enforce
	enforced := compile(t, cfg).DecideArgs(args[1:], 0)
	cfg.Mode = config.Audit
	if diff := cmp.Diff(enforced, compile(t, cfg).DecideArgs(args[1:], 0)); diff != "" {
		t.Error(diff)
	}
}

// TestArgsProperty checks that the remaining arguments pass a second decision, are part of the
// original ones, and have no forbidden key.
func TestArgsProperty(t *testing.T) {
	p := argsPolicy(t, `commands = ["*"]`)
	word := rapid.SampledFrom([]string{
		"-c", "--config", "--enable", "--disable", "--config=hooks.x=1", "-cfeatures={hooks=false}", "-c=model=x", "hooks", "code_mode",
		"model=x", "projects={}", "a={", "--yolo", "-i", "-s", "danger-full-access", "-p", "x", "--", "--help", "-V", "exec", "mcp",
		"--listen", "stdio://", "off", "daemon", "generate-ts", "--code-mode-host", "", "-", "--new", "features.code_mode=true", "app-server",
	})
	rapid.Check(t, func(t *rapid.T) {
		args := rapid.SliceOfN(word, 0, 6).Draw(t, "args")
		if rapid.Bool().Draw(t, "proxy") {
			args = append(args, "app-server")
		}
		d := p.DecideArgs(args, 0)
		if d.Verdict == policy.Deny {
			if d.Err.Reason == "" || d.Err.Rule == "" || d.Err.Hint == "" || strings.Contains(d.Err.Error(), "\n") {
				t.Fatalf("%+v", d.Err)
			}
			return
		}
		if again := p.DecideArgs(d.Args, 0); again.Verdict != policy.Pass {
			t.Fatalf("%q: %q: %+v", args, d.Args, again)
		}
		line := argv.Parse(d.Args)
		if argv.Parse(args).Proxy != line.Proxy {
			t.Fatalf("%q: %q", args, d.Args)
		}
		if !line.Proxy {
			return
		}
		for _, item := range line.Items {
			if strings.Contains(item.Value, "hooks") || item.Name == "" || item.Value == "danger-full-access" && item.Name == "--sandbox" {
				t.Fatalf("%q: %q", args, d.Args)
			}
		}
	})
}

// TestCommandLayers checks that a later layer's commands are never more than the earlier one's.
func TestCommandLayers(t *testing.T) {
	dir := t.TempDir()
	managed, user := filepath.Join(dir, "managed"), filepath.Join(dir, "user")
	pattern := rapid.SampledFrom([]string{
		"*", "**", "* *", "* list", "mcp", "mcp *", "mcp list", "m*", "exec", "app-server", "app-server *", "app-server proxy", "a* proxy", "app-*",
		"remote-control", "r*", "remote-control start", "tui", "[a-z]*", "{mcp,exec}", "?*", "mcp other", "sandbox", "sandbox ls", "s* ls", "debug *",
	})
	lines := [][]string{
		{}, {"hello"}, {"exec", "x"}, {"mcp"}, {"mcp", "list"}, {"mcp", "add"}, {"app-server", "proxy"}, {"app-server", "daemon"},
		{"app-server", "--listen", "off"}, {"remote-control"}, {"remote-control", "start"}, {"stdio-to-uds", "/x"}, {"review"},
		{"mcp", "other"}, {"mcp", "other", "x"}, {"sandbox", "ls"}, {"sandbox", "rm"}, {"debug", "models"}, {"debug", "app-server", "send-message-v2", "x"},
	}
	rapid.Check(t, func(t *rapid.T) {
		load := func(files config.Options, file, glob string) *policy.Policy {
			text := "[policy]\nmode = \"enforce\"\ncommands = [\"" + glob + "\"]\n"
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			cfg, err := config.Load(files)
			if err != nil {
				return nil
			}
			return compile(t, cfg.Policy)
		}
		first := load(config.Options{Managed: managed}, managed, pattern.Draw(t, "earlier"))
		second := load(config.Options{Managed: managed, User: user}, user, pattern.Draw(t, "later"))
		if second == nil {
			return // it would loosen
		}
		for _, args := range lines {
			if second.DecideArgs(args, 0).Verdict == policy.Pass && first.DecideArgs(args, 0).Verdict != policy.Pass {
				t.Fatalf("%q passes only later", args)
			}
		}
	})
}

// TestOwnArgsCantEnablePinnedFeature checks codex.args, because --enable wins over -c.
func TestOwnArgsCantEnablePinnedFeature(t *testing.T) {
	args := []string{"--enable", "skill_mcp_dependency_install", "--enable=goals", "app-server"}
	d := argsPolicy(t, "").DecideArgs(args, 3)
	if d.Verdict != policy.Deny || d.Err.Rule != "codex.args" || !strings.Contains(d.Err.Argument, "skill_mcp_dependency_install") {
		t.Errorf("%+v", d)
	}
	for _, p := range []*policy.Policy{argsPolicy(t, `config_keys = ["features.skill_mcp_dependency_install"]`)} {
		if d := p.DecideArgs(args, 3); d.Verdict != policy.Pass {
			t.Errorf("%+v", d)
		}
	}
	if d := argsPolicy(t, "").DecideArgs(args[2:], 1); d.Verdict != policy.Pass {
		t.Errorf("%+v", d)
	}
}
