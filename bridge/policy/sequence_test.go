package policy_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/reported"
	"codex-bridge.example/rpc"
)

// model simulates Codex's threads: it applies all settings that it gets, without a policy.
type model struct {
	threads map[string]*effective
	opened  int
}

// effective has the settings of a thread.
type effective struct {
	approval, reviewer string
	sandbox            map[string]any // sandboxPolicy
	cwd                string
}

// apply applies a message as Codex does. It returns the id of a thread that the message opens.
func (c *model) apply(method string, p map[string]any, st policy.State) string {
	id, _ := p["threadId"].(string)
	t := c.threads[id]
	switch method {
	case "thread/start", "thread/fork":
		c.opened++
		id = fmt.Sprintf("N%d", c.opened)
		t = &effective{approval: "untrusted", reviewer: "user", sandbox: map[string]any{"type": "readOnly"}, cwd: st.StartFolder}
		if from := c.threads[fmt.Sprint(p["threadId"])]; from != nil {
			*t = *from
		}
		c.threads[id] = t
	case "thread/resume":
		if t == nil {
			return ""
		}
	case "turn/start", "thread/settings/update", "turn/settings/update":
		if t != nil {
			t.take(p, st)
		}
		return ""
	default:
		return ""
	}
	t.take(p, st)
	return id
}

// take reads fields as leniently as Codex does.
func (t *effective) take(p map[string]any, st policy.State) {
	if v := p["approvalPolicy"]; v != nil {
		if t.approval = enum(v); isReduced(v) {
			t.approval = "reduced"
		}
	}
	if v := p["approvalsReviewer"]; v != nil {
		t.reviewer = strings.Replace(enum(v), "guardian_subagent", "auto_review", 1)
	}
	names := map[int]string{0: "readOnly", 1: "workspaceWrite", 2: "dangerFullAccess"}
	for _, field := range []string{"sandbox", "permissions"} {
		if v := p[field]; v != nil {
			t.sandbox = map[string]any{"type": names[levels[enum(v)]]}
		}
	}
	if v := p["sandboxPolicy"]; v != nil {
		t.sandbox = map[string]any{"type": enum(v)}
		if o, ok := v.(map[string]any); ok {
			t.sandbox = o
		}
	}
	if cwd, ok := p["cwd"].(string); ok {
		t.cwd = cwd
	}
	if list, ok := p["environments"].([]any); ok && len(list) > 0 {
		if e, ok := list[0].(map[string]any); ok {
			if cwd, ok := e["cwd"].(string); ok {
				t.cwd = cwd
			}
		}
	}
}

// unsafe returns where the settings exceed the policy.
func (t *effective) unsafe(cfg config.Policy) string {
	kind := enum(t.sandbox)
	switch {
	case !allowsApproval(cfg, t.approval):
		return "approval " + t.approval
	case t.reviewer != "user" && !slices.Contains(cfg.Reviewers, t.reviewer):
		return "reviewer " + t.reviewer
	case levels[kind] > levels[cfg.Sandbox]:
		return "sandbox " + kind
	case !cfg.Network && kind != "dangerFullAccess" && (t.sandbox["networkAccess"] == true || t.sandbox["networkAccess"] == "enabled"):
		return "network"
	}
	return ""
}

