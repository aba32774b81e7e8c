package bundle_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"codex-bridge.example/bridge/bundle"

	"github.com/theupdateframework/go-tuf/v2/metadata"
)

// history is what a repository had, one state after each publication.
type history struct {
	publisher *publisher
	states    []map[string][]byte
	versions  []int64 // of the bundles
}

// newHistory publishes bundles, renewals and exchanges of keys.
func newHistory(t testing.TB) *history {
	t.Helper()
	p := newPublisher(t)
	h := &history{publisher: p}
	add := func(bundleText string, change func(*bundle.Publication)) {
		done := p.publish(bundleText, change)
		h.states, h.versions = append(h.states, p.files()), append(h.versions, done.Version)
	}
	add(text(1), nil)
	add(text(2), nil)
	add("", nil)
	add(text(3), rotate("timestamp", p.key("timestamp.key")))
	p.online = append(p.online, p.key("timestamp.key"))
	add(text(4), nil)
	add(text(5), rotate("targets", p.key("targets.key")))
	p.online = append(p.online, p.key("targets.key"))
	add(text(6), nil)
	add(text(7), rotate("root", p.key("root2.key")))
	p.root = p.key("root2.key")
	add(text(8), rotate("snapshot", p.key("snapshot.key")))
	p.online = append(p.online, p.key("snapshot.key"))
	add(text(9), nil)
	return h
}

// until returns the history up to a state. A server can show no later one, which is not signed yet.
func (h *history) until(state int) *history {
	return &history{publisher: h.publisher, states: h.states[:state+1], versions: h.versions[:state+1]}
}

// kinds are the kinds of files in a repository.
var kinds = []string{".root.json", "timestamp.json", ".snapshot.json", ".targets.json", ".policy.toml", ""}

// fault changes one answer of a server.
type fault struct {
	name string
	on   string // the kind of file
	skip int    // this many files of the kind are not changed
	// change changes the file of a state.
	change func(h *history, r *rand.Rand, name string, content []byte) ([]byte, error)
}

var errServer = errors.New("connection reset")

// huge is longer than any file may be.
var huge = make([]byte, 3<<20)

var faults = map[string]func(h *history, r *rand.Rand, name string, content []byte) ([]byte, error){
	"empty":    func(*history, *rand.Rand, string, []byte) ([]byte, error) { return nil, nil },
	"garbage":  func(*history, *rand.Rand, string, []byte) ([]byte, error) { return []byte("<html>Sign in</html>"), nil },
	"no JSON":  func(*history, *rand.Rand, string, []byte) ([]byte, error) { return []byte("{}"), nil },
	"an error": func(*history, *rand.Rand, string, []byte) ([]byte, error) { return nil, errServer },
	"missing": func(*history, *rand.Rand, string, []byte) ([]byte, error) {
		return nil, &metadata.ErrDownloadHTTP{StatusCode: http.StatusNotFound}
	},
	"a status": func(*history, *rand.Rand, string, []byte) ([]byte, error) {
		return nil, &metadata.ErrDownloadHTTP{StatusCode: http.StatusServiceUnavailable}
	},
	"truncated": func(_ *history, r *rand.Rand, _ string, content []byte) ([]byte, error) {
		return content[:r.IntN(len(content)+1)], nil
	},
	"longer": func(_ *history, _ *rand.Rand, _ string, content []byte) ([]byte, error) {
		return append(bytes.Clone(content), "\n# more"...), nil
	},
	"huge": func(*history, *rand.Rand, string, []byte) ([]byte, error) { return huge, nil },
	"a bit": func(_ *history, r *rand.Rand, _ string, content []byte) ([]byte, error) {
		if content = bytes.Clone(content); len(content) > 0 {
			content[r.IntN(len(content))] ^= 1 << r.IntN(8)
		}
		return content, nil
	},
	"of another state": func(h *history, r *rand.Rand, name string, _ []byte) ([]byte, error) {
		state := h.states[r.IntN(len(h.states))]
		names := slices.Sorted(maps.Keys(state))
		r.Shuffle(len(names), func(i, k int) { names[i], names[k] = names[k], names[i] })
		for _, other := range names {
			if kindOf(other) == kindOf(name) {
				return state[other], nil
			}
		}
		return nil, errServer
	},
	"of another file": func(h *history, r *rand.Rand, _ string, _ []byte) ([]byte, error) {
		state := h.states[r.IntN(len(h.states))]
		names := slices.Sorted(maps.Keys(state))
		return state[names[r.IntN(len(names))]], nil
	},
}

