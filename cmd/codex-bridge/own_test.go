package main

import (
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alecthomas/kong"

	"codex-bridge.example/bridge/decision"
)

// Each command has an example, which parses, and each is known as one of ours before kong runs.
func TestCommandsHaveExamples(t *testing.T) {
	parser, err := newParser(new(cli))
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range parser.Model.Leaves(true) {
		example := command.Tag.Get("example")
		words, ok := strings.CutPrefix(example, "codex-bridge ")
		if !ok {
			t.Errorf("%s: the example is %q", command.FullPath(), example)
			continue
		}
		words, _, _ = strings.Cut(words, " >")
		if _, err := kong.Trace(parser, splitWords(words)); err != nil {
			t.Errorf("%s: %v", example, err)
		} else if path := strings.TrimPrefix(command.FullPath(), "codex-bridge "); !strings.HasPrefix(words, path) {
			t.Errorf("%s: the example is of another command: %s", path, example)
		}
	}
	var names []string
	for _, child := range parser.Model.Children {
		names = append(names, child.Name)
		if child.Group == nil || !slices.Contains(groups, *child.Group) {
			t.Errorf("%s is in no group", child.Name)
		}
	}
	slices.Sort(names)
	if own := slices.Sorted(slices.Values(ownCommands)); !slices.Equal(names, own) {
		t.Errorf("commands %q, ownCommands %q", names, own)
	}
}

// ownFormats are the commands whose output is a format of its own, see docs/reference/cli.md.
var ownFormats = []string{
	"completion", "decisions checkpoint", "decisions export", "demo", "help", "man", "policy export", "serve", "trace html", "trace replay",
}

// A program can read the output of each command.
func TestCommandsPrintJSON(t *testing.T) {
	parser, err := newParser(new(cli))
	if err != nil {
		t.Fatal(err)
	}
	var without []string
	for _, command := range parser.Model.Leaves(false) {
		if !slices.ContainsFunc(command.Flags, func(f *kong.Flag) bool { return f.Name == "json" }) {
			without = append(without, strings.TrimPrefix(command.FullPath(), "codex-bridge "))
		}
	}
	slices.Sort(without)
	if !slices.Equal(without, ownFormats) {
		t.Errorf("commands without --json: %q, want %q", without, ownFormats)
	}
}

// The help of a group, and of each command of Codex that the help lists, has an example of it.
func TestGroupsAndCodexCommandsHaveExamples(t *testing.T) {
	parser, err := newParser(new(cli))
	if err != nil {
		t.Fatal(err)
	}
	names := slices.Sorted(maps.Keys(codexPages))
	if want := []string{"app-server", "exec", "review"}; !slices.Equal(names, want) || !strings.Contains(description(maxColumns), "exec, review") {
		t.Errorf("pages of %q, want %q", names, want)
	}
	for _, child := range parser.Model.Children {
		if len(child.Children) > 0 {
			names = append(names, child.Name)
		}
	}
	for _, name := range names {
		var text strings.Builder
		parser.Stdout = &text
		if err := (helpCmd{Command: []string{name}}).Run(parser); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		_, example, _ := strings.Cut(text.String(), "\nExample:\n  ")
		if !strings.HasPrefix(text.String(), "Usage: codex-bridge "+name) || !strings.HasPrefix(example, "codex-bridge "+name) || strings.Count(example, "\n") != 1 {
			t.Errorf("%s: the help is\n%s", name, text.String())
		}
	}
}

// splitWords splits a command line at spaces outside quotes.
func splitWords(line string) (words []string) {
	for i, part := range strings.FieldsFunc(line, func(r rune) bool { return r == '"' || r == '\'' }) {
		if i == 1 { // one quoted word
			words = append(words, part)
			continue
		}
		words = append(words, strings.Fields(part)...)
	}
	return words
}

func TestTableFitsTheOutput(t *testing.T) {
	t.Setenv("COLUMNS", "100")
	var rows table
	rows.row("NO", "NAME", "REASON")
	rows.row("1", "short", strings.Repeat("several words ", 20)+"end")
	rows.row("2", strings.Repeat("x", 150), "ünïcode")
	rows.row("3", "", "")
	var b strings.Builder
	if err := rows.writeTo(&b); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > maxColumns || strings.HasSuffix(line, " \n") {
			t.Errorf("%d columns: %q", n, line)
		}
	}
	if words := strings.Fields(b.String()); strings.Count(strings.Join(words, ""), "several") != 20 || strings.Count(strings.Join(words, ""), "x") != 150 {
		t.Errorf("text is lost:\n%s", b.String())
	}
	// Nothing that fits is wrapped.
	b.Reset()
	rows = table{}
	rows.row("a", "bb")
	rows.row("ccc", "d")
	if err := rows.writeTo(&b); err != nil || b.String() != "a    bb\nccc  d\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
}

// On a terminal of 80 columns a time and the id of a thread stay whole in the list of decisions.
func TestDecisionsFitTheTerminal(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	const thread = "01a22692-a982-7672-89a4-a75902111ac0"
	at := time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)
	entry := func(method, verdict string) listedDecision {
		return listedDecision{Entry: decision.Entry{Seq: 1234, Record: decision.Record{Time: at, Method: method, Verdict: verdict, Thread: thread, Rule: "policy.methods"}}}
	}
	var b strings.Builder
	if err := writeTable(&b, []listedDecision{entry("item/commandExecution/requestApproval", "rewrite"), entry("thread/start", "deny")}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if n := len(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d columns: %q", n, line)
		}
	}
	for _, whole := range []string{"2026-03-01T09:30:00Z", thread, "policy.methods"} {
		if n := strings.Count(b.String(), whole); n != 2 {
			t.Errorf("%s is there %d times in\n%s", whole, n, b.String())
		}
	}
	// No column of a table breaks a time while a longer word can be broken.
	var rows table
	rows.row("2026-03-01T09:30:00Z", thread, thread)
	if text := rows.text(80); !strings.Contains(text, "2026-03-01T09:30:00Z") {
		t.Errorf("the time is broken:\n%s", text)
	}
}

// A user hears that a command works until it prints or reads something.
func TestWaiting(t *testing.T) {
	for _, act := range []func(*waiting){
		func(w *waiting) { w.stop() },
		func(w *waiting) { _, _ = w.writer(io.Discard).Write(nil) },
		func(w *waiting) { _, _ = w.reader(strings.NewReader("")).Read(nil) },
	} {
		synctest.Test(t, func(t *testing.T) {
			var b strings.Builder
			w := &waiting{name: "codex-bridge doctor", to: &b, start: time.Now()}
			w.timer = time.AfterFunc(waitingAfter, w.print)
			time.Sleep(waitingAfter + waitingEvery + time.Second)
			act(w)
			time.Sleep(time.Minute)
			w.mu.Lock()
			defer w.mu.Unlock()
			if got := b.String(); got != "codex-bridge doctor: working for 2s\ncodex-bridge doctor: working for 12s\n" {
				t.Errorf("%q", got)
			}
		})
	}
}