// beside returns where a message without a thread requests more than the policy allows. It shares
// no code with the package.
func beside(cfg config.Policy, st policy.State, method string, p map[string]any) string {
	readable := func(v any) bool {
		text, _ := v.(string)
		at, err := disk.Canonical(text)
		if err != nil || at != text {
			return false
		}
		var roots []string
		for _, w := range append(slices.Clone(st.Workspaces), st.StartFolder) {
			if !noWorkspace(st, w) {
				roots = append(roots, w)
			}
		}
		for _, r := range append(roots, cfg.WritableRoots...) {
			if at == r || strings.HasPrefix(at, r+"/") {
				return true
			}
		}
		return false
	}
	switch method {
	case "fs/readFile", "fs/getMetadata", "fs/readDirectory", "fs/watch":
		if !readable(p["path"]) {
			return fmt.Sprintf("reads %v", p["path"])
		}
	case "fuzzyFileSearch", "fuzzyFileSearch/sessionStart":
		roots, _ := p["roots"].([]any)
		for _, r := range roots {
			if !readable(r) {
				return fmt.Sprintf("searches %v", r)
			}
		}
	case "command/exec":
		s, _ := p["sandboxPolicy"].(map[string]any)
		env, _ := p["env"].(map[string]any)
		switch {
		case s == nil || p["permissionProfile"] != nil:
			return fmt.Sprintf("runs in %v", p)
		case levels[enum(s)] > levels[cfg.Sandbox]:
			return "runs in " + enum(s)
		case !cfg.Network && enum(s) != "dangerFullAccess" && s["networkAccess"] != nil && s["networkAccess"] != false && s["networkAccess"] != "restricted":
			return "runs with the network"
		case enum(s) == "workspaceWrite" && execWrites(cfg, st, s) != "":
			return "may write " + execWrites(cfg, st, s)
		case p["cwd"] != nil && !readable(p["cwd"]):
			return fmt.Sprintf("runs in %v", p["cwd"])
		case cfg.Sandbox != "danger-full-access" && env["PATH"] != nil, cfg.Sandbox != "danger-full-access" && p["env"] != nil && env == nil:
			return fmt.Sprintf("runs with %v", p["env"])
		}
	case "account/login/start":
		if kind := enum(p["type"]); strings.Contains(kind, "Bedrock") {
			return "signs in by " + kind
		}
	case "review/start":
		if p["delivery"] != nil && p["delivery"] != "inline" {
			return "reviews elsewhere"
		}
		if slices.Equal(cfg.Approval, []string{"untrusted"}) {
			return "reviews, and runs commands unasked"
		}
	case "thread/realtime/start":
		if p["initialItems"] != nil {
			return "invents a past"
		}
	}
	return ""
}

// execWrites returns a forbidden folder that command/exec may write: a named one, or Codex's start
// folder (measured).
func execWrites(cfg config.Policy, st policy.State, sandbox map[string]any) string {
	roots, _ := sandbox["writableRoots"].([]any)
	o := oracle{cfg: cfg, st: st, workspace: st.StartFolder}
	for _, r := range append(roots, st.StartFolder) {
		if text, ok := r.(string); !ok || !o.writable(text) {
			return fmt.Sprint(r)
		}
	}
	return ""
}

// more are values for members that pieces does not have.
var more = map[string][]string{
	"command":           {`["ls"]`, `"ls"`, `[]`},
	"permissionProfile": {`":danger-full-access"`, `":workspace"`, `"dev"`, `null`, `{":danger-full-access":null}`},
	"env":               {`{}`, `null`, `{"PATH":"/mine"}`, `{"TERM":"x"}`, `[["PATH","/mine"]]`, `{"LD_PRELOAD":"/x","TERM":null}`},
	"path":              {`"/code/proj/a"`, `"/etc/passwd"`, `"/code/proj/out/passwd"`, `"/code/proj/in/a"`, `"a"`, `null`, `["/etc"]`, `"/home/ada/.codex/auth.json"`, `"/code/proj/../../etc"`},
	"roots":             {`["/code/proj"]`, `["/"]`, `["/code/proj/out","/code/proj/sub"]`, `[]`, `"/"`, `[["/"]]`},
	"type":              {`"apiKey"`, `"amazonBedrock"`, `{"amazonBedrock":null}`, `["amazonBedrockAccessKeys"]`},
	"delivery":          {`"inline"`, `"detached"`, `null`, `{"detached":null}`},
	"initialItems":      {`[]`, `null`, `[{"role":"developer","text":"x"}]`},
}