func kindOf(name string) string {
	return kinds[slices.IndexFunc(kinds, func(kind string) bool { return strings.HasSuffix(name, kind) })]
}

// damages are what a crash, a full disk or another program does to the file of a client.
var damages = map[string]func(r *rand.Rand, file string, content []byte) error{
	"removed": func(_ *rand.Rand, file string, _ []byte) error { return os.Remove(file) },
	"empty":   func(_ *rand.Rand, file string, _ []byte) error { return os.WriteFile(file, nil, 0o600) },
	"half": func(r *rand.Rand, file string, content []byte) error {
		return os.WriteFile(file, content[:r.IntN(len(content))], 0o600)
	},
	"a bit": func(r *rand.Rand, file string, content []byte) error {
		content[r.IntN(len(content))] ^= 1 << r.IntN(8)
		return os.WriteFile(file, content, 0o600)
	},
	"an older one": func(_ *rand.Rand, file string, content []byte) error {
		older, err := os.ReadFile(olderFile(file))
		if errors.Is(err, fs.ErrNotExist) {
			return os.WriteFile(olderFile(file), content, 0o600) // for the next time
		}
		return errors.Join(err, os.WriteFile(file, older, 0o600))
	},
	"left files": func(_ *rand.Rand, file string, content []byte) error {
		left := filepath.Join(filepath.Dir(file), "pull-1")
		return errors.Join(os.MkdirAll(left, 0o700), os.WriteFile(filepath.Join(left, "timestamp.json"), content[:9], 0o600),
			os.WriteFile(filepath.Join(filepath.Dir(file), ".new-1"), content[:9], 0o600))
	},
}

// olderFile is where the simulation keeps an earlier file of a client.
func olderFile(file string) string { return filepath.Join(filepath.Dir(file), "older") }

// pick returns a random entry.
func pick[T any](r *rand.Rand, all map[string]T) (string, T) {
	names := slices.Sorted(maps.Keys(all))
	name := names[r.IntN(len(names))]
	return name, all[name]
}

// simulation is a client of a repository that moves on, with faults.
type simulation struct {
	t       *testing.T
	h       *history
	r       *rand.Rand
	c       *client
	state   int // of the repository
	served  int // the state that the server shows
	fault   *fault
	have    int64          // the version in force; 0 for none
	process int64          // the version that this process has seen
	counts  map[string]int // by all that happened, and whether the pull succeeded
	kinds   map[string]int // by fault
}

