package headless

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"codex-bridge.example/bridge/argv"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/display"
	"codex-bridge.example/cmd/codex-bridge/internal/exit"
	"codex-bridge.example/cmd/codex-bridge/internal/output"
)

// execOptions are the arguments of `codex exec` or `codex review`.
type execOptions struct {
	sub     string            // resume, fork, review or ""
	flags   map[string]string // by long name; the value of a flag without one is ""
	images  []string
	addDirs []string // as given; load makes them absolute
	prompt  *string  // before sub
	words   []string // after sub, or after exec
	target  map[string]any
	summary string // of target

	cwd    string
	text   *string         // the whole prompt
	schema json.RawMessage // of the last message; nil for none
	last   *lastFile       // gets the last message; nil for none
}

// has reports whether a flag is given.
func (o *execOptions) has(flag string) bool { _, ok := o.flags[flag]; return ok }

// parseExecOptions returns the arguments in line, which the policy has checked. Measured with Codex
// 0.169: flags before the command count, unless the command has the same.
func parseExecOptions(line argv.Line) (*execOptions, error) {
	o := &execOptions{sub: line.Sub, flags: make(map[string]string)}
	for _, item := range line.Items {
		switch {
		case item.Name == "--image" && item.At > line.CommandAt:
			for _, value := range line.Values(item) {
				o.images = append(o.images, strings.Split(value, ",")...)
			}
		case item.Name == "--add-dir":
			o.addDirs = append(o.addDirs, item.Value)
		case item.Name != "":
			o.flags[item.Name] = item.Value
		case line.Sub != "" && item.At < line.SubAt:
			o.prompt = &item.Value
		default:
			o.words = append(o.words, item.Value)
		}
	}
	if most := map[string]int{"resume": 2, "fork": 2}[o.sub]; len(o.words) > max(most, 1) {
		return nil, exit.UsageError("unexpected argument " + display.Line(o.words[max(most, 1)]) + ": a prompt of several words needs quotes")
	}
	for flag, values := range map[string][]string{
		"--color":                {"auto", "always", "never"},
		"--cyber-access-program": {"standard", "daybreak_blue", "daybreak_red"},
	} {
		if value, ok := o.flags[flag]; ok && !slices.Contains(values, value) {
			return nil, exit.UsageError(fmt.Sprintf("%s: unknown value %q; use one of %s", flag, value, strings.Join(values, ", ")))
		}
	}
	if slices.Contains(o.addDirs, "") {
		return nil, exit.UsageError("--add-dir: the value is empty; name a folder") // Codex refuses it, too
	}
	if o.sub == "fork" && len(o.words) == 0 {
		return nil, exit.UsageError("exec fork: the id of the session is missing")
	}
	return o, nil
}

// load reads the prompt and the files, in Codex's order and with its errors.
func (o *execOptions) load(in *os.File) error {
	var err error
	if o.cwd, err = workFolder(o.flags["--cd"]); err == nil {
		_, err = os.Stat(o.cwd)
	}
	if err != nil {
		return execError("%s", systemError(err))
	}
	for i, dir := range o.addDirs {
		o.addDirs[i] = addedFolder(o.cwd, dir)
	}
	if err := o.loadInput(in); err != nil {
		return err
	}
	if path, ok := o.flags["--output-schema"]; ok {
		text, err := os.ReadFile(path)
		switch {
		case err != nil:
			return execFailure("Failed to read output schema file %s: %s", path, systemError(err))
		case !json.Valid(text):
			return execFailure("Output schema file %s is not valid JSON", path)
		}
		o.schema = text
	}
	if _, ok := repositoryOf(o.cwd); !ok && !o.has("--skip-git-repo-check") {
		return execFailure("Not inside a trusted directory and --skip-git-repo-check was not specified.")
	}
	if path, ok := o.flags["--output-last-message"]; ok {
		if o.last, err = openLast(path); err != nil {
			return execError("Failed to open last message file %q: %s", path, systemError(err))
		}
	}
	return nil
}

// workFolder returns the folder of the thread, which -C may name.
//
// Measured with Codex 0.169 and 0.171: the current folder counts without the links by which the shell has reached it.
// Links that -C names stay, and ".." removes the name before it.
func workFolder(cd string) (string, error) {
	if filepath.IsAbs(cd) {
		return filepath.Clean(cd), nil
	}
	current, err := syscall.Getwd() // os.Getwd takes $PWD
	return filepath.Join(current, cd), err
}