var clientMethods = sync.OnceValues(func() ([]string, map[string][]string) {
	text, err := os.ReadFile("../methods/schema.json")
	if err != nil {
		panic(err)
	}
	var schema struct {
		Methods map[string]map[string]struct{ Params, ExperimentalParams []string }
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		panic(err)
	}
	var names []string
	members := make(map[string][]string)
	for row := range methods.Rows() {
		if row.Side.IsFromClient() {
			shape := schema.Methods[row.Side.String()][row.Method]
			names = append(names, row.Method)
			members[row.Method] = slices.Concat(shape.Params, shape.ExperimentalParams)
		}
	}
	return names, members
})

// drawCall draws a message of any method with members of this and other methods, and nonsense.
func drawCall(t *rapid.T) string {
	names, members := clientMethods()
	method := rapid.SampledFrom(names).Draw(t, "method")
	switch rapid.IntRange(0, 9).Draw(t, "kind") {
	case 0:
		method = rapid.SampledFrom([]string{"thread/rollback", "Thread/Start", "turn/start ", "item/tool/call", "thread/started", "", "bridge/turn/run", "x"}).Draw(t, "unknown")
	case 1, 2, 3:
		method = rapid.SampledFrom(sixMethods).Draw(t, "of six")
	}
	own := append(slices.Clone(members[method]), sorted(pieceNames())...)
	var list []string
	seen := map[string]bool{}
	if rapid.IntRange(0, 3).Draw(t, "named") > 0 {
		list = append(list, `"threadId":"`+rapid.SampledFrom([]string{"T", "N1", "N2", "U"}).Draw(t, "thread")+`"`)
		seen["threadId"] = true
	}
	for range rapid.IntRange(0, 6).Draw(t, "members") {
		name := rapid.SampledFrom(own).Draw(t, "member")
		if seen[name] {
			continue
		}
		seen[name] = true
		values := slices.Concat(more[name], pieces[name])
		value := ""
		switch {
		case name == "config":
			value = drawOverlay(t, 1)
		case len(values) > 0:
			value = rapid.SampledFrom(values).Draw(t, name)
		default:
			value = rapid.SampledFrom([]string{`null`, `""`, `"x"`, `0`, `[]`, `{}`, `true`, `{"x":[1]}`}).Draw(t, name)
		}
		list = append(list, fmt.Sprintf("%q:%s", name, value))
	}
	id := `"id":1,`
	if rapid.IntRange(0, 9).Draw(t, "notification") == 0 {
		id = ""
	}
	return fmt.Sprintf(`{%s"method":%q,"params":{%s}}`, id, method, strings.Join(list, ","))
}

func pieceNames() []string {
	names := []string{"config"}
	for name := range pieces {
		names = append(names, name)
	}
	for name := range more {
		if pieces[name] == nil {
			names = append(names, name)
		}
	}
	return names
}

