package argv_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"codex-bridge.example/bridge/argv"
	"codex-bridge.example/bridge/codex/release"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

type want struct {
	Proxy   bool
	Command string
	Second  string
	Info    bool
}

// The results were measured on Codex 0.169.0.
func TestParse(t *testing.T) {
	for _, c := range []struct {
		args string // words; _ is an empty one
		want want
	}{
		{"app-server", want{Proxy: true, Command: "app-server"}},
		{"app-server --analytics-default-enabled", want{Proxy: true, Command: "app-server"}},
		{"-c features.code_mode_host=true app-server", want{Proxy: true, Command: "app-server"}},
		{"-ca=1 app-server", want{Proxy: true, Command: "app-server"}},
		{"--config=a=1 app-server", want{Proxy: true, Command: "app-server"}},
		{"--enable x --disable y app-server", want{Proxy: true, Command: "app-server"}},
		{"-m app-server app-server", want{Proxy: true, Command: "app-server"}},
		{"--add-dir /x --oss --strict-config app-server", want{Proxy: true, Command: "app-server"}},
		{"--dangerously-bypass-approvals-and-sandbox app-server", want{Proxy: true, Command: "app-server"}},
		{"--unknown app-server", want{Proxy: true, Command: "app-server"}},
		{"app-server --listen stdio://", want{Proxy: true, Command: "app-server"}},
		{"app-server --stdio", want{Proxy: true, Command: "app-server"}},
		{"app-server --bogus", want{Proxy: true, Command: "app-server"}},
		{"app-server -c proxy", want{Proxy: true, Command: "app-server"}},
		{"app-server --ws-auth help", want{Proxy: true, Command: "app-server"}},
		{"app-server --plugin-mcp-launch-cwd a@b help /x", want{Proxy: true, Command: "app-server"}}, // three values, measured on 0.171.0
		{"app-server --mcp-launch-cwd a /b generate-ts", want{Proxy: true, Command: "app-server"}},
		{"app-server --mcp-launch-cwd a help", want{Proxy: true, Command: "app-server"}},
		{"app-server --mcp-launch-cwd=a help", want{Proxy: true, Command: "app-server"}},
		// A prompt may come before the command.
		{"hello app-server", want{Proxy: true, Command: "app-server"}},
		{"_ app-server", want{Proxy: true, Command: "app-server"}},
		{"-ix app-server", want{Proxy: true, Command: "app-server"}},
		{"--image=x app-server", want{Proxy: true, Command: "app-server"}},
		{"-i x -m m app-server", want{Proxy: true, Command: "app-server"}},
		// An app-server that does not serve stdio.
		{"app-server --listen ws://127.0.0.1:1", want{Command: "app-server", Second: "--listen"}},
		{"app-server --listen=off", want{Command: "app-server", Second: "--listen"}},
		{"app-server --help", want{Command: "app-server", Second: "--help", Info: true}},
		{"app-server proxy", want{Command: "app-server", Second: "proxy"}},
		{"app-server daemon start", want{Command: "app-server", Second: "daemon"}},
		{"app-server generate-json-schema --out x", want{Command: "app-server", Second: "generate-json-schema", Info: true}},
		{"app-server --print-startup-config", want{Command: "app-server", Second: "--print-startup-config"}},
		// Other commands, and none.
		{"--version", want{Info: true}},
		{"-V app-server", want{Info: true}},
		{"--help app-server", want{Info: true}},
		{"login status", want{Command: "login", Second: "status"}},
		{"exec app-server", want{Command: "exec", Second: "app-server"}},
		{"e x", want{Command: "exec", Second: "x"}},
		{"a", want{Command: "apply"}},
		{"cloud-tasks list", want{Command: "cloud", Second: "list"}},
		{"stdio-to-uds /x", want{Command: "stdio-to-uds", Second: "/x"}},
		{"mcp -c a=1 --enable x add", want{Command: "mcp", Second: "add"}},
		{"mcp --new add", want{Command: "mcp"}},
		{"mcp add --help", want{Command: "mcp", Second: "add", Info: true}},
		{"mcp help add", want{Command: "mcp", Info: true}},
		{"apply help", want{Command: "apply", Second: "help"}}, // a task
		{"mcp", want{Command: "mcp", Info: true}},
		{"login", want{Command: "login"}},
		{"debug app-server", want{Command: "debug", Second: "app-server", Info: true}},
		{"exec --help", want{Command: "exec", Info: true}},
		{"sandbox ls --help", want{Command: "sandbox", Second: "ls"}}, // runs ls
		{"help app-server", want{Command: "help", Info: true}},
		{"exec x help", want{Command: "exec", Second: "x", Info: true}},
		{"exec -- --help", want{Command: "exec", Second: "--help"}},
		{"exec x -o --help", want{Command: "exec", Second: "x"}},
		{"exec --new --help", want{Command: "exec"}},
		{"exec --yolo --help", want{Command: "exec"}}, // a flag without a rule may take values
		{"exec resume help", want{Command: "exec", Second: "resume"}},
		{"exec review -h", want{Command: "exec", Second: "review", Info: true}},
		{"review --title x -V", want{Command: "review"}},
		{"completion bash", want{Command: "completion", Info: true}},
		{"app-server -c a=1 generate-ts", want{Command: "app-server", Second: "generate-ts", Info: true}},
		// The next word may be the value of an unknown flag.
		{"--new --help", want{}},
		{"--new help app-server", want{Command: "help"}},
		{"app-server --new generate-ts", want{Command: "app-server", Second: "generate-ts"}},
		{"-c --help app-server", want{Proxy: true, Command: "app-server"}},
		{"-i x app-server", want{}},
		{"-- app-server", want{}},
		{"", want{}},
	} {
		words := strings.Fields(c.args)
		for i, word := range words {
			words[i] = strings.ReplaceAll(word, "_", "")
			if word != "_" {
				words[i] = word
			}
		}
		line := argv.Parse(words)
		if got := (want{line.Proxy, line.Command, line.Second, line.Info}); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.args, got, c.want)
		}
	}
}

