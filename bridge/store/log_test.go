package store_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"codex-bridge.example/bridge/statefolder"
	"codex-bridge.example/bridge/store"
)

// A log keeps what earlier processes wrote, and starts again when it is full.
func TestLogIsBounded(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "state")
	t.Setenv(statefolder.Env, folder)
	size := func() int64 {
		info, err := os.Stat(filepath.Join(folder, "x.log"))
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	part := bytes.Repeat([]byte("x"), 300<<10)
	for i, want := range []int64{1, 2, 3, 1, 2} { // parts in the log
		log, err := store.OpenLog("x.log")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := log.Write(part); err != nil {
			t.Fatal(err)
		}
		log.Close()
		if got := size(); got != want*int64(len(part)) {
			t.Errorf("after %d parts the log has %d bytes, want %d parts", i+1, got, want)
		}
	}
}
