package config_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"codex-bridge.example/bridge/config"
)

func TestWatchReturnsWhenContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		config.Watch(ctx, config.Options{User: filepath.Join(t.TempDir(), "x")}, func(*config.Config, error) { t.Error("called") })
		if took := time.Since(began); took > 0 {
			t.Error(took)
		}
	})
}

// The first reading of the files would slow the start of Codex.
func TestWatchReadsLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "config.toml")
		began := time.Now()
		start(t, config.Options{User: file}, file)
		if took := time.Since(began); took < 500*time.Millisecond || took > time.Second {
			t.Error(took)
		}
	})
}

// A file that is written in steps is read when it is complete.
func TestWatchWaitsForTheEndOfWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "config.toml")
		changes := start(t, config.Options{User: file}, file)
		go func() {
			for _, text := range []string{"[pol", "[policy]\nmo", "[policy]\nmode = \"enf", policy("enforce")} {
				for range 9 { // together for longer than files must not have changed
					put(t, file, text+strings.Repeat(" ", int(time.Now().UnixMilli()%1000)))
					time.Sleep(20 * time.Millisecond)
				}
			}
			put(t, file, policy("enforce"))
		}()
		expect(t, changes, config.Enforce)
		expectNothing(t, changes)
	})
}

// Continuous writes to the workspace's file, as a model may do, delay other changes by a second only.
func TestWritesDelayOtherChangesByASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		file := filepath.Join(dir, "config.toml")
		changes := start(t, config.Options{User: file, Workspace: filepath.Join(dir, "repository")}, file)
		ctx, cancel := context.WithCancel(t.Context())
		if err := os.Mkdir(filepath.Join(dir, "repository"), 0o700); err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		defer func() { cancel(); <-done }()
		go func() {
			defer close(done)
			for n := 0; ctx.Err() == nil; n++ {
				put(t, filepath.Join(dir, "repository", config.WorkspaceFile), "# "+strings.Repeat("x", n))
				time.Sleep(10 * time.Millisecond)
			}
		}()
		put(t, file, policy("enforce"))
		began := time.Now()
		expect(t, changes, config.Enforce)
		// The interval between two checks, the delay, and the last step of it.
		if took, most := time.Since(began), 500*time.Millisecond+time.Second+100*time.Millisecond; took > most+10*time.Millisecond {
			t.Errorf("%v, want at most %v", took, most)
		}
	})
}

// Between two looks at a file that find the same content, a check may have read another one.
func TestWatchFindsContentThatReturns(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.toml")
	put(t, file, policy("enforce"))
	var modes []config.Mode
	differs, check := config.WatchSteps(config.Options{User: file})
	step := func(mode string) {
		put(t, file, policy(mode))
		check(func(c *config.Config, err error) {
			if err != nil {
				t.Fatal(err)
			}
			modes = append(modes, c.Policy.Mode)
		})
	}
	differs()
	step("enforce")
	step("off") // for this moment only
	put(t, file, policy("enforce"))
	if !differs() {
		t.Fatal("off stays effective")
	}
	step("enforce")
	step("enforce")
	put(t, file, policy("audit"))
	differs()
	step("enforce") // for this moment only
	put(t, file, policy("audit"))
	if !differs() {
		t.Fatal("audit does not become effective")
	}
	step("audit")
	differs()
	step("audit")
	if differs() {
		t.Error("the files are not read once only")
	}
	if want := []config.Mode{config.Off, config.Enforce, config.Audit}; !slices.Equal(modes, want) {
		t.Errorf("%v, want %v", modes, want)
	}
}