// addedFolder returns the absolute path of a folder of --add-dir.
//
// Measured with Codex 0.169 and 0.171: a relative one counts from the folder of the thread, and ~ is the home folder,
// also where no shell has replaced it.
func addedFolder(cwd, dir string) string {
	if rest, ok := strings.CutPrefix(dir, "~"); ok && (rest == "" || os.IsPathSeparator(rest[0])) {
		if home, err := config.Home(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	if filepath.IsAbs(dir) {
		return filepath.Clean(dir)
	}
	return filepath.Join(cwd, dir)
}

func (o *execOptions) loadInput(in *os.File) error {
	word := func(i int) *string {
		if i < len(o.words) {
			return &o.words[i]
		}
		return nil
	}
	var err error
	switch o.sub {
	case "review":
		return o.loadTarget(in)
	case "fork":
		if prompt := first(word(1), o.prompt); prompt != nil {
			o.text, err = readPrompt(in, prompt)
		}
	case "resume":
		prompt := word(1)
		if prompt == nil && o.has("--last") {
			prompt = word(0)
		}
		o.text, err = readPrompt(in, first(prompt, o.prompt))
	default:
		prompt := word(0)
		if prompt == nil || *prompt == "-" {
			o.text, err = readPrompt(in, prompt)
			return err
		}
		o.text = prompt
		if output.IsTerminal(in) {
			return nil
		}
		fmt.Fprintln(os.Stderr, "Reading additional input from stdin...")
		more, err := readText(in)
		if err == nil && strings.TrimSpace(more) != "" {
			*o.text += "\n\n<stdin>\n" + strings.TrimSuffix(more, "\n") + "\n</stdin>"
		}
		return err
	}
	return err
}

// loadTarget sets the target of a review.
func (o *execOptions) loadTarget(in *os.File) error {
	given := slices.DeleteFunc([]string{"--uncommitted", "--base", "--commit"}, func(flag string) bool { return !o.has(flag) })
	switch {
	case len(given)+len(o.words) > 1:
		return exit.UsageError("review: give one of --uncommitted, --base, --commit and a prompt")
	case o.has("--title") && !o.has("--commit"):
		return exit.UsageError("review: --title needs --commit")
	case o.has("--uncommitted"):
		o.target, o.summary = map[string]any{"type": "uncommittedChanges"}, "current changes"
	case o.has("--base"):
		branch := o.flags["--base"]
		o.target, o.summary = map[string]any{"type": "baseBranch", "branch": branch}, "changes against '"+branch+"'"
	case o.has("--commit"):
		commit := o.flags["--commit"]
		o.target, o.summary = map[string]any{"type": "commit", "sha": commit, "title": nil}, "commit "+commit[:min(7, len(commit))]
		if o.has("--title") {
			o.target["title"] = o.flags["--title"]
			o.summary += ": " + o.flags["--title"]
		}
	case len(o.words) == 1:
		text, err := readPrompt(in, &o.words[0])
		if err != nil {
			return err
		}
		if o.summary = strings.TrimSpace(*text); o.summary == "" {
			return execError("Review prompt cannot be empty")
		}
		o.target = map[string]any{"type": "custom", "instructions": o.summary}
	default:
		return execError("Specify --uncommitted, --base, --commit, or provide custom review instructions")
	}
	return nil
}

func first(texts ...*string) *string {
	for _, text := range texts {
		if text != nil {
			return text
		}
	}
	return nil
}

// readPrompt returns the prompt, or standard input for none and for -.
func readPrompt(in *os.File, prompt *string) (*string, error) {
	switch {
	case prompt != nil && *prompt != "-":
		return prompt, nil
	case prompt == nil && output.IsTerminal(in):
		return nil, execFailure("No prompt provided. Either specify one as an argument or pipe the prompt into stdin.")
	case prompt == nil:
		fmt.Fprintln(os.Stderr, "Reading prompt from stdin...")
	}
	text, err := readText(in)
	if err == nil && strings.TrimSpace(text) == "" {
		err = execFailure("No prompt provided via stdin.")
	}
	return &text, err
}

// repositoryOf returns the folder with the git repository of a folder, as far as Codex looks.
//
// Measured with Codex 0.169 and 0.171: a .git counts if it has an entry HEAD, or if it is no folder. Codex follows
// links of .git and HEAD, but not those of the folder. An empty .git does not count; the one above it may.
func repositoryOf(folder string) (root string, ok bool) {
	for ; ; folder = filepath.Dir(folder) {
		git := filepath.Join(folder, ".git")
		info, err := os.Stat(git)
		if err == nil && info.IsDir() {
			_, err = os.Stat(filepath.Join(git, "HEAD"))
		}
		if err == nil {
			return folder, true
		}
		if folder == filepath.Dir(folder) {
			return "", false
		}
	}
}

// execFailure prints a line as `codex exec` does, and returns its exit status.
func execFailure(format string, args ...any) error {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
	return exit.Status(exit.Failed)
}

func execError(format string, args ...any) error { return execFailure("Error: "+format, args...) }

// systemError describes an error as `codex exec` does.
func systemError(err error) string {
	var number syscall.Errno
	if text := ""; errors.As(err, &number) && number != 0 {
		text = number.Error()
		return fmt.Sprintf("%s%s (os error %d)", strings.ToUpper(text[:1]), text[1:], int(number))
	}
	return err.Error()
}
