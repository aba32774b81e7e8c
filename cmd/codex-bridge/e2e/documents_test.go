//go:build linux

package e2e_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// documentCommand is a command that a document tells its reader to run.
type documentCommand struct {
	text   string // without a comment
	prints string // what the document shows below it
}

// fiftyMachines is a section whose commands TestTeamGuide runs.
const fiftyMachines = "## Try it with fifty machines\n"

var (
	commandBlock    = regexp.MustCompile("(?ms)^ *```(\\w*)\n(.*?)^ *```$")
	commandInline   = regexp.MustCompile("`(codex-bridge [^`\n]+)`")
	profileCommand  = regexp.MustCompile(`(?m)^# ((?:codex-bridge|sudo) .*)$`)
	shellComment    = regexp.MustCompile(`(?m)\s+# .*$`)
	hereDocument    = regexp.MustCompile(`<<'(\w+)'`)
	referenceOfAll  = regexp.MustCompile(`(?s)<!-- commands -->.*?<!-- end -->`)
	languagesOfText = []string{"toml", "json", "lua", "elisp", "text"}
)

// documents returns the names of all documents, and of the profiles of `init`, from the root of the repository.
func documents(t *testing.T) (names []string) {
	t.Helper()
	root := repositoryRoot(t)
	skip := []string{".git", ".tools", "bin", "dist", "node_modules"}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && slices.Contains(skip, entry.Name()) {
			return fs.SkipDir
		}
		name, err := filepath.Rel(root, path)
		if filepath.Ext(name) == ".md" && name != "CHANGELOG.md" || filepath.Ext(name) == ".toml" && filepath.Dir(name) == "cmd/codex-bridge/internal/cli/init" {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// documentCommands returns the commands in the blocks of a document, or in the comments of a profile, and those
// of the bridge in its sentences.
func documentCommands(t *testing.T, name string) (blocks []documentCommand, sentences []string) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(repositoryRoot(t), name))
	if err != nil {
		t.Fatal(err)
	}
	text := string(content)
	if filepath.Ext(name) == ".toml" {
		for _, command := range profileCommand.FindAllStringSubmatch(text, -1) {
			blocks = append(blocks, documentCommand{text: command[1]})
		}
	} else {
		before, section, found := strings.Cut(text, fiftyMachines)
		if section, rest, _ := strings.Cut(section, "\n## "); found {
			text = before + strings.ReplaceAll(section, "```sh\n", "```text\n") + "\n## " + rest
		}
		for _, block := range commandBlock.FindAllStringSubmatch(text, -1) {
			switch {
			case block[1] == "console":
				blocks = append(blocks, consoleCommands(block[2])...)
			case block[1] == "sh":
				blocks = append(blocks, shellCommands(block[2])...)
			case !slices.Contains(languagesOfText, block[1]):
				t.Errorf("%s has a block of the language %q; commands are in blocks of sh or console", name, block[1])
			}
		}
	}
	rest := referenceOfAll.ReplaceAllString(commandBlock.ReplaceAllString(text, ""), "")
	for _, command := range commandInline.FindAllStringSubmatch(rest, -1) {
		sentences = append(sentences, command[1])
	}
	return blocks, sentences
}

// shellCommands splits a block of commands. A command goes on below && and a backslash, and to the end of a
// here-document.
func shellCommands(block string) (commands []documentCommand) {
	command, end := "", ""
	for line := range strings.Lines(block) {
		line = strings.TrimSpace(shellComment.ReplaceAllString(line, ""))
		command = strings.TrimPrefix(command+"\n"+line, "\n")
		if here := hereDocument.FindStringSubmatch(line); here != nil {
			end = here[1]
		}
		if strings.HasSuffix(line, "&&") || strings.HasSuffix(line, `\`) || end != "" && line != end {
			continue
		}
		commands = append(commands, documentCommand{text: command})
		command, end = "", ""
	}
	return commands
}

// consoleCommands returns the commands after the prompts of a block, each with the lines below it.
func consoleCommands(block string) (commands []documentCommand) {
	for line := range strings.Lines(block) {
		if command, found := strings.CutPrefix(strings.TrimSpace(line), "$ "); found {
			commands = append(commands, documentCommand{text: command})
		} else {
			commands[len(commands)-1].prints += line
		}
	}
	return commands
}

// Each command of a document runs in TestDocuments, or has a row that says why it can't. Each row is of a command
// that is there.
func TestDocumentsHaveNoOtherCommands(t *testing.T) {
	t.Parallel()
	inBlocks, inSentences := map[[2]string]bool{}, map[string]bool{}
	for _, name := range documents(t) {
		blocks, sentences := documentCommands(t, name)
		runs := slices.ContainsFunc(readings, func(r reading) bool { return r.document == name })
		for _, command := range blocks {
			inBlocks[[2]string{name, command.text}] = true
			if !runs && notRun[[2]string{name, command.text}] == "" {
				t.Errorf("%s: no reading and no row in notRun for the command\n%s", name, command.text)
			}
		}
		for _, command := range sentences {
			inSentences[command] = true
		}
	}
	for row := range notRun {
		if !inBlocks[row] && !(row[0] == sentencesRow && inSentences[row[1]]) {
			t.Errorf("%s has no command\n%s\nRemove its row in notRun", row[0], row[1])
		}
	}
	for _, r := range readings {
		for command := range r.until {
			if !slices.ContainsFunc(r.commands(t), func(c documentCommand) bool { return c.text == command }) {
				t.Errorf("%s has no command %q, which its reading stops", r.document, command)
			}
		}
	}
}

// Examples of settings for editors have a valid form. Those in JSON are members of the settings.
func TestDocumentsHaveValidExamples(t *testing.T) {
	t.Parallel()
	lua := []string{"-l", filepath.Join(t.TempDir(), "check.lua")}
	const check = "for _, text in ipairs(arg) do assert(loadstring(text) or loadstring('return ' .. text), text) end"
	if err := os.WriteFile(lua[1], []byte(check), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range documents(t) {
		text, err := os.ReadFile(filepath.Join(repositoryRoot(t), name))
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range commandBlock.FindAllStringSubmatch(string(text), -1) {
			switch example := strings.TrimSpace(block[2]); block[1] {
			case "json":
				if !json.Valid([]byte(example)) && !json.Valid([]byte("{"+example+"}")) {
					t.Errorf("%s: not JSON:\n%s", name, example)
				}
			case "lua":
				lua = append(lua, example)
			}
		}
	}
	if out, err := exec.CommandContext(deadline(t), neovimProgram(t), lua...).CombinedOutput(); err != nil || len(lua) < 4 {
		t.Errorf("%d examples of Lua: %v\n%s", len(lua)-2, err, out)
	}
}