// Items of an argument list.
// The tables have the flags of Codex's completion script, with and without a value.
func TestFlagsAreCurrent(t *testing.T) {
	tested, err := release.Tested()
	if err != nil {
		t.Fatal(err)
	}
	for command, flags := range tested.Flags {
		for _, flag := range flags {
			words := strings.Fields(command)[1:]
			args := append(words, strings.TrimSuffix(flag, "="), "app-server")
			if command == "codex app-server" {
				args = []string{"app-server", strings.TrimSuffix(flag, "=")}
			}
			line := argv.Parse(args)
			if line.Info { // --help and --version
				continue
			}
			// A flag with a value takes the command as its value, or lacks one.
			takes := len(line.Items) == 0 || line.Items[0].Len == 2 || line.Items[0].State == argv.Invalid
			if unknown := slices.ContainsFunc(line.Items, func(i argv.Item) bool { return i.State == argv.Unknown }); unknown || takes != strings.HasSuffix(flag, "=") {
				t.Errorf("%s %s: %+v", command, flag, line)
			}
		}
	}
}

// A flag may have a row for each command, and one command has one row of it.
func TestFlagOfTwoCommands(t *testing.T) {
	const row = "--zebra, -z | codex, exec | one | model | | | | |\n"
	rule, err := argv.FlagsIn(row + "--zebra | app-server | none | | | | | |\n--all | * | none | any | | | | |\n")
	if err != nil {
		t.Fatal(err)
	}
	for flag, want := range map[string]string{"exec --zebra": "model", "exec -z": "model", "app-server --zebra": "", "app-server -z": "unknown", "app-server --all": "any", "review --zebra": "unknown"} {
		if command, name, _ := strings.Cut(flag, " "); rule(command, name) != want {
			t.Errorf("%s: %q, want %q", flag, rule(command, name), want)
		}
	}
	for _, other := range []string{"--zebra | exec, review | one | any | | | | |\n", "--other, -z | exec | none | | | | | |\n", "--zebra | * | one | model | | | | |\n"} {
		if _, err := argv.FlagsIn(row + other); err == nil {
			t.Errorf("%s: accepted beside %s", other, row)
		}
	}
	if argv.FindFlag("exec", "-s") == nil || argv.FindFlag("exec resume", "--sandbox") != nil || argv.FindFlag("zebra", "--sandbox") != nil {
		t.Error("exec alone has --sandbox")
	}
}

