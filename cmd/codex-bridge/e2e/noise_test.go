//go:build linux

package e2e_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"codex-bridge.example/cmd/internal/editor"
	"codex-bridge.example/cmd/internal/noise"
)

// noiseEnv is the seed of the noise in every conversation; 0: no noise, random: a new seed each
// time. The default is 1, so that a failure comes from the change.
const noiseEnv = "CODEX_BRIDGE_NOISE_SEED"

var noiseSeed = func() uint64 {
	text := os.Getenv(noiseEnv)
	switch text {
	case "":
		return 1
	case "random":
		return rand.Uint64N(1<<32-1) + 1
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		panic(fmt.Sprintf("%s: %q is no seed", noiseEnv, text))
	}
	return n
}()

// worldNoise is the noise of one world: a process adds it to Codex's messages, and the editor to
// its own.
type worldNoise struct {
	w       *world
	report  string // messages of Codex's side and responses, one file per process
	mute    bool   // the editor sends none
	params  bool   // Codex ignores unknown members of the editor's params
	mu      sync.Mutex
	editors []*noiseClient
}

// newNoise adds noise to the bridge's Codex, unless the test has its own Codex.
func newNoise(w *world, o *options) *worldNoise {
	w.t.Helper()
	if o.codex != "" || noiseSeed == 0 {
		return nil
	}
	n := &worldNoise{w: w, report: filepath.Join(w.root, "noise"), mute: o.mute != "", params: !strings.Contains(o.config, "[policy]")}
	if err := os.Mkdir(n.report, 0o700); err != nil {
		w.t.Fatal(err)
	}
	o.codex = noisyPath
	o.env = append([]string{
		fmt.Sprintf("CODEX_BRIDGE_E2E_NOISE=%d", noiseSeed),
		"CODEX_BRIDGE_E2E_NOISE_ABOUT=" + w.t.Name(), "CODEX_BRIDGE_E2E_NOISE_REPORT=" + n.report,
	}, o.env...)
	w.t.Cleanup(n.checkResponses)
	return n
}

// withoutNoise removes the noise from lines.
func (w *world) withoutNoise(lines []string) []string {
	for i, line := range lines {
		lines[i] = string(withoutNoise([]byte(line)))
	}
	return lines
}

// client returns the noise of one more editor.
func (n *worldNoise) client() *noiseClient {
	n.mu.Lock()
	defer n.mu.Unlock()
	source := noise.New(noiseSeed, n.w.t.Name(), fmt.Sprintf("c%dx", len(n.editors)))
	c := &noiseClient{source: source, mute: n.mute, params: n.params, fail: func(fault string) { n.w.t.Error(fault) }}
	n.editors = append(n.editors, c)
	return c
}

// checkResponses checks that each noise request got at most one response, an error. A client that
// has disconnected does not respond.
func (n *worldNoise) checkResponses() {
	files, err := filepath.Glob(filepath.Join(n.report, "*"))
	if err != nil {
		n.w.t.Error(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			n.w.t.Error(err)
		}
		answered := make(map[string]bool)
		for line := range strings.Lines(string(text)) {
			answer, ok := strings.CutPrefix(line, "< ")
			if !ok {
				continue
			}
			id := editor.Member([]byte(answer), "id")
			if answered[id] || editor.Member([]byte(answer), "error", "code") == "" {
				n.w.t.Errorf("a noise request got the response %s", answer)
			}
			answered[id] = true
		}
		if n.w.t.Failed() {
			n.w.t.Logf("%s=%d; the last noise:\n%s", noiseEnv, noiseSeed, lastLines(string(text)))
		}
	}
}

// lastLines returns the last ten lines, shortened, so that the failure itself can be found.
func lastLines(text string) string {
	lines := slices.Collect(strings.Lines(text))
	lines = lines[max(0, len(lines)-10):]
	for i, line := range lines {
		if len(line) > 500 {
			lines[i] = line[:500] + "…\n"
		}
	}
	return strings.Join(lines, "")
}
