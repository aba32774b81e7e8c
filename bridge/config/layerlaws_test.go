package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
	compile "codex-bridge.example/bridge/policy"

	"pgregory.net/rapid"
)

// drawKeys are the keys of random files with their values. An element of a list is drawn from the values.
var drawKeys = []struct {
	key    string
	list   bool
	values []string
}{
	{"policy.mode", false, []string{"off", "audit", "enforce"}},
	{"policy.preset", false, []string{"yolo", "full", "guardian", "auto", "ask"}},
	{"policy.security", false, []string{"full", "allowlist", "deny"}},
	{"policy.ask", false, []string{"off", "on-miss", "always"}},
	{"policy.approval", true, []string{"untrusted", "on-request", "granular", "never"}},
	{"policy.sandbox", false, []string{"danger-full-access", "workspace-write", "read-only"}},
	{"policy.network", false, []string{"true", "false"}},
	{"policy.writable_roots", true, []string{"${workspace}", "${workspace}/a", "/srv", "/srv/a", "/srv/b", "~", "~/x"}},
	{"policy.reviewers", true, []string{"user", "auto_review", "guardian_subagent"}},
	{"policy.models", true, []string{"*", "gpt-5*", "gpt-5.5", "gpt-6", "**"}},
	{"policy.efforts", true, []string{"low", "medium", "high"}},
	{"policy.config_keys", true, []string{"**", "model", "features.*", "features.a", "model*"}},
	{"policy.commands", true, []string{"*", "login", "mcp list", "mcp *"}},
	{"policy.unknown_methods", false, []string{"allow", "deny"}},
	{"policy.gate", false, []string{"true", "false"}},
	{"policy.escalation", false, []string{"ask", "deny"}},
	{"policy.protected_paths", true, []string{".git", ".vscode", ".ci/a"}},
	{"policy.project_trust", false, []string{"codex", "user", "never"}},
	{"policy.methods.a/b", false, []string{"allow", "ask", "deny"}},
	{"policy.methods.bridge/acp/spawn", false, []string{"allow", "ask", "deny"}},
	{"approvals.remember", false, []string{"always", "session", "off"}},
	{"approvals.ttl", false, []string{"1h", "5m"}},
	{"approvals.max", false, []string{"5", "1000"}},
	{"approvals.timeout", false, []string{"1m", "10m"}},
	{"hooks.events", true, []string{"pre_tool_use", "post_tool_use", "stop", "permission_request"}},
	{"hooks.on_failure", false, []string{"allow", "deny"}},
	{"tool_limits.timeout", false, []string{"10s", "20s", "100s"}},
	{"tool_limits.max_timeout", false, []string{"10s", "30s", "1000s"}},
	{"tool_limits.max_text", false, []string{"10", "100000"}},
	{"tool_limits.loops", false, []string{"true", "false"}},
	{"steering.mode", false, []string{"steer", "queue"}},
	{"acp.enabled", false, []string{"true", "false"}},
	{"acp.allowed", true, []string{"one", "two"}},
	{"acp.default_agent", false, []string{"one", "two", "Two"}},
}

