package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// woven is a package with many of its mutants in it at the same time. A test program is built once
// for all of them.
type woven struct {
	root    string // of the module
	overlay string
	ids     map[place]int // of the mutants that it holds
}

// place tells the mutants of a package apart.
type place struct {
	file   string
	offset int
	typ    string
}

func (m mutant) place() place { return place{m.File, m.offset, m.Type} }

// weavePackage weaves the mutants into their package, apart from those with which it does not
// compile. It keeps its files in folder.
func weavePackage(ctx context.Context, root, folder, pkg string, mutants []mutant) (*woven, error) {
	left := make(map[place]int)
	for i, m := range mutants {
		left[m.place()] = i + 1
	}
	w := &woven{root: root, overlay: filepath.Join(folder, "overlay.json")}
	for {
		replaced := make(map[string]string)
		w.ids = make(map[place]int)
		byFile := make(map[string]map[int]map[string]int)
		for p, id := range left {
			if byFile[p.file] == nil {
				byFile[p.file] = make(map[int]map[string]int)
			}
			if byFile[p.file][p.offset] == nil {
				byFile[p.file][p.offset] = make(map[string]int)
			}
			byFile[p.file][p.offset][p.typ] = id
		}
		var name string
		for file, at := range byFile {
			original := filepath.Join(root, filepath.FromSlash(file))
			source, err := os.ReadFile(original)
			if err != nil {
				return nil, err
			}
			text, ids, err := weave(file, source, at)
			if err != nil {
				return nil, err
			}
			for _, id := range ids {
				w.ids[mutants[id-1].place()] = id
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.PackageClauseOnly)
			if err != nil {
				return nil, err
			}
			name = parsed.Name.Name
			replaced[original] = filepath.Join(folder, filepath.Base(file))
			if err := os.WriteFile(replaced[original], text, 0o600); err != nil {
				return nil, err
			}
		}
		if len(w.ids) == 0 {
			return w, nil
		}
		const switches = "zz_mutant_switch.go"
		at := filepath.Join(folder, switches)
		replaced[filepath.Join(root, filepath.FromSlash(pkg), switches)] = at
		text, err := json.Marshal(map[string]any{"Replace": replaced})
		if err != nil {
			return nil, err
		}
		if err := errors.Join(os.WriteFile(at, fmt.Appendf(nil, switchSource, name, len(mutants)+1), 0o600), os.WriteFile(w.overlay, text, 0o600)); err != nil {
			return nil, err
		}
		cmd := exec.CommandContext(ctx, "go", "build", "-gcflags=-e", "-overlay="+w.overlay, "./"+pkg)
		cmd.Dir = root
		out, err := cmd.CombinedOutput()
		if err == nil {
			return w, nil
		}
		before := len(left)
		for _, m := range compileError.FindAllSubmatch(out, -1) {
			line, _ := strconv.Atoi(string(m[2]))
			drop(left, mutants, pkg+"/"+string(m[1]), line)
		}
		if len(left) == before {
			return nil, fmt.Errorf("the package with all mutants does not compile: %w\n%s", err, out)
		}
	}
}

// compileError is a message of the compiler, with the file and the line.
var compileError = regexp.MustCompile(`(?m)([^/\s:]+\.go):(\d+):`)

// drop removes the mutants that the compiler may have meant: additions of the line, which may be of
// strings; else all of the line; else all of the function.
func drop(left map[place]int, mutants []mutant, file string, line int) {
	function := ""
	for _, m := range mutants {
		if m.File == file && m.Line <= line {
			function = m.Func
		}
	}
	for _, fits := range []func(m mutant) bool{
		func(m mutant) bool { return m.Line == line && m.Type == "ARITHMETIC_BASE" },
		func(m mutant) bool { return m.Line == line },
		func(m mutant) bool { return m.Func == function },
	} {
		before := len(left)
		maps.DeleteFunc(left, func(_ place, id int) bool { return mutants[id-1].File == file && fits(mutants[id-1]) })
		if len(left) < before {
			return
		}
	}
}

// suite is the tests of a package, which run code with woven mutants.
type suite struct {
	program string
	folder  string
	env     []string // beside that of this program
	tests   []string // that pass while no mutant is active, the quickest first
	took    map[string]time.Duration
	reaches map[int][]string // the tests that come by a mutant
	failing []string         // tests that the weaving alone makes fail
}

