package mountpoint

import (
	"context"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"codex-bridge.example/bridge/bridgetest"
)

func TestMain(m *testing.M) { bridgetest.Main(m) }

// tree is a workspace and a state folder.
type tree struct {
	t           *testing.T
	state, root string
}

func newTree(t *testing.T) *tree { return &tree{t, filepath.Join(t.TempDir(), "s"), t.TempDir()} }

func (w *tree) keeper() *Keeper {
	return New(w.state, slog.New(slog.DiscardHandler))
}

func (w *tree) folders(names ...string) (all []Folder) {
	for _, name := range names {
		all = append(all, Folder{w.root, name})
	}
	return all
}

func (w *tree) check(what string, want ...string) {
	w.t.Helper()
	var got []string
	err := filepath.WalkDir(w.root, func(path string, _ fs.DirEntry, err error) error {
		if path != w.root {
			got = append(got, strings.TrimPrefix(path, w.root+"/"))
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		w.t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// checkNoRecords checks that the state folder records nothing.
func (w *tree) checkNoRecords() {
	w.t.Helper()
	if found, _ := filepath.Glob(filepath.Join(w.state, "*"+recordSuffix)); len(found) > 0 {
		w.t.Errorf("records are left: %q", found)
	}
}

func (w *tree) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// settle ends the time for which folders stay after Release.
func (k *Keeper) settle() {
	k.mu.Lock()
	all := slices.Collect(maps.Keys(k.held))
	k.mu.Unlock()
	for _, by := range all {
		if by.ending != 0 {
			k.letGo(by)
		}
	}
}

// wait waits until the folders are what the threads hold.
func (k *Keeper) wait() {
	k.settle()
	k.mu.Lock()
	var passes []*pass
	for _, r := range k.roots {
		passes = append(passes, k.wantLocked(r))
	}
	k.mu.Unlock()
	for _, p := range passes {
		<-p.done
	}
}

// abandon ends a Keeper like a killed process.
func (k *Keeper) abandon() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	for _, r := range k.roots {
		r.folders.records.close()
	}
}

func TestHoldAndRelease(t *testing.T) {
	w := newTree(t)
	k := w.keeper()
	all := w.folders(".github/workflows", ".vscode")
	k.Hold(w.t.Context(), "a", "", all)
	k.Hold(w.t.Context(), "b", "", all[1:])
	w.check("held", ".github", ".github/workflows", ".vscode")
	k.Release("a")
	k.wait()
	w.check("held by one", ".vscode")
	k.Release("b")
	k.wait()
	w.check("released")
	w.checkNoRecords()
	k.Release("b")
	k.Hold(w.t.Context(), "a", "", all)
	k.Close()
	w.check("closed")
	w.checkNoRecords()
}

// TestUserFoldersStay checks that what the user has, or creates meanwhile, is not removed.
func TestUserFoldersStay(t *testing.T) {
	w := newTree(t)
	w.must(os.Mkdir(filepath.Join(w.root, ".vscode"), 0o755))
	w.must(os.WriteFile(filepath.Join(w.root, "file"), nil, 0o644))
	k := w.keeper()
	k.Hold(w.t.Context(), "a", "", w.folders(".vscode", ".github/workflows", "file/below", "ci.yml", "other/ci.yml"))
	w.check("held", ".github", ".github/workflows", ".vscode", "ci.yml", "file", "other", "other/ci.yml")
	w.must(os.WriteFile(filepath.Join(w.root, ".github/workflows/x"), nil, 0o644))
	w.must(os.Mkdir(filepath.Join(w.root, "other/mine"), 0o755))
	w.must(os.Remove(filepath.Join(w.root, "ci.yml"))) // as git does before it checks out a file
	w.must(os.WriteFile(filepath.Join(w.root, "ci.yml"), nil, 0o644))
	k.Close()
	w.check("closed", ".github", ".github/workflows", ".github/workflows/x", ".vscode", "ci.yml", "file", "other", "other/mine")
}

// TestLinksAreNotFollowed checks that no folder is created outside the root.
func TestLinksAreNotFollowed(t *testing.T) {
	w, outside := newTree(t), t.TempDir()
	w.must(os.Symlink(outside, filepath.Join(w.root, ".github")))
	k := w.keeper()
	k.Hold(w.t.Context(), "a", "", w.folders(".github/workflows"))
	k.Close()
	if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
	w.check("closed", ".github")
}

// TestKilledKeeper checks that another bridge removes what a killed one has left, but nothing that a
// third one uses.
func TestKilledKeeper(t *testing.T) {
	w := newTree(t)
	killed, user := w.keeper(), w.keeper()
	killed.Hold(w.t.Context(), "a", "", w.folders(".github/workflows", ".vscode"))
	w.must(os.MkdirAll(filepath.Join(w.root, ".github/.codex"), 0o755)) // as a killed Codex leaves it
	user.Hold(w.t.Context(), "b", "", w.folders(".vscode"))
	killed.wait()
	killed.abandon()
	w.keeper().Close()
	w.check("another bridge", ".vscode")
	user.Close()
	w.check("the last bridge")
	w.checkNoRecords()
}

// TestUserFilesStay checks that no file is removed, also not an empty read-only one, as a killed command leaves it. Hold
// returns each file once that is in place of a folder above a held one.
func TestUserFilesStay(t *testing.T) {
	w := newTree(t)
	w.must(os.WriteFile(filepath.Join(w.root, ".github"), nil, 0o444))
	w.must(os.WriteFile(filepath.Join(w.root, ".vscode"), nil, 0o444))
	w.must(os.WriteFile(filepath.Join(w.root, "ci"), []byte("x"), 0o644))
	k := w.keeper()
	folders := w.folders(".github/workflows", ".github/actions", ".vscode", "ci/x", "new")
	if blocked := k.Hold(w.t.Context(), "a", "", folders); !slices.Equal(blocked, []string{filepath.Join(w.root, ".github"), filepath.Join(w.root, "ci")}) {
		t.Errorf("Hold returned %q", blocked)
	}
	if blocked := k.Hold(w.t.Context(), "b", "", folders); len(blocked) > 0 {
		t.Errorf("Hold returned %q again", blocked)
	}
	w.check("held", ".github", ".vscode", "ci", "new")
	k.Close()
	w.check("closed", ".github", ".vscode", "ci")
	w.checkNoRecords()
}

// TestEmptyUserFoldersStay checks that an empty folder of the user stays, also one that was created in place of a folder
// of the bridge, and when the bridge that made the first one was killed.
func TestEmptyUserFoldersStay(t *testing.T) {
	for _, end := range []string{"closed", "released", "killed"} {
		t.Run(end, func(t *testing.T) {
			w := newTree(t)
			for _, name := range []string{".github/workflows", "lib"} {
				w.must(os.MkdirAll(filepath.Join(w.root, name), 0o555))
			}
			w.must(os.Mkdir(filepath.Join(w.root, ".idea"), 0o555))
			k := w.keeper()
			k.Hold(w.t.Context(), "a", "", w.folders(".github/workflows", ".idea", ".vscode", "lib/conf", "py.typed"))
			w.check("held", ".github", ".github/workflows", ".idea", ".vscode", "lib", "lib/conf", "py.typed")
			w.must(os.Remove(filepath.Join(w.root, ".vscode")))
			w.must(os.Mkdir(filepath.Join(w.root, ".vscode"), 0o555))
			w.must(os.Remove(filepath.Join(w.root, "py.typed")))
			w.must(os.WriteFile(filepath.Join(w.root, "py.typed"), nil, 0o444))
			w.must(os.Remove(filepath.Join(w.root, "lib/conf")))
			w.must(unix.Mkfifo(filepath.Join(w.root, "lib/conf"), 0o600)) // nothing waits for a writer
			switch end {
			case "released":
				k.Release("a")
				k.wait()
			case "killed":
				k.abandon()
				k = w.keeper()
			}
			k.Close()
			w.check(end, ".github", ".github/workflows", ".idea", ".vscode", "lib", "lib/conf", "py.typed")
			w.checkNoRecords()
		})
	}
}

// TestRootThatDoesNotAnswer checks that a disk that does not answer makes no other thread wait than the one that
// needs it.
func TestRootThatDoesNotAnswer(t *testing.T) {
	slow, w := newTree(t), newTree(t)
	k := w.keeper()
	k.Hold(t.Context(), "other", "", w.folders(".vscode"))
	k.mu.Lock()
	stuck := k.rootLocked(rootKey(slow.root))
	stuck.working = true // as long as the disk does not answer
	k.mu.Unlock()
	ctx, cancel := context.WithCancel(t.Context())
	held := make(chan struct{})
	go func() {
		defer close(held)
		k.Hold(ctx, "slow", "", slow.folders(".vscode"))
	}()
	k.Release("other")
	k.settle()
	k.Hold(t.Context(), "third", "", w.folders(".github"))
	w.check("held", ".github")
	select {
	case <-held:
		t.Error("Hold has not waited for the disk")
	default:
	}
	cancel()
	<-held
	k.Release("slow")
	slow.check("does not answer")
	k.work(stuck) // it answers
	k.Close()
	w.check("closed")
	slow.check("closed")
}

// TestLockOfRemovedFile checks that a lock on a file that another bridge has removed does not count.
func TestLockOfRemovedFile(t *testing.T) {
	r := &records{folder: filepath.Join(t.TempDir(), "s"), key: "x"}
	first, err := r.lock()
	if err != nil {
		t.Fatal(err)
	}
	if !isAt(first, first.Name()) {
		t.Error("the lock file is another one")
	}
	if err := os.Remove(first.Name()); err != nil {
		t.Fatal(err)
	}
	second, err := r.lock()
	if err != nil {
		t.Fatal(err)
	}
	if isAt(first, second.Name()) || !isAt(second, second.Name()) {
		t.Error("the removed file counts")
	}
	_, _ = first.Close(), second.Close()
}

// TestNilKeeper checks a bridge without a state folder.
func TestNilKeeper(t *testing.T) {
	var k *Keeper
	k.Hold(t.Context(), "a", "", []Folder{{"/", "x"}})
	k.Release("a")
	k.Close()
}

func TestMounts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mountinfo")
	const text = "1 0 0:1 / / rw - ext4 a rw\n2 1 0:1 /x /code/a\\040b\\134/.vscode ro - ext4 a rw\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := readMountInfo(file)
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]bool{`/code/a b\/.vscode`: true, `/code/a b\`: true, `/code/a b`: false, `/code/a b\/.vscode/x`: false, `/code/a b\/.vs`: false} {
		if got := mounts(found).include(at); got != want {
			t.Errorf("%s: %v", at, got)
		}
	}
}

// A folder stays until the last turn that holds it has ended. The end of an earlier turn, which a slow client reports
// late, removes nothing of a later one.
func TestFoldersAreOfATurn(t *testing.T) {
	w := newTree(t)
	k := w.keeper()
	folders := w.folders(".vscode")
	k.Hold(t.Context(), "a", "one", folders)
	k.Hold(t.Context(), "a", "two", folders)
	k.Release("a", "one", "")
	k.Release("a", "one", "zero")
	k.wait()
	w.check("the later turn runs", ".vscode")
	k.Release("a", "two")
	k.wait()
	w.check("it has ended")
	k.Hold(t.Context(), "a", "three", folders)
	k.Release("a")
	k.wait()
	w.check("each turn has ended")
	k.Close()
	w.checkNoRecords()
}

// A folder stays while Codex may be starting a command: Codex's copy of itself, which it has made to start one, and
// bwrap before it mounts anything. Otherwise the command would run without the mount.
func TestFoldersStayWhileCommandStarts(t *testing.T) {
	for name, script := range map[string]string{"bwrap": "read x <&3; true", "codex": "(read x <&3) & wait"} {
		t.Run(name, func(t *testing.T) {
			w := newTree(t)
			k := w.keeper()
			shell, err := os.ReadFile("/bin/sh")
			w.must(err)
			program := filepath.Join(t.TempDir(), name)
			w.must(os.WriteFile(program, shell, 0o700))
			until, end, err := os.Pipe()
			w.must(err)
			started := exec.Command(program, "-c", "echo started; "+script)
			started.ExtraFiles = []*os.File{until}
			out, err := started.StdoutPipe()
			w.must(err)
			k.Hold(t.Context(), "a", "", w.folders(".vscode"))
			w.must(started.Start())
			_, err = io.ReadFull(out, make([]byte, len("started\n")))
			w.must(err)
			for name == "codex" && !startsCommand() { // until the shell has copied itself
				time.Sleep(time.Millisecond)
			}
			k.Release("a")
			k.wait()
			w.check("a command starts", ".vscode")
			w.must(end.Close())
			w.must(started.Wait())
			k.wait()
			w.check("it has ended")
			k.Close()
		})
	}
}

// A folder stays for a moment after the end of a turn: Codex may still make a copy of itself.
func TestFoldersStayForAMoment(t *testing.T) {
	w := newTree(t)
	k := w.keeper()
	k.stay = time.Hour
	k.Hold(t.Context(), "a", "", w.folders(".vscode"))
	k.Release("a")
	k.Hold(t.Context(), "b", "", w.folders(".github")) // looks at the folders of the root again
	w.check("the turn has just ended", ".github", ".vscode")
	k.Close()
	w.check("closed")
}