// drawFile draws the text of a file.
func drawFile(t *rapid.T, name string, trusted bool) string {
	sections := make(map[string]string)
	most := rapid.IntRange(1, 8).Draw(t, name+" one key of") // few keys, or many
	for _, k := range drawKeys {
		section, key, _ := strings.Cut(k.key, ".")
		if method, ok := strings.CutPrefix(key, "methods."); ok {
			section, key = "policy.methods", strconv.Quote(method)
		}
		if rapid.IntRange(0, most).Draw(t, name+" "+k.key) > 0 || !trusted && k.key == "acp.default_agent" {
			continue
		}
		value := ""
		switch {
		case k.list:
			var quoted []string
			for _, v := range rapid.SliceOfNDistinct(rapid.SampledFrom(k.values), 0, 3, rapid.ID).Draw(t, name+" values") {
				quoted = append(quoted, strconv.Quote(v))
			}
			value = "[" + strings.Join(quoted, ", ") + "]"
		default:
			value = rapid.SampledFrom(k.values).Draw(t, name+" value")
			if _, err := strconv.Atoi(value); err != nil && value != "true" && value != "false" {
				value = strconv.Quote(value)
			}
		}
		sections[section] += key + " = " + value + "\n"
	}
	if rapid.IntRange(0, 3).Draw(t, name+" has a section") == 0 && sections["policy"] == "" {
		sections["policy"] = "\n"
	}
	var b strings.Builder
	for _, section := range []string{"policy", "policy.methods", "approvals", "hooks", "tool_limits", "steering", "acp"} {
		if sections[section] != "" {
			b.WriteString("[" + section + "]\n" + sections[section])
		}
	}
	decisions := []string{"deny", "ask"}
	if trusted {
		decisions = append(decisions, "allow")
		for _, agent := range []string{"one", "two", "Two"} {
			if rapid.IntRange(0, 3).Draw(t, name+" agent") == 0 {
				b.WriteString("[acp.agents." + agent + "]\ncommand = [\"/bin/" + name + "\"]\n")
			}
		}
		if event := rapid.SampledFrom([]string{"", "", "stop", "permission_request"}).Draw(t, name+" handler"); event != "" {
			b.WriteString("[[hooks.handler]]\nevent = \"" + event + "\"\ncommand = [\"/bin/x\"]\n")
		}
	}
	for range rapid.IntRange(0, 2).Draw(t, name+" rules") {
		tool := rapid.SampledFrom([]string{"shell", "mcp", "Bash", "apply_patch"}).Draw(t, name+" tool") // no hook has the name Bash
		b.WriteString("[[policy.rule]]\ntool = \"" + tool + "\"\ndecision = \"" + rapid.SampledFrom(decisions).Draw(t, name+" decision") + "\"\n")
	}
	return b.String()
}

// checkPolicy is what the program checks beside Load. It does so whatever the mode, so that no other file can
// switch a policy on that is not valid.
func checkPolicy(cfg *config.Config) error {
	section := cfg.Policy
	section.Mode = config.Enforce
	_, err := compile.New(section, cfg.Place)
	return err
}

