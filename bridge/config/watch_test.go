package config_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	expect(t, changes, config.Off)
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
	for range 2 {
		if err := os.MkdirAll(filepath.Dir(opts.Managed), 0o700); err != nil {
			t.Fatal(err)
		}
		put(t, opts.Managed, policy("enforce"))
		expect(t, changes, config.Enforce) // the user's audit is looser
		if err := os.RemoveAll(filepath.Join(dir, "etc")); err != nil {
			t.Fatal(err)
		}
		expect(t, changes, config.Audit)
	}
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

func TestWatchReturnsWhenContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		config.Watch(ctx, config.Options{User: filepath.Join(t.TempDir(), "x")}, func(*config.Config, error) { t.Error("called") })
		if took := time.Since(began); took > 0 {
			t.Error(took)
		}
	})
}

// The first reading of the files would slow the start of Codex.
func TestWatchReadsLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "config.toml")
		began := time.Now()
		start(t, config.Options{User: file}, file)
		if took := time.Since(began); took < 500*time.Millisecond || took > time.Second {
			t.Error(took)
		}
	})
}

// A file that is written in steps is read when it is complete.
func TestWatchWaitsForTheEndOfWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "config.toml")
		changes := start(t, config.Options{User: file}, file)
		go func() {
			for _, text := range []string{"[pol", "[policy]\nmo", "[policy]\nmode = \"enf", policy("enforce")} {
				for range 9 { // together for longer than files must not have changed
					put(t, file, text+strings.Repeat(" ", int(time.Now().UnixMilli()%1000)))
					time.Sleep(20 * time.Millisecond)
				}
			}
			put(t, file, policy("enforce"))
		}()
		expect(t, changes, config.Enforce)
		expectNothing(t, changes)
	})
}

// Continuous writes to the workspace's file, as a model may do, delay other changes by a second only.
func TestWritesDelayOtherChangesByASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		file := filepath.Join(dir, "config.toml")
		changes := start(t, config.Options{User: file, Workspace: filepath.Join(dir, "repository")}, file)
		ctx, cancel := context.WithCancel(t.Context())
		if err := os.Mkdir(filepath.Join(dir, "repository"), 0o700); err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		defer func() { cancel(); <-done }()
		go func() {
			defer close(done)
			for n := 0; ctx.Err() == nil; n++ {
				put(t, filepath.Join(dir, "repository", config.WorkspaceFile), "# "+strings.Repeat("x", n))
				time.Sleep(10 * time.Millisecond)
			}
		}()
		put(t, file, policy("enforce"))
		began := time.Now()
		expect(t, changes, config.Enforce)
		// The interval between two checks, the delay, and the last step of it.
		if took, most := time.Since(began), 500*time.Millisecond+time.Second+100*time.Millisecond; took > most+10*time.Millisecond {
			t.Errorf("%v, want at most %v", took, most)
		}
	})
}

// Between two looks at a file that find the same content, a check may have read another one.
func TestWatchFindsContentThatReturns(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.toml")
	put(t, file, policy("enforce"))
	var modes []config.Mode
	differs, check := config.WatchSteps(config.Options{User: file})
	step := func(mode string) {
		put(t, file, policy(mode))
		check(func(c *config.Config, err error) {
			if err != nil {
				t.Fatal(err)
			}
			modes = append(modes, c.Policy.Mode)
		})
	}
	differs()
	step("enforce")
	step("off") // for this moment only
	put(t, file, policy("enforce"))
	if !differs() {
		t.Fatal("off stays effective")
	}
	step("enforce")
	step("enforce")
	put(t, file, policy("audit"))
	differs()
	step("enforce") // for this moment only
	put(t, file, policy("audit"))
	if !differs() {
		t.Fatal("audit does not become effective")
	}
	step("audit")
	differs()
	step("audit")
	if differs() {
		t.Error("the files are not read once only")
	}
	if want := []config.Mode{config.Off, config.Enforce, config.Audit}; !slices.Equal(modes, want) {
		t.Errorf("%v, want %v", modes, want)
	}
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

// A file that becomes empty, as by a write that failed, does not end the policy. A comment or its removal does.
func TestEmptiedFileKeepsItsPolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "config.toml")
		changes := start(t, config.Options{User: file}, file)
		for _, text := range []string{"", " \n"} {
			put(t, file, policy("enforce"))
			expect(t, changes, config.Enforce)
			put(t, file, text)
			expectError(t, changes)
			put(t, file, "# nothing\n")
			expect(t, changes, config.Off)
		}
	})
}

