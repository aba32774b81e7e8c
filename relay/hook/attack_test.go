//go:build unix && !loopback

package hook_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"codex-bridge.example/relay/hook"
)

// The hook process uses only a socket that the user owns, in a folder that the user owns. A
// failure that looks like an attack is denied even with --on-failure allow.
func TestForgedSocketsAreRejected(t *testing.T) {
	must := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name   string
		attack func(t *testing.T, socket, token, dir string)
		want   string
	}{
		{"socket is a link", func(t *testing.T, socket, _, _ string) {
			must(t, os.Rename(socket, socket+".real"))
			must(t, os.Symlink(socket+".real", socket))
		}, "symbolic link"},
		{"socket is a dangling link", func(t *testing.T, socket, _, _ string) {
			must(t, os.Remove(socket))
			must(t, os.Symlink("/nowhere", socket))
		}, "symbolic link"},
		{"socket is a file", func(t *testing.T, socket, _, _ string) {
			must(t, os.Remove(socket))
			must(t, os.WriteFile(socket, []byte("{}"), 0o600))
		}, "not a socket"},
		{"socket is a folder", func(t *testing.T, socket, _, _ string) {
			must(t, os.Remove(socket))
			must(t, os.Mkdir(socket, 0o700))
		}, "not a socket"},
		{"socket is a fifo", func(t *testing.T, socket, _, _ string) {
			must(t, os.Remove(socket))
			must(t, syscall.Mkfifo(socket, 0o600))
		}, "not a socket"},
		{"socket is open to others", func(t *testing.T, socket, _, _ string) { must(t, os.Chmod(socket, 0o666)) }, "open to other users: its mode is 0666"},
		{"socket takes datagrams", func(t *testing.T, socket, _, _ string) {
			must(t, os.Remove(socket))
			l, err := net.ListenPacket("unixgram", socket)
			must(t, err)
			t.Cleanup(func() { l.Close() })
			must(t, os.Chmod(socket, 0o600))
		}, "can't be used"},
		{"folder is open to others", func(t *testing.T, _, _, dir string) { must(t, os.Chmod(dir, 0o755)) }, "open to other users: its mode is 0755"},
		{"folder can be entered by the group", func(t *testing.T, _, _, dir string) { must(t, os.Chmod(dir, 0o710)) }, "its mode is 0710"},
		{"folder is a link", func(t *testing.T, _, _, dir string) {
			must(t, os.Rename(dir, dir+".real"))
			must(t, os.Symlink(dir+".real", dir))
		}, "symbolic link"},
		{"token is missing", func(t *testing.T, _, token, _ string) { must(t, os.Remove(token)) }, "token can't be read"},
		{"token is another", func(t *testing.T, _, token, _ string) { must(t, os.WriteFile(token, []byte("A\nB\n"), 0o600)) }, "not that of this bridge"},
		{"token is empty", func(t *testing.T, _, token, _ string) { must(t, os.Truncate(token, 0)) }, "not a token file"},
		{"token is two empty words", func(t *testing.T, _, token, _ string) { must(t, os.WriteFile(token, []byte("\n\n"), 0o600)) }, "not a token file"},
		{"token is endless", func(t *testing.T, _, token, _ string) { must(t, os.Truncate(token, 1<<40)) }, "not a token file"},
		{"token is open to others", func(t *testing.T, _, token, _ string) { must(t, os.Chmod(token, 0o644)) }, "its mode is 0644"},
		{"token is a link", func(t *testing.T, _, token, _ string) {
			must(t, os.Rename(token, token+".real"))
			must(t, os.Symlink(token+".real", token))
		}, "token can't be read"},
		{"token is a fifo", func(t *testing.T, _, token, _ string) {
			must(t, os.Remove(token))
			must(t, syscall.Mkfifo(token, 0o600))
		}, "not a file"},
		{"token is a folder", func(t *testing.T, _, token, _ string) {
			must(t, os.Remove(token))
			must(t, os.Mkdir(token, 0o700))
		}, "not a file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := listen(t, hook.Options{Decide: func(context.Context, *hook.Call) hook.Answer { return hook.Answer{} }})
			dir := filepath.Dir(s.Socket())
			c.attack(t, s.Socket(), filepath.Join(dir, hook.TokenName), dir)
			for _, e := range hook.Events() {
				checkFailure(t, e, ask(t, s.Socket(), e, longTimeout, "--on-failure", "allow"), c.want)
			}
		})
	}
}

// A socket that belongs to another user is not used. Root gives its own away; other users
// get one of root's.
func TestSocketOfAnotherUserIsRejected(t *testing.T) {
	socket := "/nothing"
	if os.Geteuid() == 0 {
		s := listen(t, hook.Options{})
		socket = s.Socket()
		if err := os.Chown(socket, 12345, -1); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range hook.Events() {
		checkFailure(t, e, ask(t, socket, e, longTimeout, "--on-failure", "allow"), "belongs to another user")
	}
}

// The parent folder of the servers' folders must be private too.
func TestListenRejectsUnsafeFolder(t *testing.T) {
	for name, make := range map[string]func(base string) error{
		"link": func(base string) error {
			if err := os.Mkdir(base+".real", 0o700); err != nil {
				return err
			}
			return os.Symlink(base+".real", base)
		},
		"file": func(base string) error { return os.WriteFile(base, nil, 0o600) },
		"open": func(base string) error {
			if err := os.Mkdir(base, 0o700); err != nil {
				return err
			}
			return os.Chmod(base, 0o750)
		},
	} {
		base := folder(t)
		if err := make(base); err != nil {
			t.Fatal(err)
		}
		s, err := hook.Listen(hook.Options{Folder: base})
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "CODEX_BRIDGE_STATE") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := hook.Listen(hook.Options{Folder: "run"}); err == nil {
		t.Error("a relative folder was taken")
	}
}

func TestCheckPeerAcceptsOwnProcess(t *testing.T) {
	path := filepath.Join(filepath.Dir(folder(t)), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for _, conn := range []net.Conn{a, b} {
		if err := hook.CheckPeer(conn); err != nil {
			t.Error(err)
		}
	}
	one, two := net.Pipe()
	defer one.Close()
	defer two.Close()
	if err := hook.CheckPeer(one); err == nil {
		t.Error("a pipe has a peer")
	}
}