func newSimulation(t *testing.T, h *history, seed uint64) *simulation {
	s := &simulation{t: t, h: h, r: rand.New(rand.NewPCG(seed, 1)), counts: make(map[string]int), kinds: make(map[string]int)}
	seen := make(map[string]int)
	s.c = newClient(t, h.publisher, serve(func() map[string][]byte { return h.states[s.served] }, func(name string, content []byte, err error) ([]byte, error) {
		if name == "2.root.json" || name == "timestamp.json" {
			clear(seen)
		}
		if f := s.fault; f != nil && strings.HasSuffix(name, f.on) {
			if seen[f.on]++; seen[f.on] > f.skip {
				return f.change(h.until(s.state), s.r, name, content)
			}
		}
		return content, err
	}))
	if err := os.WriteFile(s.c.o.Root, h.states[0]["1.root.json"], 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// step makes one pull, most often with a fault, and returns an error if it loosened or lost the policy in force.
func (s *simulation) step() error {
	what := "none"
	s.fault, s.c.now, s.served = nil, start.Add(hour), s.state
	switch s.r.IntN(8) {
	case 0: // a server without a fault moves on
		s.state = min(s.state+s.r.IntN(3), len(s.h.states)-1)
		s.served = s.state
	case 1:
		what, s.c.now = "expired", start.Add(time.Duration(200+s.r.IntN(90000))*hour)
	case 2:
		what = "an older state"
		s.served = s.r.IntN(s.state + 1)
	default:
		var f fault
		f.name, f.change = pick(s.r, faults)
		f.on, f.skip = kinds[s.r.IntN(len(kinds))], s.r.IntN(3)
		s.fault, what = &f, f.name+" "+f.on
	}
	kind := what
	if s.fault != nil {
		kind = s.fault.name
	}
	s.kinds[kind]++
	if s.r.IntN(6) == 0 {
		s.c.restart()
		s.process = 0
	}
	if content, err := os.ReadFile(s.c.File()); err == nil && len(content) > 9 && s.r.IntN(6) == 0 {
		name, damage := pick(s.r, damages)
		what += ", with its file: " + name
		s.kinds["its file: "+name]++
		if err := damage(s.r, s.c.File(), content); err != nil {
			return err
		}
		if got, err := s.c.Load(); err != nil {
			if s.process > 0 {
				return fmt.Errorf("%s: the bundle was lost: %w", what, err)
			}
			s.have = 0
		} else if name == "an older one" && (s.process == 0 || got.Version > s.have) {
			// A new process knows of no newer one. And after the loss of the file the client may have pulled
			// an older state, so that the kept file is newer.
			s.have = got.Version
		} else if got.Version != s.have {
			return fmt.Errorf("%s: version %d in place of %d", what, got.Version, s.have)
		}
	}
	pulled, err := s.c.Pull(s.t.Context(), 0)
	if what == "none" && err != nil {
		return fmt.Errorf("a pull without a fault: %w", err)
	}
	s.counts[fmt.Sprintf("%s: %t", what, err == nil)]++
	got, loadErr := s.c.Load()
	switch {
	case err == nil && (loadErr != nil || got.Version != pulled.After.Version):
		return fmt.Errorf("%s: pulled version %d, and %+v is in force: %w", what, pulled.After.Version, got, loadErr)
	case err != nil && loadErr != nil && s.have > 0:
		return fmt.Errorf("%s: the bundle was erased: %w, %w", what, err, loadErr)
	case err != nil && loadErr == nil && got.Version != s.have:
		return fmt.Errorf("%s: the pull failed (%w), and version %d is in force in place of %d", what, err, got.Version, s.have)
	case loadErr == nil && got.Version < s.have:
		return fmt.Errorf("%s: version %d in place of %d", what, got.Version, s.have)
	case loadErr == nil && got.Text != text(int(got.Version)):
		return fmt.Errorf("%s: version %d has the text %q", what, got.Version, got.Text)
	case loadErr == nil && got.Version > s.h.versions[s.state]:
		return fmt.Errorf("%s: version %d was not published yet", what, got.Version)
	}
	if loadErr == nil {
		s.have, s.process = got.Version, got.Version
	}
	return nil
}

// Random pulls with faults at each step, also of the client's own file: no bundle is ever replaced by an older or
// other one, and none is lost while the process or the file has it.
func TestSimulatedPulls(t *testing.T) {
	const clients = 40
	pulls := 1_000 // 3 ms each
	if os.Getenv("CODEX_BRIDGE_WIDE") != "" {
		pulls = 1_000_000
	}
	h := newHistory(t)
	var mu sync.Mutex
	counts, kinds := make(map[string]int), make(map[string]int)
	t.Run("clients", func(t *testing.T) {
		for seed := range uint64(clients) {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				for begin := 0; begin < pulls/clients; begin += 250 { // a repository has ten states only
					s := newSimulation(t, h, seed<<32+uint64(begin))
					for range min(250, pulls/clients-begin) {
						if err := s.step(); err != nil {
							t.Fatal(err)
						}
					}
					mu.Lock()
					addTo(counts, s.counts)
					addTo(kinds, s.kinds)
					mu.Unlock()
				}
			})
		}
	})
	failed, total := 0, 0
	for name, n := range counts {
		total += n
		if strings.HasSuffix(name, "false") {
			failed += n
		}
	}
	t.Logf("%d pulls, of which %d failed, in %d kinds; faults: %v", total, failed, len(counts), kinds)
	if total != pulls || failed < pulls/5 || failed > pulls*9/10 {
		t.Errorf("%d of %d pulls failed; the faults are too many or too few", failed, total)
	}
}

