//go:build linux

package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/codex/release"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/cmd/internal/releasediff"
	"codex-bridge.example/cmd/internal/scripted"
)

// olderRelease is the release from which TestMoveFromOlder moves.
const olderRelease = "0.169.0"

// keepEnv keeps the clone of TestMoveFromOlder, for a look at it.
const keepEnv = "CODEX_BRIDGE_KEEP_CLONE"

// A clone with the tables of an older release gets those of the tested one, but for the judgement of a person. The clone
// has the last commit.
func TestMoveFromOlder(t *testing.T) {
	if os.Getenv(wideEnv) == "" {
		return
	}
	root, err := scripted.Folder("bridge-releases-test-")
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv(keepEnv) == "" {
		defer os.RemoveAll(root)
	}
	t.Log("the clone is", root)
	c := clone{t, root}
	c.run("git", "clone", "--quiet", c.abs(repository), root)
	c.makeOlder()
	c.run("git", "-c", "user.name=test", "-c", "user.email=test@codex-bridge.example", "commit", "--quiet", "--all", "-m", "test: older tables")
	t.Log(c.run("make", "codex-release", "TO="+methods.Measured, "SUMMARY="+filepath.Join(root, ".tools", "summary.md")))

	if left, err := filepath.Glob(filepath.Join(root, ".tools", "codex-release-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
	for name := range strings.Lines(c.run("git", "diff", "--name-only")) {
		if name = strings.TrimSpace(name); !data.MatchString(name) {
			t.Errorf("a pull request can't change %s", name)
		}
	}
	// The other files are those of the last commit.
	tables, err := filepath.Glob(filepath.Join(root, "bridge", "methods", "*.txt"))
	if err != nil || len(tables) < 6 {
		t.Fatal(tables, err)
	}
	judged := []string{"docs/reference/methods.md"}
	for i, path := range tables {
		tables[i] = filepath.Base(path)
		judged = append(judged, "bridge/methods/"+tables[i])
	}
	for name := range strings.Lines(c.run("git", "diff", "--name-only", "origin/HEAD")) {
		if name = strings.TrimSpace(name); !slices.Contains(judged, name) {
			t.Errorf("%s differs:\n%s", name, tail(c.run("git", "diff", "origin/HEAD", "--", name)))
		}
	}
	// So are the rows, but for new names.
	for _, name := range tables {
		path := "bridge/methods/" + name
		moved, waits := c.rows(c.read(path)), unjudged(name, c.read(path), methods.Measured)
		current := c.rows(c.run("git", "show", "origin/HEAD:"+path))
		for _, line := range moved {
			if !slices.Contains(current, line) && !slices.Contains(waits, line) {
				t.Errorf("%s has the row %q, which a person would not judge", name, line)
			}
		}
		for _, line := range current {
			if !slices.Contains(moved, line) && !strings.Contains(line, "| "+methods.Measured+" |") {
				t.Errorf("%s lacks the row %q", name, line)
			}
		}
	}
}

// clone is a clone of the repository.
type clone struct {
	t    *testing.T
	root string
}

func (c *clone) abs(path string) string {
	c.t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		c.t.Fatal(err)
	}
	return path
}

func (c *clone) run(name string, args ...string) string {
	c.t.Helper()
	return c.runWith(nil, name, args...)
}

func (c *clone) runWith(env []string, name string, args ...string) string {
	c.t.Helper()
	cmd := exec.CommandContext(c.t.Context(), name, args...)
	cmd.Dir, cmd.Env = c.root, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

func (c *clone) read(name string) string {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(c.root, name))
	if err != nil {
		c.t.Fatal(err)
	}
	return string(text)
}

func (c *clone) write(name, text string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.root, name), []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// rows returns the rows of a table with the same spaces as unjudged.
func (c *clone) rows(text string) (rows []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			rows = append(rows, strings.Join(cellsOf(line), " | "))
		}
	}
	return rows
}

