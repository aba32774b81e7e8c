//go:build !portable && (amd64 || arm64)

package supervise

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// foreignVariable has the path of a script of another user that this one can't read.
const foreignVariable = "FOREIGN"

// TestOtherUser runs the other tests as a user without privileges, if this one has them.
func TestOtherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		return // then all tests run so
	}
	raw, err := os.ReadFile(testProgram(t))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "supervise.test")
	if err := os.WriteFile(program, raw, 0o755); err != nil {
		t.Fatal(err)
	}
	const nobody = 65534
	folder := filepath.Join(dir, "own")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(folder, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(dir, "foreign")
	if err := os.WriteFile(foreign, []byte("#!/usr/bin/touch\n"), 0o111); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(foreign, 1, 1); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-test.run", "^Test", "-test.skip", "^(TestOtherUser|TestManyStarts)$", "-test.v")
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "TMPDIR="+folder, "HOME="+folder, foreignVariable+"="+foreign)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestWays") {
		t.Errorf("%v\n%s", err, out)
	}
}