// Random files in all layers: their combination is no error, and what it allows no file forbids.
func TestLayersAreNeverLooserThanAFile(t *testing.T) {
	dir := t.TempDir()
	inner := filepath.Join(dir, "inner")
	if err := os.Mkdir(inner, 0o700); err != nil {
		t.Fatal(err)
	}
	bundle, bundleText, holder := filepath.Join(dir, "bundle"), "", ""
	all := config.Options{Bundle: func(from config.PolicySource) config.Bundle {
		return config.Bundle{Name: from.Root, Text: bundleText}
	}, Managed: filepath.Join(dir, "managed.toml"), User: filepath.Join(dir, "user.toml"), Workspace: inner, Home: "/home/someone", Check: checkPolicy}
	names := []string{bundle, all.Managed, all.User, filepath.Join(dir, config.WorkspaceFile), filepath.Join(inner, config.WorkspaceFile)}
	load := func(t *rapid.T, texts map[string]string) (*config.Config, error) {
		for _, name := range names[1:] {
			text, ok := texts[name]
			if inBundle, is := texts[bundle]; is && name == holder {
				ok, bundleText = true, inBundle
				text += fmt.Sprintf("[policy_source]\nurl = \"file:///x\"\nroot = %q\n", bundle)
			}
			if ok {
				if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			} else if err := os.Remove(name); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
		}
		return config.Load(all)
	}
	valid := 0
	rapid.Check(t, func(t *rapid.T) {
		texts, alone := make(map[string]string), make(map[string]*config.Config)
		holder = rapid.SampledFrom([]string{all.Managed, all.User}).Draw(t, "names the bundle")
		for i, name := range names {
			if rapid.IntRange(0, 3).Draw(t, "has file") == 0 {
				continue
			}
			text := drawFile(t, []string{"bundle", "managed", "user", "outer", "inner"}[i], i == 1 || i == 2)
			cfg, err := load(t, map[string]string{name: text})
			if err == nil {
				texts[name], alone[name] = text, cfg
				valid++
			}
		}
		joint, err := load(t, texts)
		if err != nil {
			t.Fatalf("valid files are an error together: %v\n%s", err, show(names, texts))
		}
		trusted := map[string]string{}
		for _, name := range names[:3] {
			if text, ok := texts[name]; ok {
				trusted[name] = text
			}
		}
		for i, name := range names {
			if alone[name] == nil {
				continue
			}
			own, sets := alone[name], func(key string) bool { _, ok := alone[name].Origin(key); return ok }
			isRule := func(r config.Rule) bool { return r.Origin.File == name }
			if i >= 3 { // with the defaults that bind it
				trusted[name] = texts[name]
				if own, err = load(t, trusted); err != nil {
					t.Fatal(err)
				}
				delete(trusted, name)
				if own.Policy.Mode != config.Off {
					sets = func(string) bool { return true }
				}
			}
			for key, values := range looser(own, joint) {
				if sets(key) || key == "policy.mode" {
					t.Fatalf("%s of %s: %s\n%s", key, name, values, show(names, texts))
				}
			}
			var kept, has []config.Rule
			for _, group := range joint.Policy.RuleLayers() {
				if isRule(group[0]) {
					kept = group
				}
			}
			for _, r := range own.Policy.Rules {
				if isRule(r) {
					has = append(has, r)
				}
			}
			if !slices.Equal(kept, has) {
				t.Fatalf("the rules of %s are %v, of %v", name, kept, has)
			}
		}
		if n := joint.Unenforced(); joint.Policy.Mode == config.Enforce && len(n) > 0 {
			t.Fatalf("%v has no effect\n%s", n, show(names, texts))
		}
	})
	if valid == 0 {
		t.Error("no random file was valid")
	}
}

func show(names []string, texts map[string]string) string {
	var b strings.Builder
	for _, name := range names {
		if text, ok := texts[name]; ok {
			fmt.Fprintf(&b, "# %s\n%s", name, text)
		}
	}
	return b.String()
}