// makeOlder gives the clone the tables of the older release. cmd/bridge-schema holds them against that.
func (c *clone) makeOlder() {
	c.t.Helper()
	older, err := install(c.t.Context(), c.root, olderRelease)
	if err != nil {
		c.t.Fatal(err)
	}
	defer older.remove()
	names := c.load(older)
	files, err := filepath.Glob(filepath.Join(c.root, "bridge", "methods", "*.txt"))
	if err != nil {
		c.t.Fatal(err)
	}
	for _, path := range files {
		path = "bridge/methods/" + filepath.Base(path)
		c.write(path, withoutNewer(c.read(path), names))
	}
	tested, err := release.Tested()
	if err != nil {
		c.t.Fatal(err)
	}
	var commands strings.Builder
	for line := range strings.Lines(c.read("bridge/methods/commands.txt")) {
		name, _, _ := strings.Cut(cellsOf(line)[0], ",")
		if !slices.Contains(tested.Commands, name) || slices.Contains(names.Commands, name) {
			commands.WriteString(line)
		}
	}
	c.write("bridge/methods/commands.txt", commands.String())
	schema, err := names.Encode()
	if err != nil {
		c.t.Fatal(err)
	}
	c.write("bridge/methods/schema.json", string(schema))
	c.write("bridge/methods/shapes.json", `{"version": "`+olderRelease+`", "requests": {}, "notifications": {}, "answers": {}, "definitions": {}}`)
	c.runWith([]string{codex.Env + "=" + older.native}, "go", "run", "./cmd/bridge-schema", "-write-older")

	before, _, _ := strings.Cut(c.read(namesFile), ",\n\""+methods.Measured+"\": ")
	c.write(namesFile, before+"\n}")
	head, rows, err := parsePage(c.read(pageFile))
	if err != nil {
		c.t.Fatal(err)
	}
	c.write(pageFile, head+table(slices.DeleteFunc(rows, func(r row) bool { return r.version == methods.Measured })))
	for _, err := range []error{
		pin(c.t.Context(), c.root, olderRelease), setup(c.t.Context(), c.root, olderRelease), moveRanges(c.root, methods.Measured, olderRelease), moveVersion(c.root, methods.Measured, olderRelease),
	} {
		if err != nil {
			c.t.Fatal(err)
		}
	}
}

func (c *clone) load(one *installed) *release.Release {
	c.t.Helper()
	work, err := scripted.Folder("bridge-releases-test-")
	if err != nil {
		c.t.Fatal(err)
	}
	defer os.RemoveAll(work)
	names, err := releasediff.Load(context.WithoutCancel(c.t.Context()), codex.Command{Path: one.native}, work)
	if err != nil || len(names.Unread) > 0 {
		c.t.Fatal(err, names)
	}
	return names
}

// withoutNewer returns a table without the rows of newer releases. Features get the stages and defaults of the older
// release.
func withoutNewer(text string, names *release.Release) string {
	var b strings.Builder
	var columns []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "codex ") {
			line = "codex " + names.Version + "\n"
		}
		if cells := cellsOf(strings.TrimPrefix(line, "#")); slices.Contains(cells, "since") {
			columns = cells
		}
		cells := cellsOf(line)
		if strings.HasPrefix(line, "#") || len(cells) < 2 || len(cells) != len(columns) {
			b.WriteString(line)
			continue
		}
		since, until := cells[slices.Index(columns, "since")], &cells[slices.Index(columns, "until")]
		if since != "" && codex.CompareVersions(since, names.Version) > 0 {
			continue
		}
		if *until != "" && codex.CompareVersions(*until, names.Version) >= 0 {
			*until = ""
		}
		if is := names.Features[cells[0]]; is != "" && slices.Contains(columns, "stage") {
			at := strings.LastIndexByte(is, ' ')
			cells[1], cells[2] = is[:at], is[at+1:]
		}
		// An empty cell has one space.
		b.WriteString(strings.TrimSpace(strings.ReplaceAll(strings.Join(cells, " | "), "|  ", "| ")) + "\n")
	}
	return b.String()
}
