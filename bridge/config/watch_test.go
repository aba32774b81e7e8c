package config_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"codex-bridge.example/bridge/config"
)

// deadline bounds the wait for something that must come; still the one for something that must not. The
// tests have a clock of their own.
const (
	deadline = 20 * time.Second
	still    = 3 * time.Second
)

type change struct {
	mode config.Mode
	err  error
}

// watch starts Watch and stops it with the test.
func watch(t *testing.T, opts config.Options) <-chan change {
	t.Helper()
	changes := make(chan change, 16)
	runWatch(t, opts, func(c *config.Config, err error) {
		if err != nil {
			changes <- change{err: err}
			return
		}
		changes <- change{mode: c.Policy.Mode}
	})
	return changes
}

func runWatch(t *testing.T, opts config.Options, changed func(*config.Config, error)) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		config.Watch(ctx, opts, changed)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
}

func expect(t *testing.T, changes <-chan change, mode config.Mode) {
	t.Helper()
	select {
	case c := <-changes:
		if c.err != nil || c.mode != mode {
			t.Fatalf("got %+v, want %s", c, mode)
		}
	case <-time.After(deadline):
		t.Fatalf("no change; want %s", mode)
	}
}

func expectError(t *testing.T, changes <-chan change) {
	t.Helper()
	select {
	case c := <-changes:
		if c.err == nil {
			t.Fatalf("got %+v, want an error", c)
		}
	case <-time.After(deadline):
		t.Fatal("no change; want an error")
	}
}

func expectNothing(t *testing.T, changes <-chan change) {
	t.Helper()
	select {
	case c := <-changes:
		t.Fatalf("got %+v, want nothing", c)
	case <-time.After(still):
	}
}

// put writes a file as careful editors do: a slow machine must not show the
// test a file that is half written.
func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file+".tmp", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".tmp", file); err != nil {
		t.Fatal(err)
	}
}

func policy(mode string) string { return "[policy]\nmode = \"" + mode + "\"\n" }

// start loads, starts Watch and waits for its first report: Loaded
// is of an older content, so that the first change is reported at once.
func start(t *testing.T, opts config.Options, file string) <-chan change {
	t.Helper()
	put(t, file, policy("off"))
	loaded, err := config.Load(opts)
	if err != nil {
		t.Fatal(err)
	}
	put(t, file, policy("audit"))
	opts.Loaded = loaded
	changes := watch(t, opts)
	expect(t, changes, config.Audit)
	return changes
}

func TestWatch(t *testing.T) {
	synctest.Test(t, testWatch)
}

func testWatch(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.toml")
	changes := start(t, config.Options{User: file}, file)

	put(t, file, policy("enforce"))
	expect(t, changes, config.Enforce)

	// The same content, a new time stamp, another file in the folder.
	put(t, file, policy("enforce"))
	put(t, file+".swp", "x")
	expectNothing(t, changes)

	put(t, file, policy("strict"))
	expectError(t, changes)
	put(t, file, policy("strict"))
	expectNothing(t, changes)

	// Written in place, by an editor that is not careful.
	if err := os.WriteFile(file, []byte(policy("enforce")), 0o600); err != nil {
		t.Fatal(err)
	}
	expect(t, changes, config.Enforce)

	put(t, file, policy("audit"))
	expect(t, changes, config.Audit)
}

// To remove a required file is an error, not an empty configuration.
func TestWatchRequired(t *testing.T) {
	synctest.Test(t, testWatchRequired)
}

func testWatchRequired(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.toml")
	changes := start(t, config.Options{User: file, UserRequired: true}, file)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	expectError(t, changes)
}

// Folders may come later, go, and come again; a workspace's file too.
func TestWatchFolders(t *testing.T) {
	synctest.Test(t, testWatchFolders)
}

func testWatchFolders(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "config.toml")
	opts := config.Options{Managed: filepath.Join(dir, "etc", "a", "b", "config.toml"), User: file, Workspace: filepath.Join(dir, "repository")}
	changes := start(t, opts, file)
	for _, mode := range []string{"audit", "off"} {
		if err := os.MkdirAll(filepath.Dir(opts.Managed), 0o700); err != nil {
			t.Fatal(err)
		}
		put(t, opts.Managed, policy("enforce"))
		expect(t, changes, config.Enforce) // the user's audit is looser
		if err := os.RemoveAll(filepath.Join(dir, "etc")); err != nil {
			t.Fatal(err)
		}
		expectError(t, changes)
		put(t, file, policy(mode)+"# changed\n")
		expect(t, changes, config.Enforce) // the managed file counts on
	}
	if err := os.MkdirAll(filepath.Dir(opts.Managed), 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, opts.Managed, "# nothing\n")
	expect(t, changes, config.Off)
	if err := os.Mkdir(opts.Workspace, 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(opts.Workspace, config.WorkspaceFile), policy("enforce"))
	expect(t, changes, config.Enforce)
}

