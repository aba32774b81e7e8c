package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
)

var updateReference = flag.Bool("update-reference", false, "write the commands of docs/reference/cli.md")

// The reference lists the commands of the program.
func TestCommandReferenceIsCurrent(t *testing.T) {
	const file = "../../docs/reference/cli.md"
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(page), "<!-- commands -->\n")
	if !ok {
		t.Fatal("the page has no start mark for the commands")
	}
	_, after, ok := strings.Cut(rest, "<!-- end -->\n")
	if !ok {
		t.Fatal("the page has no end mark for the commands")
	}
	parser, err := kong.New(new(cli), kong.Name("codex-bridge"))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, command := range parser.Model.Leaves(true) {
		fmt.Fprintf(&b, "- `%s`: %s\n", usage(command), command.Help)
	}
	got := before + "<!-- commands -->\n" + b.String() + "<!-- end -->\n" + after
	if *updateReference {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(page), got); diff != "" {
		t.Errorf("run go test ./cmd/codex-bridge -run TestCommandReferenceIsCurrent -update-reference\n%s", diff)
	}
}

// usage returns a command with its arguments and flags.
func usage(command *kong.Node) string {
	words := []string{strings.TrimPrefix(command.FullPath(), "codex-bridge ")}
	for _, f := range command.Flags {
		if f.Name == "help" {
			continue
		}
		word := strings.ReplaceAll(f.String(), `=""`, "=STRING")
		if values := strings.Split(f.Enum, ","); f.Enum != "" && len(values) <= 6 { // the default first, if there is one
			values = slices.DeleteFunc(values, func(v string) bool { return v == "" || v == f.Default })
			word = "--" + f.Name + "=" + strings.TrimPrefix(strings.Join(append([]string{f.Default}, values...), "|"), "|")
		}
		if !f.Required {
			word = "[" + word + "]"
		}
		words = append(words, word)
	}
	for _, arg := range command.Positional {
		words = append(words, arg.Summary())
	}
	return strings.Join(words, " ")
}
