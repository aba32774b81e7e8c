//go:build unix && !loopback

package hook_test

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"codex-bridge.example/relay/hook"
)

// dial connects to the server without a token.
func dial(t *testing.T, s *hook.Server) net.Conn {
	t.Helper()
	conn, err := net.Dial("unix", s.Socket())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// listenInPlace listens at the server's socket in its place.
func listenInPlace(t *testing.T, s *hook.Server) net.Listener {
	t.Helper()
	if err := os.Remove(s.Socket()); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", s.Socket())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(s.Socket(), 0o600); err != nil {
		t.Fatal(err)
	}
	return l
}

func TestServerFilesArePrivate(t *testing.T) {
	s := listen(t, hook.Options{})
	dir := filepath.Dir(s.Socket())
	for path, want := range map[string]fs.FileMode{
		filepath.Dir(dir): fs.ModeDir | 0o700, dir: fs.ModeDir | 0o700,
		s.Socket(): fs.ModeSocket | 0o600, filepath.Join(dir, hook.TokenName): 0o600,
	} {
		if info, err := os.Lstat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v; want %v", path, info.Mode(), err, want)
		}
	}
	token, err := os.ReadFile(filepath.Join(dir, hook.TokenName))
	if err != nil {
		t.Fatal(err)
	}
	for word := range strings.FieldsSeq(string(token)) {
		if strings.Contains(commandOf(t, s, "codex-bridge", hook.Stop, longTimeout, false), word) {
			t.Error("the command line has the token")
		}
	}
}

func TestDefaultFolder(t *testing.T) {
	own, open := folder(t), folder(t)
	for path, mode := range map[string]fs.FileMode{own: 0o700, open: 0o755} {
		if err := os.Mkdir(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	link := own + ".link"
	if err := os.Symlink(own, link); err != nil {
		t.Fatal(err)
	}
	for runtime, want := range map[string]string{
		own: own + "/codex-bridge", open: "/state/run", link: "/state/run", own + "/missing": "/state/run", "": "/state/run", "run": "/state/run",
	} {
		t.Setenv("XDG_RUNTIME_DIR", runtime)
		if got := hook.DefaultFolder("/state", func(string) bool { return false }); got != want {
			t.Errorf("%q: %q, want %q", runtime, got, want)
		}
		isOpen := func(folder string) bool { return folder == own+"/codex-bridge" }
		if got := hook.DefaultFolder("/state", isOpen); got != "/state/run" {
			t.Errorf("%q, open to commands: %q", runtime, got)
		}
	}
}

// The folder of a server that does not listen yet is kept while it is new. The folder of a
// server that has listened and stopped is removed.
func TestListenKeepsStartingServersFolder(t *testing.T) {
	base := folder(t)
	at := map[string]string{"starting": filepath.Join(base, "_tarting"), "stuck": filepath.Join(base, "_tuck"), "dead": filepath.Join(base, "dead")}
	for _, path := range at {
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
		fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = syscall.Close(fd) }()
		socket := filepath.Join(path, "hook.sock")
		if err := syscall.Bind(fd, &syscall.SockaddrUnix{Name: socket}); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(socket, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Now().Add(-2 * hook.MaxStartupAge)
	if err := os.Chtimes(at["stuck"], old, old); err != nil {
		t.Fatal(err)
	}
	s := listen(t, hook.Options{Folder: base})
	for name, path := range at {
		if _, err := os.Stat(path); (err == nil) != (name == "starting") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(s.Socket()); err != nil || strings.HasPrefix(filepath.Base(filepath.Dir(s.Socket())), "_") {
		t.Errorf("%s: %v", s.Socket(), err)
	}
}
