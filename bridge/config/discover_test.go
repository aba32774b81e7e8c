package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"codex-bridge/bridge/config"

	"github.com/adrg/xdg"
)

func TestDiscover(t *testing.T) {
	t.Cleanup(xdg.Reload) // after the variables are restored
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "xdg"))
	xdg.Reload()

	t.Run("default", func(t *testing.T) {
		t.Setenv(config.EnvConfig, "")
		if err := os.Unsetenv(config.EnvConfig); err != nil {
			t.Fatal(err)
		}
		opts := config.Discover("/code")
		if opts.User != filepath.Join(dir, "xdg", "codex-bridge", "config.toml") || opts.UserRequired {
			t.Errorf("got %+v", opts)
		}
		if opts.Workspace != "/code" || opts.Home != dir || !filepath.IsAbs(opts.Managed) {
			t.Errorf("got %+v", opts)
		}
	})
	t.Run("empty is none", func(t *testing.T) {
		t.Setenv(config.EnvConfig, "")
		if opts := config.Discover(""); opts.User != "" || opts.UserRequired {
			t.Errorf("got %+v", opts)
		}
	})
	t.Run("named", func(t *testing.T) {
		t.Setenv(config.EnvConfig, "x.toml")
		if opts := config.Discover(""); opts.User != "x.toml" || !opts.UserRequired {
			t.Errorf("got %+v", opts)
		}
	})
}