func addTo(all, some map[string]int) {
	for name, n := range some {
		all[name] += n
	}
}

// The simulation notices a program that puts an older bundle in force. An older file of a restarted client acts as
// such a program.
func TestSimulationNoticesOlderBundle(t *testing.T) {
	s := newSimulation(t, newHistory(t), 1)
	s.c.want(t, 1, text(1))
	older, err := os.ReadFile(s.c.File())
	if err != nil {
		t.Fatal(err)
	}
	s.state, s.served = 1, 1
	s.c.want(t, 2, text(2))
	s.have = 2
	for range 1000 {
		put(t, s.c.File(), older)
		s.c.restart()
		if s.process = 0; s.step() != nil {
			return
		}
	}
	t.Error("no step noticed the older bundle")
}

// pullerEnv has the folder of a process that pulls until it is killed.
const pullerEnv = "CODEX_BRIDGE_TEST_PULLER"

func pullForever(folder string) int {
	c := bundle.New(bundle.Options{
		URL: "file://" + filepath.ToSlash(filepath.Join(folder, "repo")), Root: filepath.Join(folder, "root.json"), Folder: filepath.Join(folder, "client"),
		Check: func(*bundle.Content) error { return nil }, Now: func() time.Time { return start },
	})
	for {
		if _, err := c.Pull(context.Background(), 0); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
}

// A process that is killed while it pulls leaves the bundle, old or new, and holds up no other.
func TestKilledPulls(t *testing.T) {
	kills := 15
	if os.Getenv("CODEX_BRIDGE_WIDE") != "" {
		kills = 500
	}
	p := newPublisher(t)
	p.publish(text(1), nil)
	folder := t.TempDir()
	c := newClient(t, p, nil)
	c.o.URL, c.o.Folder = "file://"+filepath.ToSlash(p.folder), filepath.Join(folder, "client")
	put(t, filepath.Join(folder, "root.json"), p.files()["1.root.json"])
	if err := os.Symlink(p.folder, filepath.Join(folder, "repo")); err != nil {
		t.Fatal(err)
	}
	c.restart()
	c.want(t, 1, text(1))
	r := rand.New(rand.NewPCG(1, 2))
	for i := range kills {
		puller := exec.Command(os.Args[0])
		puller.Env = append(os.Environ(), pullerEnv+"="+folder)
		if err := puller.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(20+r.IntN(40)) * time.Millisecond)
		p.publish(text(i+2), nil)
		time.Sleep(time.Duration(r.IntN(20)) * time.Millisecond)
		if err := puller.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := puller.Wait(); err != nil && puller.ProcessState.Exited() {
			t.Fatal("the puller has failed")
		}
		c.restart()
		got, err := c.Load()
		if err != nil || got.Version < int64(i+1) || got.Version > int64(i+2) {
			t.Fatalf("after kill %d: %+v, %v", i, got, err)
		}
		c.want(t, int64(i+2), text(i+2))
	}
	left, err := filepath.Glob(filepath.Join(c.o.Folder, "pull-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
