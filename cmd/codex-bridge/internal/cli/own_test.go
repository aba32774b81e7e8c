package cli

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"codex-bridge.example/cmd/codex-bridge/internal/output"
)

// Each command has an example, which parses, and each is known as one of ours before kong runs.
func TestCommandsHaveExamples(t *testing.T) {
	parser, err := newParser(new(Commands))
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
	if own := slices.Sorted(slices.Values(Names)); !slices.Equal(names, own) {
		t.Errorf("commands %q, ownCommands %q", names, own)
	}
}

// ownFormats are the commands whose output is a format of its own, see docs/reference/cli.md.
var ownFormats = []string{
	"completion", "decisions checkpoint", "decisions export", "demo", "help", "man", "policy export", "serve", "trace html", "trace replay",
}

// A program can read the output of each command.
func TestCommandsPrintJSON(t *testing.T) {
	parser, err := newParser(new(Commands))
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
	parser, err := newParser(new(Commands))
	if err != nil {
		t.Fatal(err)
	}
	names := slices.Sorted(maps.Keys(codexPages))
	if want := []string{"app-server", "exec", "review"}; !slices.Equal(names, want) || !strings.Contains(description(output.MaxColumns), "exec, review") {
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
