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

// unchecked are packages that can start a goroutine and whose tests do not look for what is
// left of them, and why.
var unchecked = map[string]string{
	"cmd/codex-bridge":                 "most of its tests run the program as a process, and testscript ends this one",
	"cmd/codex-bridge/internal/follow": "one that reads the terminal's keys lives as long as the process",
	"cmd/bridge-schema":                "it is a program that ends",
	"cmd/bridge-bench":                 "it is a program that ends",
	"cmd/bridge-mutate":                "it is a program that ends",
}

// source is what is read of a package.
type packageInfo struct {
	starts  bool // has a go statement, or calls what starts a goroutine
	tested  bool
	checked bool
	imports []string // of this module
}

// module is the module's packages, by their folders.
func readModule(t *testing.T) map[string]*packageInfo {
	t.Helper()
	const root = "../.."
	all := make(map[string]*packageInfo)
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
		folder = filepath.ToSlash(folder)
		if all[folder] == nil {
			all[folder] = &packageInfo{}
		}
		return all[folder].read(file)
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// read takes in one file.
func (s *packageInfo) read(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if strings.HasSuffix(file, "_test.go") {
		s.tested = true
		s.checked = s.checked || strings.Contains(string(text), "goleak.VerifyTestMain(") || strings.Contains(string(text), "bridgetest.Main(")
		return nil
	}
	tree, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, i := range tree.Imports {
		if name, err := strconv.Unquote(i.Path.Value); err == nil && strings.HasPrefix(name, "codex-bridge/") {
			s.imports = append(s.imports, strings.TrimPrefix(name, "codex-bridge/"))
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

// Every package that starts goroutines, itself or by a package that it is made of, fails its
// tests when one is left behind.
func TestPackagesCheckForGoroutineLeaks(t *testing.T) {
	all := readModule(t)
	var starts func(folder string) string
	known := make(map[string]string)
	starts = func(folder string) string { // the package that does, "" none
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
			t.Errorf("%s is excused (%s), and looks for goroutines", folder, reason)
		case !s.checked && !excused:
			t.Errorf("%s starts goroutines, by %s, and its tests do not look for those that are left: "+
				"func TestMain(m *testing.M) { bridgetest.Main(m) }", folder, by)
		}
	}
	if known[path.Join("bridge", "child")] == "" || known[path.Join("bridge", "search")] != "" {
		t.Error("who starts goroutines is not found out")
	}
}
