package methods_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/bridge/methods"
)

// newerText returns the file of a table of 99.0.0 with these sections.
func newerText(sections ...string) string {
	text := "codex-bridge table 1\n-- methods.txt --\ncodex 99.0.0\n"
	for _, s := range sections {
		text += s
	}
	return text
}

func TestNewerTable(t *testing.T) {
	t.Parallel()
	const (
		fields   = "-- fields.txt --\n"
		flags    = "-- flags.txt --\n"
		features = "-- features.txt --\n"
		keys     = "-- keys.txt --\n"
		newer    = "client request | server/health | read | pass | | 99.0.0 | | it reads\n"
	)
	for name, c := range map[string]struct {
		text    string
		counted int
		why     string // of the row that is left out
		other   int
	}{
		"a method that reads":        {newer, 1, "", 0},
		"its field":                  {newer + fields + "server/health | verbose | any | 99.0.0 |\n", 2, "", 0},
		"a refused method":           {"client request | thread/explode | execute | deny | | 99.0.0 | | it runs\n", 1, "", 0},
		"a notification of Codex":    {"server notification | thread/exploded | execute | pass | | 99.0.0 | | it ran\n", 1, "", 0},
		"a request of Codex":         {"server request | clock/read | read | pass | | 99.0.0 | | it asks for a clock\n", 1, "", 0},
		"a question of Codex":        {"server request | item/x/requestApproval | execute | pass | | | | it asks\n", 0, "the class execute needs rules", 0},
		"a method that runs":         {"client request | thread/explode | execute | pass | | | | it runs\n", 0, "the class execute needs rules", 0},
		"a method that needs a rule": {"client request | thread/look | read | rewrite | | | | it reads\n", 0, "needs rules of a newer codex-bridge", 0},
		"rules of a method":          {"client request | thread/look | read | pass | no-such-rule | | | it reads\n", 0, "needs rules of a newer codex-bridge", 0},
		"a known method":             {"client request | command/exec | read | pass | | | | it reads\n", 0, "", 1},
		"on another side":            {"client request | item/tool/call | read | pass | | | | it reads\n", 0, "", 1},
		"a method of the bridge":     {"client request | bridge/x | read | pass | | | | it reads\n", 0, "another meaning", 0},
		"a field of a known method":  {fields + "thread/start | greeting | any | 99.0.0 |\n", 1, "", 0},
		"a field with a rule":        {fields + "thread/start | greeting | folder | 99.0.0 |\n", 0, "the rule folder", 0},
		"a known field":              {fields + "thread/start | sandbox | any | |\n", 0, "", 1},
		"its look-alike":             {fields + "thread/start | Sand_Box | any | |\n", 0, "", 1},
		"a field of the schema":      {fields + "thread/list | archived | any | |\n", 0, "", 1},
		"a checked field elsewhere":  {fields + "thread/list | approval_policy | any | |\n", 0, "checks a field of this name elsewhere", 0},
		"a field of no method":       {fields + "thread/none | greeting | any | |\n", 0, "there is no such method", 0},
		"a flag":                     {flags + "--shiny | exec, codex | none | drop | | 99.0.0 | | it shines |\n", 1, "", 0},
		"a flag that passes":         {flags + "--shiny | exec | none | any | | | | |\n", 0, "to let pass a flag", 0},
		"a flag without a check":     {flags + "--shiny | exec | none | drop | exec | | | |\n", 0, "to let pass a flag", 0},
		"an alias of a known flag":   {flags + "--shiny, -c | exec | none | any | | 99.0.0 | | |\n", 0, "", 1},
		"a known flag of a command":  {flags + "--remote | sandbox | one | any | | | | |\n", 0, "", 1},
		"a flag with a rule":         {flags + "--shiny | exec | one | config | | | | |\n", 0, "to let pass a flag", 0},
		"a flag of each command":     {flags + "--shiny | * | none | any | | | | |\n", 0, "a flag of each command", 0},
		"a feature":                  {features + "shiny | stable | true | user | 99.0.0 | | what it does\n", 1, "", 0},
		"a pinned feature":           {features + "shiny | stable | true | pinned | 99.0.0 | | what it does\n", 0, "control pinned", 0},
		"a known feature":            {features + "skill_mcp_dependency_install | stable | true | none | | | \n", 0, "", 1},
		"a key":                      {keys + `shiny_thing | "off" | | any | 99.0.0 | | less |` + "\n", 1, "", 0},
		"a key above a known one":    {keys + `sandbox_workspace_write | {} | | any | | | less |` + "\n", 0, "", 1},
		"a key below a known one":    {keys + `mcp_servers.shiny | "x" | | any | | | less |` + "\n", 0, "", 1},
		"a feature's key":            {keys + `features.shiny | true | | any | | | less |` + "\n", 0, "", 1},
		"a key with a rule":          {keys + "shiny_thing | | | plain | 99.0.0 | | |\n", 0, "the rule plain for writing", 0},
		"a pattern of keys":          {keys + "shiny.** | | | any | 99.0.0 | | |\n", 0, "a pattern", 0},
		"commands and hooks":         {"-- commands.txt --\nsandbox | harmless | | none\n-- hooks.txt --\nx\n", 0, "", 0},
	} {
		n, err := methods.ParseNewer("table.txt", newerText(c.text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var left string
		for _, one := range n.Left {
			left += one.Why
		}
		if n.Counted != c.counted || n.Other != c.other || (left == "") != (c.why == "") || !strings.Contains(left, c.why) {
			t.Errorf("%s: %d rows count, %d differ, left out: %q; want %d, %d, %q", name, n.Counted, n.Other, left, c.counted, c.other, c.why)
		}
	}
}

func TestNewerTableIsRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                          `line 1 is not "codex-bridge table 1"`,
		"codex-bridge table 2\n":    `line 1 is not "codex-bridge table 1"`,
		"codex-bridge table 1\nx\n": "does not begin a table",
		"codex-bridge table 1\n":    "has no first line",
		newerText("x | y\n"):        "has 2 columns, and not 8",
		newerText("client request | a | read | look | | | | it\n"):              `the verdict "look" is not valid`,
		newerText("client request | a | reading | pass | | | | it\n"):           "a class",
		newerText("client | a | read | pass | | | | it\n"):                      "unknown side",
		newerText("client request | a | read | pass | | soon | | it\n"):         `"soon" is not a version`,
		newerText("-- methods.txt --\n"):                                        "two tables methods.txt",
		newerText("-- fields.txt --\nthread/start | greeting | any | | x\n"):    `"x" is not a version`,
		strings.Replace(newerText(), "codex 99.0.0", "codex 99.0.0-alpha.1", 1): "has no first line",
		strings.Replace(newerText(), "codex 99.0.0", "client request | x", 1):   "has no first line",
	} {
		if _, err := methods.ParseNewer("table.txt", text); err == nil || !strings.Contains(err.Error(), "table.txt: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

// A newer table with the loosest verdict for each name that the program knows adds nothing.
func TestNewerTableNeverLoosens(t *testing.T) {
	t.Parallel()
	exported := methods.Export()
	own, err := methods.ParseNewer("own", exported)
	if err != nil || own.IsNewer() || own.Counted+own.Other+len(own.Left) > 0 {
		t.Fatalf("the program's own table as a newer one: %+v, %v", own, err)
	}
	var b strings.Builder
	table, changed := "", 0
	for line := range strings.Lines(exported) {
		line = strings.TrimSuffix(line, "\n")
		if name, ok := strings.CutPrefix(line, "-- "); ok {
			table = name
		}
		cells := strings.Split(line, "|")
		if len(cells) > 1 && !strings.HasPrefix(line, "#") {
			for column, loosest := range map[string]map[int]string{
				"methods.txt --":  {2: " read ", 3: " pass ", 4: " "},
				"fields.txt --":   {2: " any "},
				"flags.txt --":    {3: " any "},
				"features.txt --": {3: " none "},
				"keys.txt --":     {1: " true ", 2: ` ["*"] `, 3: " any ", 7: ""},
			}[table] {
				cells[column] = loosest
			}
			changed++
		}
		b.WriteString(strings.Join(cells, "|") + "\n")
	}
	n, err := methods.ParseNewer("looser", strings.Replace(b.String(), "\ncodex "+methods.Measured, "\ncodex 99.0.0", 1))
	if err != nil {
		t.Fatal(err)
	}
	if n.Counted != 0 || len(n.Left) > 0 || n.Other < 300 || changed < 700 {
		t.Errorf("of %d rows, %d count, %d differ; left out: %s", changed, n.Counted, n.Other, cmp.Diff(nil, n.Left))
	}
}