// newSuite builds the chosen tests of a package and runs each on its own, without an active mutant.
// It returns nil if the package has no tests.
func newSuite(ctx context.Context, root, folder, pkg, overlay string, chosen func(name string) bool, env ...string) (*suite, error) {
	s := &suite{
		program: filepath.Join(folder, strings.ReplaceAll(pkg, "/", "-")+".test"), folder: filepath.Join(root, filepath.FromSlash(pkg)), env: env,
		took: make(map[string]time.Duration), reaches: make(map[int][]string),
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-o", s.program, "-overlay="+overlay, "./"+pkg)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go test -c %s: %w\n%s", pkg, err, out)
	}
	if _, err := os.Stat(s.program); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	list := exec.CommandContext(ctx, s.program, "-test.list", ".")
	list.Dir, list.Env = s.folder, append(testEnviron(), env...)
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("%s -test.list: %w", pkg, err)
	}
	for name := range strings.FieldsSeq(string(out)) {
		if strings.HasPrefix(name, "Benchmark") || !chosen(name) {
			continue
		}
		trace := filepath.Join(folder, "trace")
		began := time.Now()
		got, err := s.run(ctx, []string{name}, 2*time.Minute, "BRIDGE_MUTANT_TRACE="+trace)
		if got == killed { // perhaps by itself
			got, err = s.run(ctx, []string{name}, 2*time.Minute, "BRIDGE_MUTANT_TRACE="+trace)
		}
		if err != nil {
			return nil, err
		}
		s.took[name] = time.Since(began)
		if got != survived {
			s.failing = append(s.failing, name)
			continue
		}
		s.tests = append(s.tests, name)
		seen, err := readTrace(trace)
		if err != nil {
			return nil, err
		}
		for _, id := range seen {
			s.reaches[id] = append(s.reaches[id], name)
		}
	}
	slices.SortStableFunc(s.tests, func(a, b string) int { return cmp.Compare(s.took[a], s.took[b]) })
	return s, nil
}

// readTrace returns the mutants that a program came by, and removes the file.
func readTrace(name string) ([]int, error) {
	f, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer os.Remove(name)
	defer f.Close()
	var all []int
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		id, err := strconv.Atoi(lines.Text())
		if err != nil {
			return nil, err
		}
		all = append(all, id)
	}
	slices.Sort(all)
	return slices.Compact(all), lines.Err()
}

// try runs the tests with a mutant: first the quick ones that reach it, then each of the others
// that do, and last all others, because a test may take another way each time.
func (s *suite) try(ctx context.Context, id int) (outcome, error) {
	if len(s.reaches[id]) == 0 {
		return survived, nil
	}
	var groups [][]string
	var quick, rest []string
	var sum time.Duration
	for _, name := range s.tests {
		switch {
		case !slices.Contains(s.reaches[id], name):
			rest = append(rest, name)
		case sum+s.took[name] < 300*time.Millisecond:
			sum += s.took[name]
			quick = append(quick, name)
		default:
			groups = append(groups, []string{name})
		}
	}
	for _, names := range slices.Concat([][]string{quick}, groups, [][]string{rest}) {
		if len(names) == 0 {
			continue
		}
		limit := spare
		for _, name := range names {
			limit += 5 * s.took[name]
		}
		if got, err := s.run(ctx, names, limit, "BRIDGE_MUTANT="+strconv.Itoa(id)); got != survived || err != nil {
			return got, err
		}
	}
	return survived, nil
}

// spare is the processor time that tests may take with a mutant, beside five times what they take
// without one.
const spare = 2 * time.Second

// run runs tests of the program with a limit of processor time, which a busy machine does not use
// up, and one of memory.
func (s *suite) run(ctx context.Context, names []string, limit time.Duration, env string) (outcome, error) {
	const limits = `ulimit -t "$1"; ulimit -v "${BRIDGE_MUTANT_MEMORY:-8000000}" 2>/dev/null; shift; exec "$@"`
	wall := 2*limit + 10*time.Second // of tests that wait for each other
	ctx, cancel := context.WithTimeout(ctx, wall+time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", limits, "sh", strconv.Itoa(int(limit.Seconds())+1),
		s.program, "-test.run", "^("+strings.Join(names, "|")+")$", "-test.failfast", "-test.timeout", wall.String())
	cmd.Dir = s.folder
	cmd.Env = append(append(testEnviron(), s.env...), env)
	return outcomeOf(ctx, cmd)
}
