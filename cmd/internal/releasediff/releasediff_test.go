package releasediff

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"codex-bridge.example/bridge/codex/release"
	"codex-bridge.example/bridge/methods"
)

const repository = "../../.."

// releases returns the tested release twice.
func releases(t *testing.T) (tested, other *release.Release) {
	t.Helper()
	var err error
	if tested, err = release.Tested(); err != nil {
		t.Fatal(err)
	}
	if other, err = release.Tested(); err != nil {
		t.Fatal(err)
	}
	return tested, other
}

func side(s methods.Side) *methods.Side { return &s }

// Each kind of a name is compared, and a new name has a proposal from the most similar one.
func TestCompare(t *testing.T) {
	tested, other := releases(t)
	changes, err := Compare(tested, other)
	if err != nil || len(changes) != 0 {
		t.Errorf("the same release: %v, %v", changes, err)
	}
	request := side(methods.ClientRequest)
	requests := other.Methods[methods.ClientRequest]
	requests["thread/shellCommandBatch"] = release.MethodShape{}
	requests["config/value/writeAll"] = release.MethodShape{}
	requests["tasks/config/write"] = release.MethodShape{}
	requests["zebra/list"] = release.MethodShape{}
	delete(requests, "thread/goal/clear")
	one := requests["turn/start"]
	one.Params = append(slices.Clone(one.Params[1:]), "newThing", "sandbox")
	requests["turn/start"] = one
	one = requests["model/list"]
	one.Experimental = true
	requests["model/list"] = one
	other.Methods[methods.ServerNotification]["thread/newNotice"] = release.MethodShape{}
	answer := other.Methods[methods.ServerRequest]["item/permissions/requestApproval"]
	answer.Answer = append(slices.Clone(answer.Answer), "grantScope")
	other.Methods[methods.ServerRequest]["item/permissions/requestApproval"] = answer
	add := func(lists map[string][]string, name, entry string) {
		lists[name] = append(slices.Clone(lists[name]), entry)
	}
	add(other.Types, "SandboxPolicy", "writableFiles")
	other.Types["NewType"] = []string{"a"}
	add(other.Enums, "SandboxMode", "workspace-read")
	add(other.Enums, "ThreadItem.type", "webFetch")
	add(other.Enums, release.HookEvents, "postToolUseFailure")
	delete(other.Enums, "SortDirection")
	add(other.Requirements, "ConfigRequirements", "allowedSandboxModesByHost")
	add(other.Flags, "codex", "--remote-control-token=")
	other.Commands = append(slices.Clone(other.Commands[1:]), "debug app-server send-message-v3")
	add(other.Flags, "codex app-server", "--ws-origin=")
	other.ConfigKeys = append(slices.Clone(other.ConfigKeys[1:]), "openai_realtime_base_url", "sandbox_workspace_write.writable_files")
	add(other.Sent, "ThreadItem plan", "steps")
	other.Sent["NewResponse"] = []string{"a"}
	delete(other.Sent, "ThreadItem reasoning")
	add(other.CommandFlags, "sandbox", "--zebra")
	add(other.CommandFlags, "new-command", "--all") // the command is new
	other.DefaultModel = "gpt-9"
	other.Models["gpt-9"], other.Models["gpt-5.5"] = "low of low high", "low of low"
	add(other.Tools[release.DefaultModel], "functions/exec/exec_command", "network")
	other.Tools[release.DirectModel]["view_image_async"] = []string{"path"}
	delete(other.Tools[release.DirectModel], "view_image")
	other.Features["shell_tool_v2"], other.Features["old_thing"] = "stable true", "removed false"
	other.Features["memories"] = "stable true"
	delete(other.Features, "personality")

	deny, configuration := string(methods.Deny), methods.Configuration
	want := []Change{
		{Change: "new method", Kind: Method, Side: request, Method: "config/value/writeAll", Like: "config/value/write", Class: configuration, Verdict: "rewrite", Place: tableFile},
		{Change: "changed method", Kind: Method, Side: request, Method: "model/list", Was: "stable", Is: "experimental"},
		{Change: "new method", Kind: Method, Side: request, Method: "tasks/config/write", Like: "skills/config/write", Class: configuration, Verdict: deny, Place: tableFile},
		{Change: "gone method", Kind: Method, Side: request, Method: "thread/goal/clear"},
		{Change: "new method", Kind: Method, Side: request, Method: "thread/shellCommandBatch", Like: "thread/shellCommand", Class: methods.Execute, Verdict: deny, Place: tableFile},
		{Change: "new field", Kind: Field, Side: request, Method: "turn/start", Field: "newThing", Verdict: "not judged", Place: fieldsFile},
		{Change: "new field", Kind: Field, Side: request, Method: "turn/start", Field: "sandbox", Like: "thread/fork sandbox", Verdict: "checked", Place: fieldsFile},
		{Change: "gone field", Kind: Field, Side: request, Method: "turn/start", Field: tested.Methods[methods.ClientRequest]["turn/start"].Params[0]},
		{Change: "new method", Kind: Method, Side: request, Method: "zebra/list", Class: methods.Execute, Verdict: deny, Place: tableFile},
		{Change: "new response field", Kind: ResponseField, Side: side(methods.ServerRequest), Method: "item/permissions/requestApproval", Field: "grantScope", Like: "item/permissions/requestApproval scope", Verdict: "checked", Place: fieldsFile},
		{Change: "new method", Kind: Method, Side: side(methods.ServerNotification), Method: "thread/newNotice", Verdict: "pass", Place: tableFile},
		{Change: "new type", Kind: Type, Name: "NewType", Place: schemaFile},
		{Change: "new field", Kind: Field, Type: "SandboxPolicy", Field: "writableFiles", Like: "writableRoots", Verdict: "not judged", Place: "bridge/policy"},
		{Change: "new hook event", Kind: HookEvent, Name: "postToolUseFailure", Like: "postToolUse", Verdict: "relayed", Place: hooksFile},
		{Change: "new enum value", Kind: EnumValue, Type: "SandboxMode", Name: "workspace-read", Like: "workspace-write", Verdict: "judged", Place: valuesFile},
		{Change: "gone type", Kind: Type, Name: "SortDirection"},
		{Change: "new enum value", Kind: EnumValue, Type: "ThreadItem.type", Name: "webFetch", Like: "webSearch", Verdict: "not judged", Place: schemaFile},
		{Change: "new requirement field", Kind: RequirementField, Type: "ConfigRequirements", Name: "allowedSandboxModesByHost", Like: "allowedSandboxModes", Verdict: "read", Place: needsFile},
		{Change: "new sent type", Kind: SentType, Name: "NewResponse"},
		{Change: "new sent field", Kind: SentField, Type: "ThreadItem plan", Field: "steps"},
		{Change: "gone sent type", Kind: SentType, Name: "ThreadItem reasoning"},
		{Change: "changed feature", Kind: Feature, Name: "memories", Was: "stable false", Is: "stable true", Verdict: "user", Place: featuresFile},
		{Change: "new feature", Kind: Feature, Name: "old_thing", Is: "removed false", Verdict: "none", Place: featuresFile},
		{Change: "gone feature", Kind: Feature, Name: "personality", Was: tested.Features["personality"]},
		{Change: "new feature", Kind: Feature, Name: "shell_tool_v2", Is: "stable true", Like: "shell_tool", Verdict: "judged", Place: featuresFile},
		{Change: "new command", Kind: Command, Name: "debug app-server send-message-v3", Like: "debug app-server send-message-v2", Verdict: "refused", Place: commandsFile},
		{Change: "gone command", Kind: Command, Name: "agents"},
		{Change: "new flag", Kind: Flag, Command: "codex", Name: "--remote-control-token=", Like: "--remote-auth-token-env=", Verdict: "refused", Place: flagsFile},
		{Change: "new flag", Kind: Flag, Command: "codex app-server", Name: "--ws-origin=", Like: "--ws-audience=", Verdict: "pass", Place: flagsFile},
		{Change: "new command flag", Kind: CommandFlag, Command: "sandbox", Name: "--zebra", Place: commandsFile},
		{Change: "new config key", Kind: ConfigKey, Name: "openai_realtime_base_url", Like: "openai_base_url", Verdict: "refused", Place: keysFile},
		{Change: "new config key", Kind: ConfigKey, Name: "sandbox_workspace_write.writable_files", Like: "sandbox_workspace_write.writable_roots", Verdict: "refused", Place: keysFile},
		{Change: "gone config key", Kind: ConfigKey, Name: tested.ConfigKeys[0]},
		{Change: "changed default model", Kind: DefaultModel, Was: tested.DefaultModel, Is: "gpt-9"},
		{Change: "changed model", Kind: Model, Name: "gpt-5.5", Was: tested.Models["gpt-5.5"], Is: "low of low"},
		{Change: "new model", Kind: Model, Name: "gpt-9", Is: "low of low high"},
		{Change: "new tool parameter", Kind: ToolParameter, Model: release.DefaultModel, Tool: "functions/exec/exec_command", Name: "network"},
		{Change: "gone tool", Kind: Tool, Model: release.DirectModel, Name: "view_image"},
		{Change: "new tool", Kind: Tool, Model: release.DirectModel, Name: "view_image_async", Like: "view_image"},
	}
	got, err := Compare(tested, other)
	if err != nil {
		t.Fatal(err)
	}
	for i := range got { // all notifications pass, so which is like another does not matter
		if got[i].Method == "thread/newNotice" {
			got[i].Like, got[i].Class = "", ""
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A part that one release lacks because it could not be read is not compared.
func TestCompareSkipsUnreadParts(t *testing.T) {
	tested, other := releases(t)
	*other = release.Release{Version: other.Version, Unread: make(map[release.Part]string)}
	for _, part := range release.Parts() {
		other.Unread[part] = "no " + string(part)
	}
	changes, err := Compare(tested, other)
	if err != nil || len(changes) != 0 {
		t.Errorf("%v, %v", changes, err)
	}
	patch, err := Patch(tested, other, changes)
	if err != nil || strings.Contains(string(patch), "\n@@") {
		t.Errorf("%v, %s", err, patch)
	}
	unread := Unread(other)
	if len(unread) != len(release.Parts()) {
		t.Errorf("unread: %v", unread)
	}
	text, err := json.Marshal(unread[0])
	if want := `{"change":"not compared","name":"methods","why":"no methods"}`; err != nil || string(text) != want {
		t.Errorf("%s, %v, want %s", text, err, want)
	}
}

func TestSummary(t *testing.T) {
	if got := Summary(nil); got != "no difference" {
		t.Error(got)
	}
	got := Summary([]Change{{Change: "new method"}, {Change: "gone flag"}, {Change: "new method"}})
	if want := "2 new methods, 1 gone flag"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestChangeLine(t *testing.T) {
	for want, c := range map[string]Change{
		"new method             client request  a/b  (proposal: deny, execute, like a/c)": {
			Change: "new method", Side: side(methods.ClientRequest), Method: "a/b", Class: methods.Execute, Verdict: "deny", Like: "a/c",
		},
		"new feature            x: stable true  (proposal: user)":                       {Change: "new feature", Name: "x", Is: "stable true", Verdict: "user"},
		"changed feature        x: stable true, was removed false":                      {Change: "changed feature", Name: "x", Was: "removed false", Is: "stable true"},
		"changed default model: b, was a":                                               {Change: "changed default model", Was: "a", Is: "b"},
		"new tool parameter     default model  exec  cmd":                               {Change: "new tool parameter", Model: release.DefaultModel, Tool: "exec", Name: "cmd"},
		"new command flag       sandbox  --x  (proposal: like --y)":                     {Change: "new command flag", Command: "sandbox", Name: "--x", Like: "--y"},
		"gone enum value        A  b":                                                   {Change: "gone enum value", Type: "A", Name: "b"},
		"new requirement field  A  b  (proposal: not read)":                             {Change: "new requirement field", Type: "A", Name: "b", Verdict: "not read"},
		"new flag               codex app-server  --x=  (proposal: refused, like --y=)": {Change: "new flag", Command: "codex app-server", Name: "--x=", Verdict: "refused", Like: "--y="},
	} {
		if got := c.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// The JSON of a change has no empty members.
func TestChangeJSON(t *testing.T) {
	got, err := json.Marshal(Change{Change: "new field", Side: side(methods.ClientRequest), Method: "a/b", Field: "c"})
	if want := `{"change":"new field","side":"client request","method":"a/b","field":"c"}`; err != nil || string(got) != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
}

// Git applies the patch, and a second comparison with the patched files finds nothing.
func TestPatchApplies(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	tested, other := releases(t)
	other.Version = "0.999.0"
	requests := other.Methods[methods.ClientRequest]
	requests["config/value/writeAll"] = release.MethodShape{Params: []string{"keyPath", "values"}}
	requests["account/zz/read"] = release.MethodShape{Params: []string{}}
	requests["account/zy/read"] = release.MethodShape{Params: []string{}}
	for name, field := range map[string]string{"thread/start": "bzebra", "thread/resume": "zebra"} {
		shape := requests[name]
		shape.Params = slices.Sorted(slices.Values(append(slices.Clone(shape.Params), field)))
		requests[name] = shape
	}
	for name, field := range map[string]string{"thread/start": "bzebra", "thread/resume": "zebra"} {
		shape := requests[name]
		shape.Params = slices.Sorted(slices.Values(append(slices.Clone(shape.Params), field)))
		requests[name] = shape
	}
	requests["zebra/list"] = release.MethodShape{Params: []string{}}
	delete(requests, "thread/goal/clear")
	delete(requests, "thread/shellCommand")
	other.Methods[methods.ServerRequest]["zebra/ask"] = release.MethodShape{Params: []string{}}
	other.Methods[methods.ServerNotification]["zebra/seen"] = release.MethodShape{Params: []string{}}
	other.Methods[methods.ClientNotification]["zebra/done"] = release.MethodShape{Params: []string{}}
	other.Enums["SandboxMode"] = append(slices.Clone(other.Enums["SandboxMode"]), "zebra")
	events := slices.DeleteFunc(slices.Clone(other.Enums[release.HookEvents]), func(e string) bool { return e == "postCompact" || e == "stop" })
	other.Enums[release.HookEvents] = append(events, "zebraSeenLate")
	other.Features["aa_first"], other.Features["zz_last"], other.Features["memories"] = "stable true", "under development false", "stable true"
	delete(other.Features, "personality")
	other.Flags = map[string][]string{
		"codex":             slices.DeleteFunc(slices.Clone(tested.Flags["codex"]), func(flag string) bool { return flag == "--oss" || flag == "--no-daemon" }),
		"codex app-server":  append(slices.Clone(tested.Flags["codex app-server"]), "--ws-origin=", "--stderr", "--search", "-x="),
		"codex exec":        append(slices.Clone(tested.Flags["codex exec"]), "--zebra"), // with --json, which the table has
		"codex exec resume": append(slices.Clone(tested.Flags["codex exec resume"]), "--zebra"),
	}
	tested.Flags["codex exec"] = slices.DeleteFunc(slices.Clone(tested.Flags["codex exec"]), func(flag string) bool { return flag == "--json" })
	other.Commands = slices.DeleteFunc(slices.Clone(tested.Commands), func(c string) bool { return c == "git-credential" || c == "cloud" })
	other.Commands = append(other.Commands, "app-server extra", "zz")
	other.Unread = map[release.Part]string{release.PartConfigKeys: "no"}
	other.ConfigKeys = nil

	changes, err := Compare(tested, other)
	if err != nil {
		t.Fatal(err)
	}
	patch, err := Patch(tested, other, changes)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "bridge/methods"), os.DirFS(filepath.Join(repository, "bridge/methods"))); err != nil {
		t.Fatal(err)
	}
	apply := exec.Command("git", "apply", "--whitespace=error", "-")
	apply.Dir, apply.Stdin = dir, strings.NewReader(string(patch))
	if out, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s\n%s", err, out, patch)
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, "bridge/methods", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for name, want := range map[string][]string{
		"methods.txt": {
			"codex 0.999.0\n#",
			"\nclient request | config/value/writeAll | configuration | deny | | 0.999.0 | | TODO: judge, like config/value/write: rewrite\n",
			"\nclient request | account/read | account | pass | | | | shows who is signed in\n" +
				"client request | account/zy/read | account | deny | | 0.999.0 | | TODO: judge, like account/read: pass\n" +
				"client request | account/zz/read | account | deny | | 0.999.0 | | TODO: judge, like account/read: pass\n",
			"\nclient request | thread/goal/clear | turn | pass | | | " + tested.Version + " |", "\nclient request | thread/shellCommand | execute | deny | | | " + tested.Version + " |",
			"\nserver request | zebra/ask | execute | deny | | 0.999.0 | | TODO: judge\n",
			"\nserver notification | zebra/seen | turn | pass | | 0.999.0 | | TODO: judge\n",
		},
		"fields.txt": {"\nthread/resume | threadId | thread | |\nthread/resume | zebra | unjudged | 0.999.0 |\n", "\nthread/start | baseInstructions | any | |\nthread/start | bzebra | unjudged | 0.999.0 |\n"},
		"features.txt": {
			"\naa_first | stable | true | user | 0.999.0 | | TODO: judge\nagent_message_board |", "\nmemories | stable | true | user | | | Codex lets", "\npersonality | removed | false | none | | " + tested.Version + " |",
			"\nzz_last | under development | false | user | 0.999.0 | | TODO: judge\n",
		},
		"commands.txt": {
			"\napp-server extra | door | | 0.999.0 | | TODO: judge\napp-server generate-internal", "\nzz | door | | 0.999.0 | | TODO: judge\n",
			"\ngit-credential | door | | 0.169.0 | " + tested.Version + " | gives", "\ncloud, cloud-tasks | listed | | | " + tested.Version + " |",
		},
		"hooks.txt": {
			"\nstop | Stop | observes | | " + tested.Version + " |", "\npost_compact | PostCompact | no | | " + tested.Version + " |",
			" turn/steer\nzebra_seen_late | ZebraSeenLate | no | 0.999.0 | | TODO: judge\n",
		},
		"flags.txt": {
			"\n--plugin-mcp-launch-cwd | app-server | three | drop |", "\n--ws-origin | app-server | one | | | 0.999.0 | | |\n--stderr | app-server | none | | | 0.999.0 | | |\n" +
				"--search | app-server | none | | | 0.999.0 | | |\n--thread-source |",
			"\n--oss | codex, exec | none | oss | | | | |\n", "\n--no-daemon | codex | none | any | | | " + tested.Version + " | |\n", "\n--search | codex | none | search | | | | |\n",
			"\n--json, --experimental-json | exec, exec resume, exec fork, exec review | none | | exec | | | |\n",
			"\n--zebra | exec, exec resume | none | | | 0.999.0 | | |\n",
		},
	} {
		text := read(name)
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%s lacks %q", name, w)
			}
		}
	}
	var schema release.Release
	if err := json.Unmarshal([]byte(read("schema.json")), &schema); err != nil {
		t.Fatal(err)
	}
	other.ConfigKeys = tested.ConfigKeys
	if diff := cmp.Diff(*other, schema, cmpopts.IgnoreFields(release.Release{}, "Features", "Unread")); diff != "" {
		t.Error(diff)
	}
}

// The tables name types, requirements, files and rows that exist.
func TestTablesAreCurrent(t *testing.T) {
	tested, _ := releases(t)
	for name, file := range judgedEnums {
		if len(tested.Enums[name]) == 0 {
			t.Errorf("Codex has no type %s", name)
		}
		if _, err := os.Stat(filepath.Join(repository, file)); err != nil {
			t.Error(err)
		}
	}
	for _, name := range readRequirements {
		if !slices.Contains(tested.Requirements["ConfigRequirements"], name) {
			t.Errorf("Codex has no requirement %s", name)
		}
	}
	for _, files := range []string{schemaFile, featuresFile, commandsFile, tableFile, fieldsFile, needsFile, hooksFile, flagsFile, keysFile} {
		for file := range strings.SplitSeq(files, ", ") {
			if _, err := os.Stat(filepath.Join(repository, file)); err != nil {
				t.Error(err)
			}
		}
	}
}