// TestSequences plays random conversations of all methods against a model that obeys every message.
// No refused method reaches Codex, no turn runs in an unverified thread, and no thread exceeds the
// policy.
func TestSequences(t *testing.T) {
	names, _ := clientMethods()
	var mu sync.Mutex
	met := make(map[string]bool)
	rapid.Check(t, func(t *rapid.T) {
		cfg, st := drawPolicy(t), drawState(t)
		overrides := map[string]string{}
		for range rapid.IntRange(0, 2).Draw(t, "overrides") {
			overrides[rapid.SampledFrom(names).Draw(t, "overridden")] = rapid.SampledFrom([]string{"allow", "deny", "ask"}).Draw(t, "to")
		}
		cfg.Methods = overrides
		p := compile(t, cfg)
		// Another client opened T with full access, and the bridge has not verified it.
		codex := &model{threads: map[string]*effective{"T": {
			approval: "never", reviewer: "auto_review", sandbox: map[string]any{"type": "dangerFullAccess"}, cwd: "/",
		}}}
		verified := map[string]*policy.Thread{}
		for range rapid.IntRange(1, 12).Draw(t, "length") {
			line := drawCall(t)
			m, err := rpc.ParseMessage([]byte(line))
			if err != nil {
				t.Fatal(err)
			}
			mu.Lock()
			met[m.Method] = true
			mu.Unlock()
			st.Thread, st.Workspaces = nil, nil
			if id, ok := m.Params.Get("threadId").Text(); ok {
				st.Thread = verified[id]
			}
			for _, one := range verified {
				st.Workspaces = append(st.Workspaces, one.Workspace)
			}
			d := p.Decide(m, st)
			if d.Want == policy.WantConfiguration && d.ConfigCwd != "" {
				st.Defaults.Cwd = d.ConfigCwd
				d = p.Decide(m, st)
			}
			if d.Verdict == policy.Deny {
				continue
			}
			row, known := methods.Lookup(methods.ClientRequest, m.Method)
			if !known {
				row, known = methods.Lookup(methods.ClientNotification, m.Method)
			}
			override := overrides[m.Method]
			switch verdict := row.Override(override); {
			case !known && cfg.UnknownMethods != "allow" && override != "allow":
				t.Fatalf("an unknown method passed: %s", line)
			case known && (verdict == methods.Deny || verdict == methods.Ask), override == "deny", override == "ask":
				t.Fatalf("a refused method passed: %s", line)
			case verdict == methods.Gate && st.Thread == nil:
				t.Fatalf("nobody has verified the thread of %s", line)
			}
			var said struct{ Params map[string]any }
			if err := json.Unmarshal(d.Message, &said); err != nil {
				t.Fatal(err)
			}
			if bad := beside(cfg, st, m.Method, said.Params); bad != "" {
				t.Fatalf("%s\n%s\n%s", bad, line, d.Message)
			}
			if slices.Contains(sixMethods, m.Method) {
				if bad := exceeds(cfg, st, d.Message); len(bad) > 0 {
					t.Fatalf("%v\n%s\n%s", bad, line, d.Message)
				}
			}
			if m.Kind != rpc.Request {
				continue // codex drops it
			}
			if id := codex.apply(m.Method, said.Params, st); id != "" {
				verify(t, p, codex.threads[id], id, d.Sent, st, verified)
			}
			for id := range verified {
				if bad := codex.threads[id].unsafe(cfg); bad != "" {
					t.Fatalf("thread %s: %s is in force after\n%s\n%s", id, bad, line, d.Message)
				}
			}
		}
	})
	// As many as CI plays are enough to meet every method of the table.
	if checks, err := strconv.Atoi(flag.Lookup("rapid.checks").Value.String()); err != nil || checks < 20000 {
		return
	}
	for _, name := range names {
		if !met[name] {
			t.Errorf("no conversation has had %s", name)
		}
	}
}

// verify verifies Codex's response as the guard does.
func verify(t *rapid.T, p *policy.Policy, is *effective, id string, sent *policy.SentSettings, st policy.State, verified map[string]*policy.Thread) {
	delete(verified, id)
	approval := json.RawMessage(`"` + is.approval + `"`)
	switch is.approval {
	case "reduced":
		approval = json.RawMessage(`{"granular":{"sandbox_approval":false,"rules":false,"skill_approval":false,"request_permissions":false,"mcp_elicitations":false}}`)
	case "granular":
		approval = json.RawMessage(`{"granular":{"sandbox_approval":true,"rules":true,"mcp_elicitations":true}}`)
	}
	result, err := json.Marshal(map[string]any{
		"thread": map[string]string{"id": id}, "approvalPolicy": approval, "approvalsReviewer": is.reviewer, "sandbox": is.sandbox,
		"activePermissionProfile": nil, "cwd": is.cwd, "model": "gpt-5.5",
	})
	if err != nil {
		t.Fatal(err)
	}
	doc, err := rpc.ParseValue(result)
	if err != nil {
		t.Fatal(err)
	}
	if reported.Verify(p, sent, doc.Root(), st) != nil {
		return
	}
	thread, err := policy.NewThread(sent, doc.Root(), st)
	if err == nil {
		verified[id] = thread
	}
}
