//go:build linux

package e2e_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"codex-bridge/cmd/internal/editor"
	"codex-bridge/cmd/internal/noise"
)

// noiseEnv is the seed of what is said between the messages of every conversation, and is
// in no schema; 0: nothing is; random: another each time. Without it the seed is 1, so that a
// change which fails is the change that did it.
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

// worldNoise is the noise of one world: on the side of codex by a process between, on that of
// the editor by the editor.
type worldNoise struct {
	w       *world
	report  string // what the side of codex has said and was answered, a file a process
	mute    bool   // the editor says none
	params  bool   // members in the editor's params are nobody's business
	mu      sync.Mutex
	editors []*noiseClient
}

// newNoise makes the bridge's codex a noisy one, unless a test has a codex of its own.
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
	w.t.Cleanup(n.check)
	return n
}

// withoutNoise are lines without the members that nobody knows.
func (w *world) withoutNoise(lines []string) []string {
	for i, line := range lines {
		lines[i] = string(withoutNoise([]byte(line)))
	}
	return lines
}

// client is the noise of one more editor.
func (n *worldNoise) client() *noiseClient {
	n.mu.Lock()
	defer n.mu.Unlock()
	source := noise.New(noiseSeed, n.w.t.Name(), fmt.Sprintf("c%dx", len(n.editors)))
	c := &noiseClient{source: source, mute: n.mute, params: n.params, fail: func(fault string) { n.w.t.Error(fault) }}
	n.editors = append(n.editors, c)
	return c
}

// check reads what the side of codex was answered: at most once each, and never a result.
// Who has gone before answers nothing.
func (n *worldNoise) check() {
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
				n.w.t.Errorf("a request that nobody knows was answered %s", answer)
			}
			answered[id] = true
		}
		if n.w.t.Failed() {
			n.w.t.Logf("%s=%d; noise:\n%s", noiseEnv, noiseSeed, text)
		}
	}
}
