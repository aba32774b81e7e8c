//go:build unix

package hook_test

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge/relay/hook"
)

// dial is a process without a token.
func dial(t *testing.T, s *hook.Server) net.Conn {
	t.Helper()
	conn, err := net.Dial("unix", s.Socket())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func TestServerModes(t *testing.T) {
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
		if strings.Contains(s.Command("codex-bridge", hook.Stop, plenty, false), word) {
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
		if got := hook.DefaultFolder("/state"); got != want {
			t.Errorf("%q: %q, want %q", runtime, got, want)
		}
	}
}
