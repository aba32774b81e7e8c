// Package vectors reads testdata/vectors for tests: what the system we were asked to build
// was seen to do. DEVIATIONS.md beside them says where the bridge does something else.
package vectors

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// EnvFolder names a folder with other files of the same form. Its files take the place of those in
// testdata/vectors. The path is absolute.
const EnvFolder = "CODEX_BRIDGE_VECTORS"

// Read reads the file of that name into a value.
func Read(t testing.TB, name string, into any) {
	t.Helper()
	text, found := other(t, name)
	if !found {
		text = own(t, name)
	}
	decode(t, name, text, into)
}

// Member returns a member of a file; "a.b" is the member b of the member a. If the file of the
// other folder has no such member, or an empty one, Member returns that of testdata/vectors.
func Member(t testing.TB, name, path string) json.RawMessage {
	t.Helper()
	if text, found := other(t, name); found {
		if v := member(t, name, text, path); !isEmpty(v) {
			return v
		}
	}
	v := member(t, name, own(t, name), path)
	if isEmpty(v) {
		t.Fatalf("%s has no cases in %q", name, path)
	}
	return v
}

// Cases returns the cases in a member of a file: the elements of a list, or one value.
func Cases(t testing.TB, name, path string) (all []json.RawMessage) {
	t.Helper()
	v := Member(t, name, path)
	if json.Unmarshal(v, &all) != nil {
		return []json.RawMessage{v}
	}
	return all
}

// HasDeviation reports whether DEVIATIONS.md has a row that begins with these cells.
func HasDeviation(t testing.TB, row string) bool {
	t.Helper()
	return strings.Contains(string(own(t, "DEVIATIONS.md")), "\n| "+row+" |")
}

func member(t testing.TB, name string, text []byte, path string) (v json.RawMessage) {
	t.Helper()
	v = text
	for _, key := range strings.Split(path, ".") {
		var members map[string]json.RawMessage
		decode(t, name, v, &members)
		if v = members[key]; v == nil {
			return nil
		}
	}
	return v
}

func isEmpty(v json.RawMessage) bool {
	v = bytes.TrimSpace(v)
	return len(v) == 0 || bytes.Equal(v, []byte("null")) || bytes.Equal(v, []byte("[]"))
}

func decode(t testing.TB, name string, text []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// other returns a file of the folder in the environment.
func other(t testing.TB, name string) (text []byte, found bool) {
	t.Helper()
	folder := os.Getenv(EnvFolder)
	if folder == "" {
		return nil, false
	}
	text, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return text, err == nil
}

// own returns a file of testdata/vectors. A test runs in its package's folder; the vectors are in
// testdata of a folder above it.
func own(t testing.TB, name string) []byte {
	t.Helper()
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		text, err := os.ReadFile(filepath.Join(folder, "testdata", "vectors", name))
		if err == nil {
			return text
		}
		above := filepath.Dir(folder)
		if !os.IsNotExist(err) || above == folder {
			t.Fatalf("no vectors %s: %v", name, err)
		}
		folder = above
	}
}
