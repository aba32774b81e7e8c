//go:build linux

package e2e_test

import (
	"cmp"
	"errors"
	goflag "flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/cmd/internal/scripted"
)

// The programs of the tests; set by TestMain.
var (
	codexPath string // the native program
	codexShim string // npm's program: Node, which starts the native one
	acpAgent  string // codex-acp itself: no link in a temporary folder may name a program
	proxyPath string // codex-bridge
	proxyArgv []string
	noisyPath string // Codex with noise
	modules   string // testdata/npm/node_modules
	clients   string // testdata/clients
)

// raceEnv builds the proxy with the race detector; the first race ends it and fails the test.
const raceEnv = "CODEX_BRIDGE_E2E_RACE"

// tagsEnv has build tags for the proxy, comma-separated. portable and loopback build the code of
// other systems.
const tagsEnv = "CODEX_BRIDGE_E2E_TAGS"

// coreEnv runs the tests on codex-bridge-core, the program of the core alone. core.txt has those that fit it.
const coreEnv = "CODEX_BRIDGE_E2E_CORE"

// isPortable reports whether the proxy has the code of other systems.
var isPortable = slices.Contains(strings.Split(os.Getenv(tagsEnv), ","), "portable")

// needsLinux skips a test of something that the code of other systems can't do.
func needsLinux(t testing.TB, why string) {
	t.Helper()
	if isPortable {
		t.Skip("only on Linux: " + why)
	}
}

// codexEnv names another Codex, for TestCanary. The other tests are about the tested release.
const codexEnv = "CODEX_BRIDGE_E2E_CODEX"

func TestMain(m *testing.M) {
	if os.Getenv(teeEnv) != "" {
		os.Exit(runTee())
	}
	if os.Getenv(standInEnv) != "" && slices.Contains(os.Args, "--version") {
		fmt.Println("codex-cli " + methods.Measured) // as Codex prints it
		os.Exit(0)
	}
	if socket := os.Getenv(standInEnv); socket != "" {
		os.Exit(bridgetest.Relay(socket))
	}
	if address := os.Getenv(socketEnv); address != "" {
		os.Exit(connectTo(address))
	}
	if os.Getenv(mcpEnv) != "" {
		os.Exit(serveMCP())
	}
	shareProcessors()
	os.Exit(runTests(m))
}

// shareProcessors runs three parallel tests per processor without -parallel: tests often wait for
// Codex.
func shareProcessors() {
	goflag.Parse()
	given := false
	goflag.Visit(func(f *goflag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = goflag.Set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0)))
	}
}

// runTests prepares the programs. A missing one fails all tests.
func runTests(m *testing.M) int {
	// nohup makes a process ignore SIGHUP, and a shell makes background jobs ignore SIGINT and
	// SIGQUIT. Children inherit that, unless the process asks for notification of the signal.
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
	if err := findCodex(); err != nil {
		fmt.Fprintf(os.Stderr, "e2e: %v\n     run `make setup`, which installs what the end-to-end tests need\n", err)
		return 1
	}
	dir, err := scripted.Folder("e2e-") // short, for the long names of sockets
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o711); err != nil { // PostgreSQL runs as another user
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	// The tests create their folders here too. A world has another TMPDIR.
	for _, name := range []string{"TMPDIR", "GOTMPDIR"} {
		if err := os.Setenv(name, dir); err != nil {
			fmt.Fprintln(os.Stderr, "e2e:", err)
			return 1
		}
	}
	for _, prepare := range []func(dir string) error{findProxy, buildNoisy, hideRelease, prepareHome} {
		if err := prepare(dir); err != nil {
			fmt.Fprintln(os.Stderr, "e2e:", err)
			return 1
		}
	}
	return m.Run()
}

func findCodex() error {
	root, err := filepath.Abs("../../../testdata")
	if err != nil {
		return err
	}
	clients = filepath.Join(root, "clients")
	modules = filepath.Join(root, "npm", "node_modules")
	native, err := filepath.Glob(filepath.Join(modules, "@openai", "codex-*", "vendor", "*", "bin", "codex"))
	if err != nil {
		return err
	}
	if len(native) != 1 {
		return fmt.Errorf("Codex is not installed under %s", modules)
	}
	codexPath = cmp.Or(os.Getenv(codexEnv), native[0])
	codexShim = filepath.Join(modules, ".bin", "codex")
	if acpAgent, err = filepath.EvalSymlinks(filepath.Join(modules, ".bin", "codex-acp")); err != nil {
		return err
	}
	for _, path := range []string{
		codexShim,
		filepath.Join(modules, "@agentclientprotocol", "codex-acp", "package.json"),
		filepath.Join(modules, "@modelcontextprotocol", "server-everything", "package.json"),
		filepath.Join(modules, "vscode-jsonrpc", "package.json"),
	} {
		if _, err := os.Stat(path); err != nil {
			return err
		}
	}
	if _, err := exec.LookPath("node"); err != nil {
		return errors.New("node is not installed")
	}
	return nil
}

func findProxy(dir string) error {
	proxyPath = os.Getenv("CODEX_BRIDGE_E2E_PROXY")
	if proxyPath == "" {
		proxyPath = filepath.Join(dir, "codex-bridge")
		if err := buildProxy(proxyPath); err != nil {
			return err
		}
	}
	proxyArgv = []string{proxyPath, "app-server"}
	return nil
}

// buildProxy builds the bridge with more arguments of go build.
func buildProxy(to string, more ...string) error {
	argv := append([]string{"build", "-o", to, "-tags", os.Getenv(tagsEnv)}, more...)
	if os.Getenv(raceEnv) != "" {
		argv = append(argv, "-race")
	}
	program := "codex-bridge.example/cmd/codex-bridge"
	if os.Getenv(coreEnv) != "" {
		program += "-core"
	}
	build := exec.Command("go", append(argv, program)...)
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

func buildNoisy(dir string) error {
	noisyPath = filepath.Join(dir, "noisy")
	build := exec.Command("go", "build", "-o", noisyPath, "-ldflags", "-X main.codex="+codexPath, "codex-bridge.example/cmd/codex-bridge/internal/noisy")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}