// TestWords checks the words that patterns for commands are compared with.
func TestWords(t *testing.T) {
	for args, want := range map[string]string{
		"mcp list": "mcp list", "mcp add x -- y": "mcp add x", "plugin -c a=1 marketplace --enable x list": "plugin marketplace list",
		"a x": "apply x", "cloud-tasks exec": "cloud exec", "sandbox ls uninstall": "sandbox ls", "mcp other list": "mcp other", "mcp --new list": "mcp",
		"debug app-server send-message-v2 x": "debug app-server send-message-v2 x", "debug -- app-server": "debug", "app-server -c a=1 daemon start": "app-server daemon",
		"app-server --listen off": "app-server --listen", "mcp list ": "mcp list", "hello": "", "login status": "login status",
	} {
		if got := strings.Join(argv.Parse(strings.Fields(args)).Words(), " "); got != want {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
}

// TestTable checks that each command of the tested Codex has a row that a person has judged.
func TestTable(t *testing.T) {
	tested, err := release.Tested()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range tested.Commands {
		if argv.LookUp(strings.Fields(name)...) == nil {
			t.Errorf("commands.txt has no row of codex %s", name)
		}
	}
	if len(tested.Commands) == 0 {
		t.Error("no commands")
	}
	for _, row := range argv.Commands() {
		parent := argv.LookUp(strings.Fields(row.Name)[:strings.Count(row.Name, " ")]...)
		switch {
		case strings.Contains(row.Why, "TODO"):
			t.Errorf("%s is not judged", row.Name)
		case strings.Contains(row.Name, " ") && parent == nil:
			t.Errorf("%s has no parent", row.Name)
		case parent != nil && parent.Verdict == argv.Door && row.Verdict != argv.Door:
			t.Errorf("%s is below a door", row.Name)
		case row.Name != "help" && !strings.Contains(row.Name, " -") && slices.Contains(tested.Commands, row.Name) != (row.Until == ""):
			t.Errorf("%s: Codex %s and the column until differ: %q", row.Name, tested.Version, row.Until)
		}
	}
}

func TestItems(t *testing.T) {
	for _, c := range []struct {
		args string
		want []argv.Item
	}{
		{"-c a=1 app-server", []argv.Item{{Name: "--config", Value: "a=1", At: 0, Len: 2}}},
		{"-ca=1 -c=b=2 --config=c=3 app-server --config d=4", []argv.Item{
			{Name: "--config", Value: "a=1", At: 0, Len: 1}, {Name: "--config", Value: "b=2", At: 1, Len: 1},
			{Name: "--config", Value: "c=3", At: 2, Len: 1}, {Name: "--config", Value: "d=4", At: 4, Len: 2},
		}},
		{"-i x y -m m app-server", []argv.Item{
			{Name: "--image", At: 0, Len: 3}, {Name: "--model", Value: "m", At: 3, Len: 2},
		}},
		{"--yolo --not-so-yolo app-server", []argv.Item{
			{Name: "--dangerously-bypass-approvals-and-sandbox", At: 0, Len: 1}, {Name: "--approve-for-me", At: 1, Len: 1},
		}},
		{"hello app-server world", []argv.Item{{Value: "hello", At: 0, Len: 1}, {Value: "world", At: 2, Len: 1}}},
		{"--conf=a=1 -q app-server -s x", []argv.Item{
			{Name: "--conf", At: 0, Len: 1, State: argv.Unknown}, {Name: "-q", At: 1, Len: 1, State: argv.Unknown},
			{Name: "-s", At: 3, Len: 1, State: argv.Unknown}, {Value: "x", At: 4, Len: 1},
		}},
		{"--search=x -c -x app-server -c", []argv.Item{
			{Name: "--search", Value: "x", At: 0, Len: 1, State: argv.Invalid},
			{Name: "--config", Value: "-x", At: 1, Len: 2, State: argv.Invalid},
			{Name: "--config", At: 4, Len: 1, State: argv.Invalid},
		}},
		{"-m a exec -m b hello resume -o x id -- --last -", []argv.Item{
			{Name: "--model", Value: "a", At: 0, Len: 2}, {Name: "--model", Value: "b", At: 3, Len: 2}, {Value: "hello", At: 5, Len: 1},
			{Name: "--output-last-message", Value: "x", At: 7, Len: 2}, {Value: "id", At: 9, Len: 1}, {Value: "--last", At: 11, Len: 1}, {Value: "-", At: 12, Len: 1},
		}},
		{"exec --yolo -i a b -- resume", []argv.Item{
			{Name: "--dangerously-bypass-approvals-and-sandbox", At: 1, Len: 1}, {Name: "--image", At: 2, Len: 3}, {Value: "resume", At: 6, Len: 1},
		}},
		{"exec resume -s x -i a b", []argv.Item{
			{Name: "-s", At: 2, Len: 1, State: argv.Unknown}, {Value: "x", At: 3, Len: 1}, {Name: "--image", Value: "a", At: 4, Len: 2}, {Value: "b", At: 6, Len: 1},
		}},
		{"review --base x --json", []argv.Item{{Name: "--base", Value: "x", At: 1, Len: 2}, {Name: "--json", At: 3, Len: 1, State: argv.Unknown}}},
		{"login --yolo", []argv.Item{{Name: "--yolo", At: 1, Len: 1, State: argv.Unknown}}},
		{"mcp -c a=1 get x --json -- y", []argv.Item{
			{Name: "--config", Value: "a=1", At: 1, Len: 2}, {Value: "x", At: 4, Len: 1}, {Name: "--json", At: 5, Len: 1}, {Name: "--", At: 6, Len: 1, State: argv.Unknown},
		}},
		{"app-server generate-ts -o x -p y", []argv.Item{{Name: "--out", Value: "x", At: 2, Len: 2}, {Name: "-p", At: 4, Len: 1, State: argv.Unknown}}},
		{"sandbox -c a=1 ls -c b=2", []argv.Item{{Name: "--config", Value: "a=1", At: 1, Len: 2}}},
	} {
		got := argv.Parse(strings.Fields(c.args)).Items
		if diff := cmp.Diff(c.want, got, cmpopts.IgnoreFields(argv.Item{}, "Flag")); diff != "" {
			t.Errorf("%s (-want +got)\n%s", c.args, diff)
		}
	}
}

// A command of exec, which may follow its prompt.
func TestExec(t *testing.T) {
	for args, want := range map[string]string{
		"exec resume": "resume 1", "e -m x fork id": "fork 3", "exec hello review": "review 2", "exec -- resume": " 0", "review": "review 0", "-m x review": "review 2",
	} {
		line := argv.Parse(strings.Fields(args))
		if got := line.Sub + " " + strconv.Itoa(line.SubAt); got != want || !line.Exec() {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
	if argv.Parse([]string{"exec", ""}).Sub != "" || argv.Parse([]string{"exec", "-h"}).Exec() || argv.Parse([]string{"resume"}).Exec() {
		t.Error("not a turn")
	}
	line := argv.Parse([]string{"exec", "-i", "a", "b,c", "--image=d"})
	if got := slices.Concat(line.Values(line.Items[0]), line.Values(line.Items[1])); !slices.Equal(got, []string{"a", "b,c", "d"}) {
		t.Errorf("images: %q", got)
	}
}

// For all arguments, items are in order, do not overlap, and are within the list. Where Codex
// could find its app-server, the line is the proxy's or Second says why not.
func FuzzParse(f *testing.F) {
	f.Add("-c a=1 app-server --listen off")
	f.Add("hello -i x y -- app-server")
	f.Add("--new=1 mcp add -h")
	f.Fuzz(func(t *testing.T, text string) {
		args := strings.Split(text, " ")
		line := argv.Parse(args)
		at := 0
		for _, item := range line.Items {
			if item.At < at || item.Len < 1 || item.At+item.Len > len(args) {
				t.Fatalf("%q: %+v", args, line)
			}
			at = item.At + item.Len
		}
		if line.Command == argv.AppServer && !line.Proxy && line.Second == "" {
			t.Fatalf("%q: %+v", args, line)
		}
		if line.Proxy && (line.Info || line.Command != argv.AppServer) {
			t.Fatalf("%q: %+v", args, line)
		}
	})
}
