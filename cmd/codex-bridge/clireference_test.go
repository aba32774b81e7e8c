package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/cmd/codex-bridge/internal/cli"
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
	parser, err := kong.New(new(cli.Commands), kong.Name("codex-bridge"))
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

// The flags that a document names with a command of the bridge in a sentence are flags of this command.
func TestDocumentsNameFlagsOfCommands(t *testing.T) {
	parser, err := kong.New(new(cli.Commands), kong.Name("codex-bridge"))
	if err != nil {
		t.Fatal(err)
	}
	flags := map[string][]string{}
	for _, command := range parser.Model.Leaves(true) {
		path := strings.Join(strings.Fields(command.FullPath())[1:], " ")
		flags[path] = []string{}
		for _, f := range command.Flags {
			flags[path] = append(flags[path], "--"+f.Name)
		}
	}
	span := regexp.MustCompile("`(?:codex-bridge )?([a-z][^`\n]* --[^`\n]*)`")
	found := 0
	for _, pattern := range []string{"../../*.md", "../../docs/*.md", "../../docs/*/*.md", "../../editors/*/*.md", "../../packaging/*.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, named := range span.FindAllStringSubmatch(string(text), -1) {
				words := strings.Fields(named[1])
				known, ours := flags[words[0]]
				if !ours && len(words) > 1 {
					known, ours = flags[words[0]+" "+words[1]]
				}
				if !ours || named[1] == "doctor --feedback" { // Codex's doctor has it
					continue
				}
				found++
				for _, word := range words {
					flag, _, _ := strings.Cut(strings.Trim(word, "[]"), "=")
					if strings.HasPrefix(flag, "--") && !slices.Contains(known, flag) {
						t.Errorf("%s: `%s`: the command has no %s, only %q", file, named[1], flag, known)
					}
				}
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d commands with flags in sentences", found)
	}
}
