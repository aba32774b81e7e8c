package bridgetest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// temporary are the functions that create or name files among the temporary ones, or in a folder of the caller.
var temporary = []string{"MkdirTemp", "CreateTemp", "TempDir"}

// mayCallTemporary are the files and folders that may call functions of temporary, with the reason.
var mayCallTemporary = map[string]string{
	"bridge/store/scratch.go":                            "the folder is in the state folder",
	"bridge/store/writable.go":                           "the folder is the state folder, or will contain it",
	"bridge/mountpoint/records_linux.go":                 "the folder is in the state folder",
	"bridge/bundle/client.go":                            "the folder is in the state folder",
	"bridge/bundle/files.go":                             "the user names the folder, and the file gets the name that the user wants",
	"cmd/codex-bridge/internal/records/threadschange.go": "the folder is that of the file to replace",
	"cmd/internal/scripted/home.go":                      "the folder is outside the temporary ones; it is for tests, benchmarks and the demo",
	"bridge/bridgetest":                                  "only tests use it",
	"bridge/store/postgrestest":                          "only tests use it",
	"cmd/bridge-bench":                                   "it is a tool for this repository, which commands can change as well",
	"cmd/bridge-mutate":                                  "it is a tool for this repository, which commands can change as well",
	"cmd/bridge-releases":                                "it is a tool for this repository, which commands can change as well",
	"packaging":                                          "the release is in dist of this repository, which commands can change as well",
}

// Sandboxed commands can write temporary folders: they could put a git repository where Codex starts, or a link where
// the bridge or Codex writes a file. So the program creates folders by store.MakeScratch, and no temporary ones.
func TestNoTemporaryFolders(t *testing.T) {
	used := make(map[string]bool)
	walkModule(t, func(folder, file string) error {
		if strings.HasSuffix(file, "_test.go") {
			return nil
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			call, ok := n.(*ast.SelectorExpr)
			if !ok || !slices.Contains(temporary, call.Sel.Name) {
				return true
			}
			if of, ok := call.X.(*ast.Ident); !ok || of.Name != "os" {
				return true
			}
			name := path.Join(folder, filepath.Base(file))
			switch {
			case mayCallTemporary[name] != "":
				used[name] = true
			case mayCallTemporary[folder] != "":
				used[folder] = true
			default:
				t.Errorf("%s has os.%s; use store.MakeScratch, or keep the text in memory", name, call.Sel.Name)
			}
			return true
		})
		return nil
	})
	for name, reason := range mayCallTemporary {
		if !used[name] {
			t.Errorf("%s is excused (%s) and needs no excuse", name, reason)
		}
	}
}
