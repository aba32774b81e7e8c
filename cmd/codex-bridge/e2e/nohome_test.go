//go:build linux

package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The user's policy counts without HOME, as for a service or a scheduled job, and is not lost with the
// HOME of another user. Without a way to find it the bridge refuses.
func TestUserWithoutHome(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{mute: "runs no editor"})
	home := filepath.Join(w.root, "user")
	w.write("user/.config/codex-bridge/config.toml", "[policy]\nmode = \"enforce\"\nsandbox = \"read-only\"\n[codex]\nargs = []\n")
	users := w.write("passwd", fmt.Sprintf("user:x:0:0::%s:/bin/sh\n", home))
	known := []string{"--map-root-user", "--mount", "sh", "-c", `mount --bind "$0" /etc/passwd && exec "$@"`, users}
	unknown := []string{"--map-user=54321"} // in no database
	other := "/"                            // of another user, unless the test runs as root
	if os.Geteuid() == 0 {
		if other = filepath.Join(w.root, "other"); os.Mkdir(other, 0o755) != nil || os.Chown(other, 1, 1) != nil {
			t.Fatal("can't create the home folder of another user")
		}
	}
	w.write("workspace/relative/.config/codex-bridge/config.toml", "[policy]\nmode = \"off\"\n")
	run := func(user []string, env string) (stderr string, status int) {
		args := slices.Concat([]string{"--user"}, user, []string{"env", "-u", "HOME", "-u", "XDG_CONFIG_HOME", "-u", "CODEX_BRIDGE_CONFIG", env},
			[]string{proxyPath, "exec", "--skip-git-repo-check", "--yolo", "SAY: hello"})
		_, stderr, status = w.execute("unshare", "", args...)
		return stderr, status
	}
	for _, tt := range []struct {
		user      []string
		env, want string
	}{
		{known, "HOME=", "--yolo: it disables Codex's protection"},
		{known, "HOME=relative", "--yolo: it disables Codex's protection"},
		{known, "HOME=" + other, home + "/.config/codex-bridge/config.toml would not count: the environment names the folder of another user"},
		{known, "XDG_CONFIG_HOME=" + other, "would not count: the environment names the folder of another user"},
		{unknown, "HOME=", "the user's configuration file can't be looked for: HOME names no absolute path"},
		{unknown, "HOME=relative", "the user's configuration file can't be looked for: HOME names no absolute path"},
		{known, "CODEX_BRIDGE_CONFIG=", ""},   // the control: none is in effect
		{unknown, "CODEX_BRIDGE_CONFIG=", ""}, // also without a home folder
		{unknown, "HOME=" + other, ""},        // has no own file that could be lost
	} {
		stderr, status := run(tt.user, tt.env)
		switch {
		case tt.want == "" && status != 0:
			t.Errorf("%s of %s: exit %d, want 0\n%s", tt.env, tt.user[0], status, stderr)
		case tt.want != "" && (status != 2 || !strings.Contains(stderr, tt.want)):
			t.Errorf("%s of %s: exit %d, want 2 and %q\n%s", tt.env, tt.user[0], status, tt.want, stderr)
		}
	}
}
