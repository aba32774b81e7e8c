package configured

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
)

// A change since the configuration was read is found.
func TestChangesWhileCodexStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "config.toml")
		write := func(mode string) {
			if err := os.WriteFile(file, []byte("[policy]\nmode = \""+mode+"\"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write("audit")
		files := config.Options{User: file}
		cfg, err := config.Load(files)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		modes, done := make(chan config.Mode, 1), make(chan struct{})
		reloaded := func(err error) {
			if err != nil {
				t.Error(err)
				close(modes)
			}
		}
		write("off")
		go func() {
			defer close(done)
			Setup.Watch(ctx, files, cfg, slog.New(slog.DiscardHandler), reloaded, func(p *policy.Policy) { modes <- p.Mode() })
		}()
		if mode := <-modes; mode != config.Off {
			t.Errorf("%s, want off", mode)
		}
		cancel()
		<-done
	})
}

// A bridge that ends at once does not wait for the first check.
func TestWatchingEndsBeforeItBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		Setup.Watch(ctx, config.Options{}, new(config.Config), slog.New(slog.DiscardHandler), func(error) {}, nil)
		if took := time.Since(began); took > 0 {
			t.Error(took)
		}
	})
}