// The content of a link's target counts.
func TestWatchLink(t *testing.T) {
	synctest.Test(t, testWatchLink)
}

func testWatchLink(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "dotfiles", "bridge.toml")
	file := filepath.Join(dir, "config", "config.toml")
	for _, f := range []string{target, file} {
		if err := os.Mkdir(filepath.Dir(f), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	put(t, target, "")
	if err := os.Symlink(target, file); err != nil {
		t.Fatal(err)
	}
	changes := start(t, config.Options{User: file}, target)
	put(t, target, policy("enforce"))
	expect(t, changes, config.Enforce)
}

// A link to the workspace is resolved once: a command could replace it.
func TestWatchKeepsWorkspaceOfLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		file, link := filepath.Join(dir, "config.toml"), filepath.Join(dir, "link")
		for _, name := range []string{"a", "b"} {
			if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		put(t, filepath.Join(dir, "a", config.WorkspaceFile), policy("enforce"))
		if err := os.Symlink(filepath.Join(dir, "a"), link); err != nil {
			t.Fatal(err)
		}
		put(t, file, policy("off"))
		loaded, err := config.Load(config.Options{User: file, Workspace: link})
		if err != nil {
			t.Fatal(err)
		}
		changes := watch(t, config.Options{User: file, Workspace: link, Loaded: loaded})
		time.Sleep(still)
		if err := os.Symlink(filepath.Join(dir, "b"), link+"2"); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(link+"2", link); err != nil {
			t.Fatal(err)
		}
		expectNothing(t, changes)
		put(t, filepath.Join(dir, "a", config.WorkspaceFile), "# nothing\n")
		expect(t, changes, config.Off)
	})
}

// A workspace of which the file system is gone loosens nothing.
func TestWatchKeepsPolicyOfLostWorkspace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		file, workspace := filepath.Join(dir, "config.toml"), filepath.Join(dir, "repository")
		if err := os.Mkdir(workspace, 0o700); err != nil {
			t.Fatal(err)
		}
		changes := start(t, config.Options{User: file, Workspace: workspace}, file)
		put(t, filepath.Join(workspace, config.WorkspaceFile), policy("enforce"))
		expect(t, changes, config.Enforce)
		if err := os.Rename(workspace, workspace+"2"); err != nil {
			t.Fatal(err)
		}
		expectError(t, changes)
		put(t, file, policy("off"))
		expect(t, changes, config.Enforce)
		put(t, file, policy("audit"))
		expect(t, changes, config.Enforce)
		if err := os.Rename(workspace+"2", workspace); err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(workspace, config.WorkspaceFile), "# nothing\n")
		expect(t, changes, config.Audit)
	})
}

// A file that becomes empty, as by a write that failed, or that is removed does not end the policy. A comment in it does,
// and then it can go.
func TestLostFileKeepsItsPolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		opts := config.Options{Managed: filepath.Join(dir, "managed.toml"), User: filepath.Join(dir, "user.toml"), Workspace: filepath.Join(dir, "repository")}
		if err := os.Mkdir(opts.Workspace, 0o700); err != nil {
			t.Fatal(err)
		}
		changes := start(t, opts, opts.User)
		put(t, opts.User, "# nothing\n")
		expect(t, changes, config.Off)
		for _, file := range []string{opts.Managed, opts.User, filepath.Join(opts.Workspace, config.WorkspaceFile)} {
			for _, lose := range []func() error{
				func() error { return os.WriteFile(file, nil, 0o600) },
				func() error { return os.WriteFile(file, []byte(" \n"), 0o600) },
				func() error { return os.Remove(file) },
			} {
				put(t, file, policy("enforce"))
				expect(t, changes, config.Enforce)
				if err := lose(); err != nil {
					t.Fatal(err)
				}
				expectError(t, changes)
				put(t, file, "# nothing\n")
				expect(t, changes, config.Off)
			}
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			expect(t, changes, config.Off)
		}
	})
}
