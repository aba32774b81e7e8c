package bridgetest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// unchecked are the packages that can start a goroutine and whose tests do not check for leaks, with
// the reason.
var unchecked = map[string]string{
	"cmd/codex-bridge":                 "most of its tests run the program as a process, and testscript ends this one",
	"cmd/codex-bridge/internal/follow": "the reader of the terminal lives as long as the process",
	"cmd/bridge-schema":                "it is a short-lived program",
	"cmd/bridge-bench":                 "it is a short-lived program",
	"cmd/bridge-mutate":                "it is a short-lived program",
}

// packageInfo describes a package.
type packageInfo struct {
	starts  bool // has a go statement, or calls a function that starts a goroutine
	tested  bool
	checked bool
	imports []string // of this module
}

// readModule returns the packages of the module by folder.
func readModule(t *testing.T) map[string]*packageInfo {
	t.Helper()
	all := make(map[string]*packageInfo)
	walkModule(t, func(folder, file string) error {
		if all[folder] == nil {
			all[folder] = &packageInfo{}
		}
		return all[folder].read(file)
	})
	return all
}

// walkModule calls visit for each Go file of the module with its folder in the module.
func walkModule(t *testing.T, visit func(folder, file string) error) {
	t.Helper()
	const root = "../.."
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := entry.Name(); entry.IsDir() && (name == "node_modules" || name == "testdata" || name != ".." && strings.HasPrefix(name, ".")) {
			return filepath.SkipDir
		}
		if _, err := os.Stat(filepath.Join(file, "go.mod")); entry.IsDir() && file != root && err == nil {
			return filepath.SkipDir // another module
		}
		if entry.IsDir() || !strings.HasSuffix(file, ".go") {
			return nil
		}
		folder, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return err
		}
		return visit(filepath.ToSlash(folder), file)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// read adds one file.
func (s *packageInfo) read(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if strings.HasSuffix(file, "_test.go") {
		s.tested = true
		for _, call := range []string{"goleak.VerifyTestMain(", "goleak.Find(", "bridgetest.Main("} {
			s.checked = s.checked || strings.Contains(string(text), call)
		}
		return nil
	}
	tree, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, i := range tree.Imports {
		if name, err := strconv.Unquote(i.Path.Value); err == nil && strings.HasPrefix(name, "codex-bridge.example/") {
			s.imports = append(s.imports, strings.TrimPrefix(name, "codex-bridge.example/"))
		}
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			s.starts = true
		case *ast.CallExpr: // of a sync.WaitGroup or an errgroup.Group; context.AfterFunc and time.AfterFunc
			if f, ok := n.Fun.(*ast.SelectorExpr); ok && (f.Sel.Name == "Go" || f.Sel.Name == "AfterFunc") {
				s.starts = true
			}
		}
		return true
	})
	return nil
}

// The tests of each package that starts goroutines, itself or by an import, must check for leaks.
func TestPackagesCheckForGoroutineLeaks(t *testing.T) {
	all := readModule(t)
	var starts func(folder string) string
	known := make(map[string]string)
	starts = func(folder string) string { // returns the package that starts goroutines, or ""
		if by, ok := known[folder]; ok {
			return by
		}
		known[folder] = ""
		s := all[folder]
		if s == nil {
			t.Fatalf("no package %s", folder)
		}
		if s.starts {
			known[folder] = folder
			return folder
		}
		for _, i := range s.imports {
			if by := starts(i); by != "" {
				known[folder] = by
				break
			}
		}
		return known[folder]
	}
	for folder, s := range all {
		by := starts(folder)
		reason, excused := unchecked[folder]
		switch {
		case !s.tested || by == "":
			if excused {
				t.Errorf("%s is excused (%s) and needs no excuse", folder, reason)
			}
		case s.checked == excused && excused:
			t.Errorf("%s is excused (%s), but checks for leaks", folder, reason)
		case !s.checked && !excused:
			t.Errorf("%s starts goroutines, by %s, and its tests do not check for leaks: "+
				"func TestMain(m *testing.M) { bridgetest.Main(m) }", folder, by)
		}
	}
	if known[path.Join("bridge", "child")] == "" || known[path.Join("bridge", "search")] != "" {
		t.Error("packages that start goroutines are not recognised")
	}
}
