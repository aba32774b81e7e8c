package methods_test

import (
	"strings"
	"testing"

	"codex-bridge.example/bridge/methods"
)

// newerText returns the file of a table of 99.0.0 with these rows.
func newerText(rows string) string {
	return "codex-bridge table 1\n-- methods.txt --\ncodex 99.0.0\n" + rows
}

func TestNewerTable(t *testing.T) {
	t.Parallel()
	const (
		fields = "-- fields.txt --\n"
		health = "client request | server/health | read | pass | | 99.0.0 | | it reads\n"
	)
	for name, c := range map[string]struct {
		text    string
		counted int
		why     string // of the row that is left out
	}{
		"a method that reads":        {health, 1, ""},
		"its fields":                 {health + fields + "server/health | verbose | any | 99.0.0 |\nserver/health | threadId | thread | |\n", 3, ""},
		"a field with its own rule":  {health + fields + "server/health | cwd | any | |\n", 1, "checks a field of this name"},
		"CRLF":                       {strings.ReplaceAll(health+fields+"server/health | verbose | any | 99.0.0 |\n", "\n", "\r\n"), 2, ""},
		"a refused method":           {"client request | thread/explode | execute | deny | | 99.0.0 | | it runs\n", 1, ""},
		"a notification of Codex":    {"server notification | thread/exploded | execute | pass | | 99.0.0 | | it ran\n", 0, ""},
		"a request of Codex":         {"server request | clock/read | read | pass | | 99.0.0 | | it asks for a clock\n", 1, ""},
		"a question of Codex":        {"server request | item/x/requestApproval | execute | pass | | | | it asks\n", 0, "the class execute needs rules"},
		"a method that runs":         {"client request | thread/explode | execute | pass | | | | it runs\n", 0, "the class execute needs rules"},
		"a method of the account":    {"client request | account/all | account | pass | | | | all\n", 0, "the class account needs rules"},
		"a method that needs a rule": {"client request | thread/look | read | rewrite | | | | it reads\n", 0, "needs rules of a newer codex-bridge"},
		"rules of a method":          {"client request | thread/look | read | pass | no-such-rule | | | it reads\n", 0, "needs rules of a newer codex-bridge"},
		"a new verdict":              {"client request | thread/look | read | peek | | | | it reads\n", 0, "the verdict peek needs rules"},
		"a new class":                {"client request | thread/look | glance | pass | | | | it reads\n", 0, "the class glance needs rules"},
		"a new side":                 {"peer request | thread/look | read | pass | | | | it reads\n", 0, "the side peer request"},
		"a known method":             {"client request | command/exec | read | pass | | | | it reads\n", 0, ""},
		"its look-alike":             {"client request | Command/Exec | read | pass | | | | it reads\n", 0, ""},
		"on another side":            {"client request | item/tool/call | read | pass | | | | it reads\n", 0, ""},
		"two sides":                  {health + strings.Replace(health, "client", "server", 1), 0, "has it twice"},
		"a refusal, too":             {health + strings.Replace(health, "pass", "deny", 1), 0, "has it twice"},
		"two rules of a field":       {fields + "thread/start | zed | any | |\nthread/start | zed | unjudged | |\n", 0, "has it twice"},
		"a rule, and none":           {fields + "thread/start | zed | newrule | |\nthread/start | Zed | any | |\n", 0, "has it twice"},
		"a method of the bridge":     {"client request | bridge/x | read | pass | | | | it reads\n", 0, "another meaning"},
		"no name":                    {"client request | | read | pass | | | | it reads\n", 0, "no name of a method"},
		"other letters":              {"client request | ſerver/x | read | pass | | | | it reads\n", 0, "no name of a method"},
		"a field of a known method":  {fields + "thread/start | greeting | any | 99.0.0 |\n", 1, ""},
		"a field of no name":         {fields + "thread/start | ſandbox | any | 99.0.0 |\n", 0, "no name of a field"},
		"a field with a rule":        {fields + "thread/start | greeting | folder | 99.0.0 |\n", 0, "the rule folder"},
		"a known field":              {fields + "thread/start | sandbox | any | |\n", 0, ""},
		"a look-alike of a field":    {fields + "thread/start | Sand_Box | any | |\n", 0, ""},
		"a field of the schema":      {fields + "thread/list | archived | any | |\n", 0, ""},
		"a field checked elsewhere":  {fields + "thread/list | approval_policy | any | |\n", 0, "checks a field of this name"},
		"a field of a response":      {fields + "item/tool/call | greeting | any | |\n", 0, ""},
		"a field of no method":       {fields + "thread/none | greeting | any | |\n", 0, ""},
		"other tables":               {"-- flags.txt --\n--yolo | app-server | one | drop |\n-- hooks.txt --\nx\n", 0, ""},
	} {
		n, err := methods.ParseNewer("table.txt", newerText(c.text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var left string
		for _, one := range n.LeftOut {
			left += one.Why
		}
		if n.Counted() != c.counted || (left == "") != (c.why == "") || !strings.Contains(left, c.why) {
			t.Errorf("%s: %d rows count, left out: %q; want %d, %q", name, n.Counted(), left, c.counted, c.why)
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
		newerText("-- fields.txt --\nthread/start | greeting | any\n"):          "has 3 columns, and not 5",
		newerText("-- methods.txt --\n"):                                        "two tables methods.txt",
		strings.Replace(newerText(""), "codex 99.0.0", "codex 99.0.0-alpha", 1): "has no first line",
		strings.Replace(newerText(""), "codex 99.0.0", "client request | x", 1): "has no first line",
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
	if own, err := methods.ParseNewer("own", exported); err != nil || own.IsNewer() || own.Counted() > 0 || len(own.LeftOut) > 0 {
		t.Fatalf("the program's own table as a newer one: %+v, %v", own, err)
	}
	var b strings.Builder
	changed := 0
	for line := range strings.Lines(exported) {
		line = strings.TrimSuffix(line, "\n")
		if cells := strings.Split(line, "|"); len(cells) > 1 && !strings.HasPrefix(line, "#") {
			if len(cells) == 8 {
				cells[2], cells[3], cells[4] = " read ", " pass ", " "
			} else {
				cells[2] = " any "
			}
			line = strings.Join(cells, "|")
			changed++
		}
		b.WriteString(line + "\n")
	}
	n, err := methods.ParseNewer("looser", strings.Replace(b.String(), "\ncodex "+methods.Measured, "\ncodex 99.0.0", 1))
	if err != nil {
		t.Fatal(err)
	}
	if n.Counted() != 0 || len(n.LeftOut) > 0 || !n.IsNewer() || changed < 700 {
		t.Errorf("of %d rows, %d count; left out: %+v", changed, n.Counted(), n.LeftOut)
	}
}
