//go:build linux

package e2e_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"codex-bridge.example/cmd/internal/editor"
	"codex-bridge.example/cmd/internal/scripted"
)

// patience is the timeout of tests. No test measures time with it.
const patience = 2 * time.Minute

// world is the environment of one Codex: its home, a workspace, environment variables and a model.
type world struct {
	t         *testing.T
	root      string // contains all other folders
	home      string // CODEX_HOME
	workspace string
	env       []string
	state     string // the bridge's state folder
	marker    string // in the environment of every process started here
	model     *scripted.Server
	noise     *worldNoise // nil: no noise
}

// options of a world.
type options struct {
	codexConfig string // TOML appended to Codex's config.toml
	config      string // of codex-bridge; empty: none
	plugins     bool   // see withoutPlugins
	codex       string // the Codex of codex-bridge; empty: codexPath with noise
	mute        string // the reason for an editor without noise; empty: with noise
	short       bool   // folders with short paths, for the names of sockets
	env         []string
}

var worlds atomic.Int64

// withLongGrace gives Codex more time to exit than the default, for busy machines. It does not
// change a configuration with a section [codex].
func withLongGrace(config string) string {
	if strings.Contains(config, "[codex") || !strings.Contains(config, "[policy]") {
		return ""
	}
	return "\n[codex]\nshutdown_grace = \"1m\"\n"
}

// worldFolder returns a folder that is removed with the test.
func worldFolder(t *testing.T, short bool) string {
	t.Helper()
	if !short {
		return t.TempDir()
	}
	folder, err := os.MkdirTemp("", "w")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	})
	return folder
}

// newWorld creates a world. The end of the test removes it and kills its processes.
func newWorld(t *testing.T, o options) *world {
	t.Helper()
	root, err := filepath.EvalSymlinks(worldFolder(t, o.short || isPortable))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		t:         t,
		root:      root,
		home:      filepath.Join(root, "home"),
		workspace: filepath.Join(root, "workspace"),
		state:     filepath.Join(root, "state"),
		marker:    fmt.Sprintf("CODEX_BRIDGE_E2E_MARKER=%d.%d", os.Getpid(), worlds.Add(1)),
	}
	// Registered after TempDir's cleanup, so it runs before: no process writes there any more.
	t.Cleanup(w.takeDown)

	w.model, err = scripted.Start(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.model.Close() })
	if err := copyHome(w.home); err != nil {
		t.Fatal(err)
	}
	if !o.plugins {
		o.codexConfig = withoutPlugins(o.codexConfig)
	}
	if err := scripted.Home(w.home, w.model.URL(), o.codexConfig); err != nil {
		t.Fatal(err)
	}
	codexEnv, err := scripted.Env(w.home)
	if err != nil {
		t.Fatal(err)
	}
	user := filepath.Join(root, "user")
	for _, dir := range []string{w.workspace, user, w.state} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.repository()
	config := ""
	if o.config != "" {
		config = w.write("config.toml", o.config+withLongGrace(o.config))
	}
	w.noise = newNoise(w, &o)
	if o.codex == "" {
		o.codex = codexPath
	}
	w.env = append(slices.Clip(codexEnv),
		"PATH="+os.Getenv("PATH"),
		"HOME="+user, // login shells must not read the user's profile
		"LANG=C.UTF-8",
		"XDG_CONFIG_HOME="+filepath.Join(user, "config"),
		"XDG_STATE_HOME="+filepath.Join(user, "state"),
		"XDG_CACHE_HOME="+filepath.Join(user, "cache"),
		"XDG_DATA_HOME="+filepath.Join(user, "data"),
		"CODEX_BRIDGE_CODEX="+o.codex,
		"CODEX_BRIDGE_CONFIG="+config,
		"CODEX_BRIDGE_STATE="+w.state,
		"GORACE=halt_on_error=1 atexit_sleep_ms=0", // by default each process waits a second at its end
		w.marker,
	)
	for _, name := range []string{"BRIDGE_MUTANT", "BRIDGE_MUTANT_TRACE"} { // see cmd/bridge-mutate
		if value, ok := os.LookupEnv(name); ok {
			w.env = append(w.env, name+"="+value)
		}
	}
	w.env = append(w.env, o.env...)
	return w
}

// repository makes the workspace a git repository. Codex takes the nearest repository above a
// folder as the project, and a Codex killed during a command may leave an empty .git in the
// temporary folder (measured: its sandbox creates .git, .codex and .agents in every writable root
// and removes them afterwards).
func (w *world) repository() {
	w.t.Helper()
	for _, dir := range []string{"objects", "refs/heads"} {
		if err := os.MkdirAll(filepath.Join(w.workspace, ".git", dir), 0o700); err != nil {
			w.t.Fatal(err)
		}
	}
	w.write("workspace/.git/HEAD", "ref: refs/heads/main\n")
}

// write writes a file under the world's root and returns its path.
func (w *world) write(name, text string) string {
	w.t.Helper()
	path := filepath.Join(w.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// repositoryIn makes a folder below the world's root a repository for Codex and git.
func (w *world) repositoryIn(folder string) {
	w.t.Helper()
	for file, text := range map[string]string{"HEAD": "ref: refs/heads/main\n", "objects/x": "", "refs/x": "", "hooks/x": ""} {
		w.write(folder+"/.git/"+file, text)
	}
}

// start starts argv in the workspace as the server of an editor. It sets o.Argv, Env and Dir.
func (w *world) start(argv []string, o editor.Options) *editor.Editor {
	w.t.Helper()
	o.Argv, o.Env, o.Dir = argv, w.env, w.workspace
	if w.noise != nil && argv[0] == proxyPath {
		o.Wire = w.noise.client()
	}
	e, err := editor.Start(o)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		e.Close(5 * time.Second)
		if w.t.Failed() && e.Stderr() != "" {
			w.t.Logf("stderr of %s:\n%s", filepath.Base(argv[0]), e.Stderr())
		}
	})
	return e
}

// processes returns the ids of the running processes of this world. A process keeps the environment
// of its start, whatever its parent is; zombies have none. Codex's readers in the sandbox get none either, but their
// arguments name the workspace.
func (w *world) processes() []int {
	w.t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		w.t.Fatal(err)
	}
	var pids []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		environ, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "environ"))
		if err != nil {
			continue // ended, or of another user
		}
		arguments, _ := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline"))
		if bytes.Contains(append([]byte{0}, environ...), []byte("\x00"+w.marker+"\x00")) || bytes.Contains(arguments, []byte("\x00"+w.workspace+"\x00")) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// describe describes processes like `ps`.
func describe(pids []int) string {
	var b strings.Builder
	for _, pid := range pids {
		cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		fmt.Fprintf(&b, "\n  %d %s", pid, strings.ReplaceAll(string(cmdline), "\x00", " "))
	}
	return b.String()
}

// takeDown kills the remaining processes.
func (w *world) takeDown() {
	for range 50 {
		pids := w.processes()
		if len(pids) == 0 {
			return
		}
		for _, pid := range pids {
			if p, err := os.FindProcess(pid); err == nil {
				p.Kill()
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	w.t.Errorf("cannot be killed:%s", describe(w.processes()))
}

// deadline returns a context that ends after patience.
func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}