// A file of the user or the machine that is empty at the start has a warning.
func TestEmptyFileIsNamed(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]int{"": 2, " \n": 2, "# nothing\n": 0} {
		opts := config.Options{Managed: filepath.Join(dir, "managed.toml"), User: filepath.Join(dir, "user.toml"), Workspace: dir}
		for _, file := range []string{opts.Managed, opts.User, filepath.Join(dir, config.WorkspaceFile)} {
			put(t, file, text)
		}
		cfg, err := config.Load(opts)
		if err != nil {
			t.Fatal(err)
		}
		if all := cfg.Warnings(); len(all) != want || want > 0 && !strings.Contains(all[1].Error(), "user.toml: is empty") {
			t.Errorf("%q: %v", text, all)
		}
	}
}

// A file that is not valid holds up no change of another one, and its last valid content still counts.
func TestInvalidFileHoldsUpNoOther(t *testing.T) {
	for _, c := range []struct {
		name            string
		user, workspace string
		then            map[string]string // by "user" or "workspace"
		sandbox         string
		skipped, quiet  bool // quiet: no effective value has changed, so that only the error is reported
	}{
		{
			"workspace", "", "[policy]\nmode = \"audit\"\nsandbox = \"read-only\"\n",
			map[string]string{"workspace": "[policy]\nsandbox = 1\n"}, "read-only", false, true,
		},
		{
			"user", "[policy]\nmode = \"audit\"\nsandbox = \"read-only\"\n", "",
			map[string]string{"user": "[polcy]\n"}, "read-only", false, true,
		},
		{"new in the workspace", "", "", map[string]string{"workspace": "[polcy]\n"}, "workspace-write", true, false},
		{
			"refused by the check", "", "[policy]\nmode = \"audit\"\nsandbox = \"read-only\"\n",
			map[string]string{"workspace": "[policy]\nmode = \"audit\"\n[[policy.rule]]\ntool = \"Bash\"\ndecision = \"deny\"\n"}, "read-only", false, true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				opts := config.Options{Managed: filepath.Join(dir, "managed.toml"), User: filepath.Join(dir, "user.toml"), Workspace: filepath.Join(dir, "repository"), Check: checkPolicy}
				if err := os.Mkdir(opts.Workspace, 0o700); err != nil {
					t.Fatal(err)
				}
				files := map[string]string{"user": opts.User, "workspace": filepath.Join(opts.Workspace, config.WorkspaceFile)}
				put(t, opts.Managed, policy("audit"))
				for name, text := range map[string]string{"user": c.user, "workspace": c.workspace} {
					if text != "" {
						put(t, files[name], text)
					}
				}
				loaded, err := config.LoadLenient(opts)
				if err != nil {
					t.Fatal(err)
				}
				opts.Loaded = loaded
				type report struct {
					cfg *config.Config
					err error
				}
				reports := make(chan report, 16)
				for name, text := range c.then { // before Watch begins, so that it is reported at once
					put(t, files[name], text)
				}
				runWatch(t, opts, func(cfg *config.Config, err error) { reports <- report{cfg, err} })
				next := func() report {
					select {
					case r := <-reports:
						return r
					case <-time.After(deadline):
						t.Fatal("no report")
					}
					return report{}
				}
				if r := next(); c.quiet != (r.err != nil) || !c.quiet && r.cfg.WorkspaceError() == nil {
					t.Fatalf("after the change: %+v", r)
				}
				put(t, opts.Managed, policy("enforce"))
				r := next()
				if r.err != nil || r.cfg.Policy.Mode != config.Enforce || r.cfg.Policy.Sandbox != c.sandbox || r.cfg.WorkspaceError() == nil || r.cfg.Skipped() != c.skipped {
					t.Fatalf("after the managed file has changed: %+v", r)
				}
				for name := range c.then {
					put(t, files[name], "# nothing\n")
				}
				if r := next(); r.err != nil || r.cfg.WorkspaceError() != nil || r.cfg.Policy.Sandbox != "workspace-write" {
					t.Fatalf("after the repair: %+v", r)
				}
			})
		})
	}
}
