// Package vectors reads testdata/vectors for tests: what the system we were asked to build
// was seen to do. DEVIATIONS.md beside them says where the bridge does something else.
package vectors

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// Read reads the file of that name into a value. A test runs in its package's folder; the
// vectors lie in testdata of one above it.
func Read(t testing.TB, name string, into any) {
	t.Helper()
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		text, err := os.ReadFile(filepath.Join(folder, "testdata", "vectors", name))
		if err == nil {
			if err := json.Unmarshal(text, into); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			return
		}
		above := filepath.Dir(folder)
		if !os.IsNotExist(err) || above == folder {
			t.Fatalf("no vectors %s: %v", name, err)
		}
		folder = above
	}
}
