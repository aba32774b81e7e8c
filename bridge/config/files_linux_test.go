package config_test

import (
	"os"
	"os/signal"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"codex-bridge.example/bridge/config"
)

// A file server or a command may have a lease on a file. The system asks for it back when another process
// opens the file, which then has to wait.
func TestFileWithLeaseIsRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.toml")
	put(t, file, policy("enforce"))
	holder, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, unix.SIGIO)
	defer signal.Stop(asked)
	if _, err := unix.FcntlInt(holder.Fd(), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		t.Fatalf("this file system has no leases: %v", err)
	}
	done := make(chan error, 1)
	go func() {
		<-asked
		_, err := unix.FcntlInt(holder.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
		done <- err
	}()
	cfg, err := config.Load(config.Options{User: file})
	if err != nil || cfg.Policy.Mode != config.Enforce {
		t.Errorf("%v, %v", cfg, err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