// looser returns the keys with which a configuration allows more than another one. Each comparison is by what
// the values let a client do, and not by the orders of the layers.
func looser(own, joint *config.Config) map[string]string {
	found := make(map[string]string)
	rank := func(key, own, joint string, strictFirst ...string) {
		if slices.Index(strictFirst, joint) > slices.Index(strictFirst, own) {
			found[key] = fmt.Sprintf("%s, and %s alone", joint, own)
		}
	}
	most := func(key string, own, joint int64) {
		if joint > own {
			found[key] = fmt.Sprintf("%d, and %d alone", joint, own)
		}
	}
	on := func(key string, own, joint, loose bool) {
		if joint == loose && own != loose {
			found[key] = fmt.Sprint(joint)
		}
	}
	a, b := own.Policy, joint.Policy
	rank("policy.mode", string(a.Mode), string(b.Mode), "enforce", "audit", "off")
	rank("policy.sandbox", a.Sandbox, b.Sandbox, "read-only", "workspace-write", "danger-full-access")
	on("policy.network", a.Network, b.Network, true)
	rank("policy.unknown_methods", a.UnknownMethods, b.UnknownMethods, "deny", "allow")
	on("policy.gate", a.Gate, b.Gate, false)
	rank("policy.escalation", a.Escalation, b.Escalation, "deny", "ask")
	rank("policy.project_trust", a.ProjectTrust, b.ProjectTrust, "never", "user", "codex")
	for method, verdict := range a.Methods {
		rank(config.Key("policy", "methods", method), verdict, b.Methods[method], "deny", "ask", "allow", "")
	}
	// A client gets the value that it asks for, or else the first of the list.
	gets := func(list []string, value string) string {
		if slices.Contains(list, value) {
			return value
		}
		return list[0]
	}
	for _, asked := range []string{"untrusted", "on-request", "granular", "never"} {
		rank("policy.approval", gets(a.Approval, asked), gets(b.Approval, asked), "untrusted", "on-request", "granular", "never")
	}
	plain := func(list []string) (names []string) {
		for _, s := range list {
			names = append(names, strings.Replace(s, "guardian_subagent", "auto_review", 1))
		}
		return names
	}
	for _, asked := range []string{"user", "auto_review"} {
		rank("policy.reviewers", gets(plain(a.Reviewers), asked), gets(plain(b.Reviewers), asked), "user", "auto_review")
	}
	allows := func(list []string, name string) bool {
		return list == nil || slices.ContainsFunc(list, func(glob string) bool { return config.Match(glob, name) })
	}
	for _, probe := range []struct {
		key    string
		own    []string
		joint  []string
		allows func(list []string, probe string) bool
		probes []string
	}{
		{"policy.models", a.Models, b.Models, allows, []string{"gpt-5", "gpt-5.5", "gpt-6", "other", "vendor/x"}},
		{"policy.efforts", a.Efforts, b.Efforts, allows, []string{"low", "medium", "high"}},
		{"acp.allowed", own.ACP.Allowed, joint.ACP.Allowed, allows, []string{"one", "two"}},
		{"policy.config_keys", a.ConfigKeys, b.ConfigKeys, func(list []string, key string) bool { return config.CoversKeys(list, []string{key}) },
			[]string{"model", "models", "features.a", "features.a.b", "features.b", "hooks"}},
		{"policy.commands", a.Commands, b.Commands, func(list []string, command string) bool {
			return slices.ContainsFunc(list, func(glob string) bool { return config.NarrowerCommands(glob, command) })
		}, []string{"login", "mcp list", "mcp add", "exec"}},
		{"policy.writable_roots", a.WritableRoots, b.WritableRoots, func(list []string, path string) bool {
			return slices.ContainsFunc(list, func(root string) bool { return path == root || strings.HasPrefix(path, root+"/") })
		}, []string{"${workspace}", "${workspace}/a", "/srv", "/srv/a", "/srv/b", "/home/someone", "/home/someone/x"}},
		{"policy.protected_paths", a.ProtectedPaths, b.ProtectedPaths, func(list []string, path string) bool { return !slices.Contains(list, path) },
			[]string{".git", ".codex", ".agents", ".vscode", ".ci/a"}},
		{"hooks.events", own.Hooks.Events, joint.Hooks.Events, func(list []string, event string) bool { return !slices.Contains(list, event) },
			[]string{"pre_tool_use", "post_tool_use", "stop", "permission_request"}},
	} {
		for _, p := range probe.probes {
			if probe.allows(probe.joint, p) && !probe.allows(probe.own, p) {
				found[probe.key] = fmt.Sprintf("%v allows %s, and %v alone does not", probe.joint, p, probe.own)
			}
		}
	}
	rank("approvals.remember", own.Approvals.Remember, joint.Approvals.Remember, "off", "session", "always")
	most("approvals.ttl", int64(own.Approvals.TTL), int64(joint.Approvals.TTL))
	most("approvals.max", int64(own.Approvals.Max), int64(joint.Approvals.Max))
	most("approvals.timeout", int64(own.Approvals.Timeout), int64(joint.Approvals.Timeout))
	rank("hooks.on_failure", own.Hooks.OnFailure, joint.Hooks.OnFailure, "deny", "allow")
	most("tool_limits.timeout", int64(own.ToolLimits.Timeout), int64(joint.ToolLimits.Timeout))
	most("tool_limits.max_timeout", int64(own.ToolLimits.MaxTimeout), int64(joint.ToolLimits.MaxTimeout))
	most("tool_limits.max_text", int64(own.ToolLimits.MaxText), int64(joint.ToolLimits.MaxText))
	on("tool_limits.loops", own.ToolLimits.Loops, joint.ToolLimits.Loops, false)
	on("acp.enabled", own.ACP.Enabled, joint.ACP.Enabled, true)
	return found
}
