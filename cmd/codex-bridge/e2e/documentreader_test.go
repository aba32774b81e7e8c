//go:build linux

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/cmd/internal/scripted"
)

// reader plays a user who follows a document: it has a new home folder, and the bridge, Codex and codex-acp
// are in its PATH.
type reader struct {
	*world
	reading
	folder string // where the commands run
	typed  string // on the standard input
	done   func() // checks what the commands did; nil: nothing
}

// newReader prepares a home folder, without a configuration of the bridge.
func newReader(t *testing.T, what reading) *reader {
	t.Helper()
	w := newWorld(t, options{codex: codexPath, short: true})
	r := &reader{world: w, reading: what, folder: w.workspace}
	r.here = slices.Clone(what.here)
	home := filepath.Join(w.root, "user")
	w.state = filepath.Join(home, ".local", "state", "codex-bridge")
	programs := filepath.Join(w.root, "programs")
	codexHome := filepath.Join(home, ".codex")
	sudo, err := exec.LookPath("env") // it runs its arguments, too
	w.must(errors.Join(err,
		os.Rename(w.home, codexHome),
		os.Mkdir(programs, 0o700),
		os.Symlink(proxyPath, filepath.Join(programs, "codex-bridge")),
		os.Symlink(codexPath, filepath.Join(programs, "codex")),
		os.Symlink(sudo, filepath.Join(programs, "sudo")),
		os.Symlink(neovimProgram(t), filepath.Join(programs, "nvim")),
	))
	w.home = codexHome
	w.env = slices.DeleteFunc(w.env, func(one string) bool {
		return strings.HasPrefix(one, "CODEX_") && one != w.marker || strings.HasPrefix(one, "XDG_")
	})
	caches, err := exec.CommandContext(deadline(t), "go", "env", "GOCACHE", "GOMODCACHE").Output()
	w.must(err)
	places := strings.Fields(string(caches))
	w.env = append(w.env, "GOCACHE="+places[0], "GOMODCACHE="+places[1], "COLUMNS=1000",
		"PATH="+strings.Join([]string{filepath.Join(home, ".local", "bin"), programs, filepath.Join(modules, ".bin"), os.Getenv("PATH")}, ":"))
	return r
}

// configure writes the user's configuration of the bridge.
func (r *reader) configure(text string) { r.write("user/.config/codex-bridge/config.toml", text) }

// profile returns the configuration that `init` writes.
func (r *reader) profile(name string) string {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(repositoryRoot(r.t), "cmd", "codex-bridge", "internal", "cli", "init", name+".toml"))
	r.must(err)
	return string(text)
}

// program writes a program.
func (r *reader) program(name, script string) {
	r.must(os.Chmod(r.write(name, "#!/bin/sh\n"+script+"\n"), 0o700))
}

// answers lets the model give a reply to a text; "" is the output of a tool.
func (r *reader) answers(text string, reply ...scripted.Item) {
	r.model.Add(scripted.Step{When: text, Reply: reply})
}

// block returns the first block of the document that begins with a text.
func (r *reader) block(start string) string {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(repositoryRoot(r.t), r.document))
	r.must(err)
	for _, block := range commandBlock.FindAllStringSubmatch(string(text), -1) {
		if strings.HasPrefix(block[2], start) {
			return block[2]
		}
	}
	r.t.Fatalf("%s has no block that begins with %s", r.document, start)
	return ""
}

var (
	endOfCommand = regexp.MustCompile(`\n<command (\d+) ends with (\d+)>\n`)
	typedAnswer  = regexp.MustCompile(`(\[y/N\] )(\w+)\n`)
	progressLine = regexp.MustCompile(`(?m)^· .*\n`)       // only on a terminal, which later erases it
	codexLogLine = regexp.MustCompile(`(?m)^\x1b\[2m.*\n`) // it tells of the machine, such as a missing bubblewrap
)

