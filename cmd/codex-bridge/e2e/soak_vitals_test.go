//go:build linux

package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// vitals are what a bridge costs at one moment at which no turn runs.
type vitals struct {
	turns       int
	resident    int64 // bytes, as all below
	heap        int64 // of those, what is no file's: the heap and the stacks
	threads     int   // of the operating system
	descriptors int
	processes   int   // the bridge, codex and the tool server among them
	state       int64 // the database
	traces      int64
}

func (v vitals) String() string {
	const k = 1 << 10
	return fmt.Sprintf("%d turns: RSS %d KiB, of it anonymous %d KiB; %d threads, %d descriptors, %d processes; database %d KiB, traces %d KiB",
		v.turns, v.resident/k, v.heap/k, v.threads, v.descriptors, v.processes, v.state/k, v.traces/k)
}

// vitals looks at the bridge, from outside.
func (s *soaker) vitals(all []*talker) (v vitals) {
	s.t.Helper()
	for _, k := range all {
		v.turns += k.turns
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.Process.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		if err != nil {
			continue
		}
		switch name {
		case "VmRSS":
			v.resident = n << 10
		case "RssAnon":
			v.heap = n << 10
		case "Threads":
			v.threads = int(n)
		}
	}
	descriptors, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.Process.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	v.descriptors = len(descriptors)
	v.processes = len(s.processes()) + len(s.atWork())
	v.state = s.bytes("state/state.db*")
	v.traces = s.bytes("state/traces/*")
	return v
}

// bytes are those of the world's files of a pattern.
func (w *world) bytes(pattern string) (sum int64) {
	w.t.Helper()
	files, err := filepath.Glob(filepath.Join(w.root, pattern))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, file := range files {
		info, err := os.Stat(file)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			w.t.Fatal(err)
		}
		sum += info.Size()
	}
	return sum
}

// What a turn may cost for good. A thread that is not forgotten is some 10 KiB, and there is
// a new one in each round of each talker, which makes 800 bytes a turn; a turn has thirty
// messages, each of 0.5 KiB and more.
const (
	mostHeapPerTurn  = 256      // bytes; the caches that fill in the first thousands are some 200
	mostStatePerTurn = 24 << 10 // bytes of the database
	fewest           = 40       // samples that a slope is made of

	// Two more connections to the database are six descriptors. One that each thread keeps would be
	// twelve after four rounds.
	mostMoreDescriptors = 8
	// One that runs at the moment has no stack to be known by. One that each thread keeps would be
	// twelve more, too.
	mostMoreGoroutines = 2
)

// steady fails the test when something grows.
func steady(t *testing.T, course []vitals) {
	t.Helper()
	first, last := course[0], course[len(course)-1]
	if last.descriptors > first.descriptors+mostMoreDescriptors {
		t.Errorf("%d descriptors are open, after the first round %d", last.descriptors, first.descriptors)
	}
	if last.processes > first.processes {
		t.Errorf("%d processes live, after the first round %d", last.processes, first.processes)
	}
	if perTurn := (last.state - first.state) / int64(max(last.turns-first.turns, 1)); perTurn > mostStatePerTurn {
		t.Errorf("the database grows by %d bytes a turn", perTurn)
	}
	if len(course) < fewest {
		return // a heap that has not been collected a few times has no slope
	}
	course = course[len(course)/4:]
	heap, resident := slope(course, func(v vitals) int64 { return v.heap }), slope(course, func(v vitals) int64 { return v.resident })
	t.Logf("after %d turns, each turn adds: anonymous memory %.0f bytes, RSS %.0f, database %d",
		course[0].turns, heap, resident, (last.state-first.state)/int64(last.turns-first.turns))
	if heap > mostHeapPerTurn {
		t.Errorf("each turn adds %.0f bytes of memory, for good", heap)
	}
}

// slope is what a turn adds: the median of the slopes between any two samples, on which a
// few odd ones have no influence (Theil and Sen).
func slope(course []vitals, of func(vitals) int64) float64 {
	var slopes []float64
	for i, a := range course {
		for _, b := range course[i+1:] {
			slopes = append(slopes, float64(of(b)-of(a))/float64(b.turns-a.turns))
		}
	}
	slices.Sort(slopes)
	return slopes[len(slopes)/2]
}

// frame is a function in a stack, before its arguments.
var frame = regexp.MustCompile(`^\s*(\S+?)\((?:0x|\{|\.\.\.|\))`)

// outermost is the function that a goroutine was started with: the last of its stack that is
// a program's, and not of the machinery to start one. "" the stack is none, or the runtime's.
func outermost(stack string) (name string) {
	for line := range strings.Lines(stack) {
		if strings.Contains(line, "created by ") {
			return name
		}
		if f := frame.FindStringSubmatch(line); f != nil && !strings.HasPrefix(f[1], "runtime.") && !strings.HasPrefix(f[1], "sync.") {
			name = f[1]
		}
	}
	return ""
}

// goroutines ends the bridge by SIGABRT, at which Go's runtime tells of all goroutines, and
// counts them by what they were started with. Nothing else that tells of them is in the product.
// What the bridge was in charge of ends with it.
func (s *soaker) goroutines() map[string]int {
	s.t.Helper()
	if err := s.Process.Signal(syscall.SIGABRT); err != nil {
		s.t.Fatal(err)
	}
	s.ctx = deadline(s.t)
	if _, err := s.Exit(s.ctx); err != nil {
		s.t.Fatal(err)
	}
	_, stacks, found := strings.Cut(s.Stderr(), "SIGABRT: abort")
	if !found {
		s.t.Fatalf("the bridge did not tell of its goroutines: %s", s.Stderr())
	}
	count := make(map[string]int)
	for stack := range strings.SplitSeq(stacks, "\n\n") {
		if name := outermost(stack); name != "" {
			count[name]++
		}
	}
	if len(count) == 0 {
		s.t.Fatalf("no goroutine is found in %s", stacks)
	}
	left := s.await(func(pids []int) bool { return len(pids) == 0 && len(s.atWork()) == 0 })
	if left = append(left, s.atWork()...); len(left) > 0 {
		s.t.Errorf("2 s after the bridge there are:%s", describe(left))
	}
	return count
}
