package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/bridge/bridgetest"
)

// repository is the root of the repository.
const repository = "../.."

// wideEnv also runs TestMoveFromOlder, which needs npm and the network.
const wideEnv = "CODEX_BRIDGE_WIDE"

func TestMain(m *testing.M) {
	if os.Getenv(wideEnv) != "" {
		keepCaches()
	}
	bridgetest.Main(m)
}

// keepCaches keeps the caches and the configuration of Go and npm, which are in the home folder.
func keepCaches() {
	home, err := os.UserHomeDir()
	if err != nil {
		panic(err)
	}
	values := map[string]string{"npm_config_userconfig": filepath.Join(home, ".npmrc"), "npm_config_cache": filepath.Join(home, ".npm")}
	for _, name := range []string{"GOMODCACHE", "GOCACHE", "GOPROXY", "GOSUMDB"} {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			panic(err)
		}
		values[name] = strings.TrimSpace(string(out))
	}
	for name, value := range values {
		if os.Getenv(name) == "" {
			if err := os.Setenv(name, value); err != nil {
				panic(err)
			}
		}
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestParse(t *testing.T) {
	t.Parallel()
	out := strings.Join([]string{
		`{"Action":"output","Test":"TestCanary/enforced/turn","Output":"codex is 0.165.0; 0.166.0 or later is needed: update it"}`,
		`{"Action":"fail","Test":"TestCanary/enforced/turn"}`,
		`{"Action":"pass","Test":"TestCanary/codex/turn"}`, `{"Action":"pass","Test":"TestCanary/codex/deny_rule"}`,
		`{"Action":"pass","Test":"TestCanary/plain/turn"}`, `{"Action":"fail","Test":"TestCanary/plain/hook_failure"}`, `{"Action":"fail","Test":"TestCanary/plain/fork"}`,
		`{"Action":"fail","Test":"TestCanary"}`, `no JSON`,
	}, "\n")
	const want = "all 2 | 1 of 3; not: fork, hook failure | refused: 0.166.0 or later is needed"
	if got := parse([]byte(out)).cells(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
