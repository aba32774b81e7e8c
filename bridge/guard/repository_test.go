package guard_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"codex-bridge.example/bridge/guard"
)

// A txtar archive creates the folders; $ROOT in it is their folder. A file named X/ is a folder.
// The first line of the comment has the folder to look up, the others are its roots.
func TestRoots(t *testing.T) {
	for name, text := range map[string]string{
		"no repository":                   "a/b\n-- a/b/x --\n",
		"root":                            "a\na\n-- a/.git/HEAD --\nref: refs/heads/main\n",
		"subfolder":                       "a/b/c\na\n-- a/.git/HEAD --\nref: refs/heads/main\n-- a/b/c/x --\n",
		"a folder that is not there yet":  "a/b/c\na\n-- a/.git/HEAD --\nref: refs/heads/main\n",
		"a folder in a file":              "a/file/c\na\n-- a/.git/HEAD --\nref: refs/heads/main\n-- a/file --\n",
		"the nearest":                     "a/b\na/b\n-- a/.git/HEAD --\nx\n-- a/b/.git/HEAD --\nx\n",
		"an empty .git":                   "a/b\n-- .git/HEAD --\nx\n-- a/.git/ --\n-- a/b/x --\n",
		"a .git that is a folder of HEAD": "a\n-- a/.git/HEAD/x --\n",
		"an empty .git file":              "a/b\na\n-- a/.git --\n-- a/b/x --\n",
		"a .git file to nowhere":          "a\na\n-- a/.git --\ngitdir: /nowhere/.git/worktrees/a\n",
		"submodule":                       "a/mod\na/mod\n-- a/.git/HEAD --\nx\n-- a/.git/modules/mod/HEAD --\nx\n-- a/mod/.git --\ngitdir: ../.git/modules/mod\n",
		"linked worktree": `wt/sub
wt
main
-- main/.git/HEAD --
ref: refs/heads/main
-- main/.git/worktrees/wt/gitdir --
$ROOT/wt/.git
-- main/.git/worktrees/wt/commondir --
../..
-- wt/.git --
gitdir: $ROOT/main/.git/worktrees/wt
-- wt/sub/x --
`,
		"linked worktree, relative": `wt
wt
main
-- main/.git/worktrees/wt/gitdir --
../../../../wt/.git
-- main/.git/worktrees/wt/commondir --
../..
-- wt/.git --
gitdir: ../main/.git/worktrees/wt
`,
		"claims to be a worktree": `evil
evil
-- main/.git/worktrees/wt/gitdir --
$ROOT/wt/.git
-- main/.git/worktrees/wt/commondir --
../..
-- wt/.git --
gitdir: $ROOT/main/.git/worktrees/wt
-- evil/.git --
gitdir: $ROOT/main/.git/worktrees/wt
`,
		"claims a main worktree that knows nothing of it": `evil
evil
-- main/.git/worktrees/wt/HEAD --
x
-- evil/.git --
gitdir: $ROOT/main/.git/worktrees/wt
`,
		"brings the administrative folder along": `evil
evil
-- evil/git/worktrees/wt/gitdir --
$ROOT/evil/.git
-- evil/git/worktrees/wt/commondir --
$ROOT/main/.git
-- main/.git/HEAD --
x
-- evil/.git --
gitdir: $ROOT/evil/git/worktrees/wt
`,
		"brings along a repository that is no .git": `evil
evil
-- main/worktrees/wt/gitdir --
$ROOT/evil/.git
-- main/worktrees/wt/commondir --
../..
-- evil/.git --
gitdir: $ROOT/main/worktrees/wt
`,
		"worktrees in another folder": `wt
wt
-- main/.git/others/wt/gitdir --
$ROOT/wt/.git
-- main/.git/others/wt/commondir --
../..
-- wt/.git --
gitdir: $ROOT/main/.git/others/wt
`,
		"no gitdir": `wt
wt
-- main/.git/worktrees/wt/gitdir --
$ROOT/wt/.git
-- main/.git/worktrees/wt/commondir --
../..
-- wt/.git --
$ROOT/main/.git/worktrees/wt
`,
		"more than a path": `wt
wt
-- main/.git/worktrees/wt/gitdir --
$ROOT/wt/.git
-- main/.git/worktrees/wt/commondir --
../..
-- wt/.git --
gitdir: $ROOT/main/.git/worktrees/wt
gitdir: $ROOT/other
`,
	} {
		t.Run(name, func(t *testing.T) {
			root := world(t).StartFolder
			archive := txtar.Parse([]byte(strings.ReplaceAll(text, "$ROOT", filepath.ToSlash(root))))
			plant(t, root, archive)
			asked := strings.Split(strings.TrimSpace(string(archive.Comment)), "\n")
			got, err := guard.Roots(filepath.Join(root, asked[0]))
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for _, folder := range asked[1:] {
				want = append(want, filepath.Join(root, folder))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func plant(t *testing.T, root string, archive *txtar.Archive) {
	t.Helper()
	for _, f := range archive.Files {
		path := filepath.Join(root, f.Name)
		dir := filepath.Dir(path)
		if strings.HasSuffix(f.Name, "/") {
			dir = path
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if dir == path {
			continue
		}
		if err := os.WriteFile(path, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Links among git's pointers, and files that are too long, link to no main worktree.
func TestRootsOfOddFiles(t *testing.T) {
	const linked = `-- main/.git/worktrees/wt/gitdir --
$ROOT/wt/.git
-- main/.git/worktrees/wt/commondir --
../..
-- wt/.git --
gitdir: $ROOT/main/.git/worktrees/wt
`
	for name, spoil := range map[string]func(root string) error{
		"nothing": func(string) error { return nil },
		"a link for gitdir": func(root string) error {
			file := filepath.Join(root, "main/.git/worktrees/wt/gitdir")
			return errors.Join(os.Rename(file, file+"2"), os.Symlink(file+"2", file))
		},
		"a link for .git": func(root string) error {
			file := filepath.Join(root, "wt/.git")
			return errors.Join(os.Rename(file, file+"2"), os.Symlink(file+"2", file))
		},
		"a loop for the administrative folder": func(root string) error {
			dir := filepath.Join(root, "main/.git/worktrees/wt")
			return errors.Join(os.RemoveAll(dir), os.Symlink(dir, dir))
		},
		"a file of 64 KiB": func(root string) error {
			file := filepath.Join(root, "wt/.git")
			text, err := os.ReadFile(file)
			return errors.Join(err, os.WriteFile(file, append([]byte(strings.Repeat("\n", 64<<10-len(text))), text...), 0o600))
		},
		"a file of 64 KiB and a byte": func(root string) error {
			file := filepath.Join(root, "wt/.git")
			text, err := os.ReadFile(file)
			return errors.Join(err, os.WriteFile(file, append([]byte(strings.Repeat("\n", 64<<10+1-len(text))), text...), 0o600))
		},
		"a long file": func(root string) error {
			file := filepath.Join(root, "wt/.git")
			text, err := os.ReadFile(file)
			return errors.Join(err, os.WriteFile(file, append(text, strings.Repeat(" ", 1<<20)...), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := world(t).StartFolder
			plant(t, root, txtar.Parse([]byte(strings.ReplaceAll(linked, "$ROOT", filepath.ToSlash(root)))))
			if err := spoil(root); err != nil {
				t.Fatal(err)
			}
			got, err := guard.Roots(filepath.Join(root, "wt"))
			if err != nil {
				t.Fatal(err)
			}
			want := []string{filepath.Join(root, "wt")}
			if name == "nothing" || name == "a file of 64 KiB" {
				want = append(want, filepath.Join(root, "main"))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A pointer of two lines links to no main worktree, even if a folder has such a name.
func TestRootsOfNameWithLineEnd(t *testing.T) {
	root := world(t).StartFolder
	plant(t, root, txtar.Parse([]byte(strings.ReplaceAll("-- main/.git/worktrees/wt/commondir --\n../..\n-- wt/.git --\ngitdir: $ROOT/main/.git/worktrees/wt\n", "$ROOT", filepath.ToSlash(root)))))
	folder := filepath.Join(root, "w\nt")
	err := errors.Join(os.Rename(filepath.Join(root, "wt"), folder),
		os.WriteFile(filepath.Join(root, "main/.git/worktrees/wt/gitdir"), []byte(filepath.Join(folder, ".git")), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := guard.Roots(folder); err != nil || len(got) != 1 || got[0] != folder {
		t.Errorf("%q, %v", got, err)
	}
}

// A .git that links to itself is an error, and not a missing repository.
func TestRootsOfLoop(t *testing.T) {
	root := world(t).StartFolder
	git := filepath.Join(root, ".git")
	if err := os.Symlink(git, git); err != nil {
		t.Fatal(err)
	}
	if got, err := guard.Roots(root); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, %v", got, err)
	}
}

func FuzzGitDir(f *testing.F) {
	for _, seed := range []string{"gitdir: /a/b\n", "gitdir:x", "gitdir:\n", "", "gitdir: a\nb", "\xff", "gitdir: \x00", "ref: x", " \tgitdir: a b \r\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		path, ok := guard.GitDir(text)
		if ok != (path != "") || strings.ContainsAny(path, "\n\r\x00") || path != strings.TrimSpace(path) {
			t.Fatalf("%q: %q, %t", text, path, ok)
		}
		if !ok {
			return
		}
		if again, ok := guard.GitDir([]byte("gitdir: " + path + "\n")); !ok || again != path {
			t.Fatalf("%q: %q, then %q, %t", text, path, again, ok)
		}
	})
}
