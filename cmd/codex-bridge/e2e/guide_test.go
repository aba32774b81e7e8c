//go:build linux

package e2e_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// guideStep is a block of commands of a guide, and what the guide says that it prints.
type guideStep struct{ commands, prints string }

var guideBlock = regexp.MustCompile("(?ms)^```(sh|text)\n(.*?)^```$")

// guideSteps returns the blocks sh of a section of a guide, each with the block text that follows it, if any.
func guideSteps(t *testing.T, file, heading string) (steps []guideStep) {
	t.Helper()
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "\n## "+heading+"\n")
	if !found {
		t.Fatalf("%s has no section %q", file, heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	for _, block := range guideBlock.FindAllStringSubmatch(section, -1) {
		if block[1] == "sh" {
			steps = append(steps, guideStep{commands: block[2]})
		} else {
			steps[len(steps)-1].prints = block[2]
		}
	}
	return steps
}

// printed returns the pattern of a block text, in which "…" stands for anything in a line, or alone
// for any lines.
func printed(text string) *regexp.Regexp {
	var pattern strings.Builder
	for line := range strings.Lines(text) {
		if line == "…\n" {
			pattern.WriteString(`(?:.*\n)*?`)
			continue
		}
		pattern.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*"))
	}
	return regexp.MustCompile(`^` + pattern.String() + `$`)
}

// bodies is a collector that keeps what it gets, by path.
type bodies struct {
	mu    sync.Mutex
	paths map[string]string
}

func (b *bodies) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.paths[r.URL.Path] += string(body)
}

// A reader who copies the commands of the guide for teams gets what it says, from an empty folder to
// fifty machines with the real Codex. Only the addresses of database, model and collector differ.
func TestTeamGuide(t *testing.T) {
	t.Parallel()
	database := postgresDatabase(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	_ = listener.Close()
	exported := &bodies{paths: make(map[string]string)}
	collector := httptest.NewServer(exported)
	t.Cleanup(collector.Close)
	here := strings.NewReplacer("postgres://postgres@127.0.0.1:5433/postgres", database, "8092", port, "http://127.0.0.1:4318", collector.URL)

	const mark = "\n<end of the block>\n"
	steps := guideSteps(t, "../../../docs/guides/team.md", "Try it with fifty machines")
	script := "set -eu\n"
	for _, one := range steps {
		script += here.Replace(one.commands) + "printf '%s' '" + mark + "'\n"
	}
	w := newWorld(t, options{})
	env := slices.DeleteFunc(slices.Clone(w.env), func(one string) bool {
		return strings.HasPrefix(one, "CODEX_") && one != w.marker || strings.HasPrefix(one, "XDG_")
	})
	programs := filepath.Join(w.root, "programs")
	if err := errors.Join(os.Mkdir(programs, 0o700), os.Symlink(proxyPath, filepath.Join(programs, "codex-bridge"))); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	reader := exec.CommandContext(ctx, "sh", w.write("guide.sh", script))
	reader.Env = append(env, "PATH="+strings.Join([]string{programs, filepath.Dir(codexPath), os.Getenv("PATH")}, ":"))
	reader.Dir = w.workspace
	reader.WaitDelay = time.Second // the model may outlive a shell that failed
	var stderr strings.Builder
	reader.Stderr = &stderr
	out, err := reader.Output()
	if err != nil {
		t.Errorf("the guide fails: %v\n%s", err, stderr.String())
	}
	for i, text := range strings.Split(string(out), mark) {
		if i < len(steps) && steps[i].prints != "" && !printed(steps[i].prints).MatchString(text) {
			t.Errorf("These commands:\n%sprint\n%sand the guide says\n%s", steps[i].commands, text, steps[i].prints)
		}
	}
	exported.mu.Lock()
	defer exported.mu.Unlock()
	for path, want := range map[string]string{"/v1/metrics": "codex_bridge.decisions", "/v1/logs": "OPS-7"} { // what the dashboard shows
		if text := exported.paths[path]; !strings.Contains(text, want) {
			t.Errorf("the collector got no %s at %s, but %q", want, path, text)
		}
	}
	usage := reader.ProcessState.SystemTime() + reader.ProcessState.UserTime()
	t.Logf("%d blocks, %s of processor time", len(steps), usage.Round(time.Second))
	if t.Failed() {
		t.Logf("stderr:\n%s", stderr.String())
		log, _ := os.ReadFile(filepath.Join(w.root, "user", "fleet", "errors.log"))
		t.Logf("errors.log:\n%s", log)
	}
}