// script returns the shell script of the reading, with a mark after each command.
func (r *reader) script(commands []documentCommand) string {
	script := "set -o pipefail\n"
	if r.managed {
		for _, folder := range []string{"/usr/local/bin", "/var/lib"} {
			own := filepath.Join(r.root, "machine", folder)
			r.must(os.MkdirAll(own, 0o755))
			script += fmt.Sprintf("mount --bind %s %s\n", own, folder)
		}
	}
	here := strings.NewReplacer(r.here...)
	script += r.before + "\nprintf '\\n<command 0 ends with %s>\\n' $?\n"
	for i, command := range append(commands, documentCommand{text: r.after}) {
		text := here.Replace(command.text)
		switch stopped := r.until[command.text]; {
		case stopped != "":
			text = fmt.Sprintf("%s >out & until %s; do kill -0 $! || break; sleep 0.05; done; kill -0 $! && kill $! && { wait $!; true; }", text, stopped)
		case command.prints != "":
			text = "{ " + text + "\n} 2>&1"
		}
		script += fmt.Sprintf("%s\nprintf '\\n<command %d ends with %%s>\\n' $?\n", text, i+1)
	}
	return script
}

// run runs the commands, and checks their exit status and what they print.
func (r *reader) run(t *testing.T) {
	if r.needs != nil {
		r.needs(r)
	}
	commands := slices.DeleteFunc(r.commands(t), func(c documentCommand) bool { return notRun[[2]string{r.document, c.text}] != "" })
	for i := 0; i < len(r.here); i += 2 {
		if !slices.ContainsFunc(commands, func(c documentCommand) bool { return strings.Contains(c.text, r.here[i]) }) {
			t.Errorf("no command has %q, which the reading replaces", r.here[i])
		}
	}
	for _, command := range commands {
		for _, typed := range typedAnswer.FindAllStringSubmatch(command.prints, -1) {
			r.typed += typed[2] + "\n"
		}
	}
	argv := []string{"bash", r.write("reading.sh", r.script(commands))}
	if r.managed {
		argv = r.requiring("", argv...)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	shell := exec.CommandContext(ctx, argv[0], argv[1:]...)
	shell.Env, shell.Dir, shell.Stdin = r.env, r.folder, strings.NewReader(r.typed)
	shell.WaitDelay = time.Second // a server may outlive a shell that failed
	var stderr strings.Builder
	shell.Stderr = &stderr
	out, err := shell.Output()
	if err != nil {
		t.Errorf("the shell: %v", err)
	}
	r.check(t, commands, string(out))
	if r.done != nil {
		r.done()
	}
	if t.Failed() {
		t.Logf("stdout:\n%s\nstderr:\n%s", out, stderr.String())
	}
}

// check compares the output of the commands with the document.
func (r *reader) check(t *testing.T, commands []documentCommand, out string) {
	marks := endOfCommand.FindAllStringSubmatchIndex(out, -1)
	if len(marks) != len(commands)+2 { // with those before and after the document's
		t.Errorf("%d of %d commands ended", len(marks), len(commands)+2)
	}
	at := 0
	for i, mark := range marks {
		text := codexLogLine.ReplaceAllString(strings.ReplaceAll(out[at:mark[0]], filepath.Join(r.root, "user"), "~"), "")
		text = noBubblewrap.ReplaceAllString(text, "")
		status := out[mark[4]:mark[5]]
		at = mark[1]
		name, want := "the preparation", ""
		if i > 0 && i <= len(commands) {
			name, want = commands[i-1].text, commands[i-1].prints
		}
		if status != "0" {
			t.Errorf("%s\nends with %s", name, status)
		}
		want = typedAnswer.ReplaceAllString(progressLine.ReplaceAllString(want, ""), "$1")
		if want != "" && !printed(want).MatchString(text) {
			t.Errorf("%s\nprints\n%s\nThe document says\n%s", name, text, want)
		}
	}
}

// TestDocuments runs the commands of all documents as they stand.
func TestDocuments(t *testing.T) {
	t.Parallel()
	needsLinux(t, "the guides are for it")
	for _, one := range readings {
		t.Run(strings.ReplaceAll(one.document, "/", "-"), func(t *testing.T) {
			t.Parallel()
			newReader(t, one).run(t)
		})
	}
}
