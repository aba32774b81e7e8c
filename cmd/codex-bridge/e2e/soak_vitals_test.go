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

// vitals are the resources of a bridge at a time without a running turn.
type vitals struct {
	turns       int
	resident    int64 // bytes, as all below
	heap        int64 // the part that is not mapped from files: heap and stacks
	threads     int   // of the operating system
	descriptors int
	processes   int   // the bridge, Codex and the tool server, and others
	state       int64 // of the database
	traces      int64
}

func (v vitals) String() string {
	const k = 1 << 10
	return fmt.Sprintf("%d turns: RSS %d KiB, of it anonymous %d KiB; %d threads, %d descriptors, %d processes; database %d KiB, traces %d KiB",
		v.turns, v.resident/k, v.heap/k, v.threads, v.descriptors, v.processes, v.state/k, v.traces/k)
}

// vitals measures the bridge from outside.
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
	v.processes = len(s.processes()) + len(s.toolProcesses())
	v.state = s.bytes("state/state.db*")
	v.traces = s.bytes("state/traces/*")
	return v
}

// bytes returns the size of the world's files that match a pattern.
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

// The permanent costs of a turn. A leaked thread would be some 10 KiB; each talker has a new thread
// per round, so that is 800 bytes per turn. A turn has thirty messages of at least 0.5 KiB.
const (
	maxHeapPerTurn  = 256      // bytes; caches that fill in the first thousands take some 200
	maxStatePerTurn = 24 << 10 // bytes of the database
	minSamples      = 40       // minimum number for a slope

	// Two more connections to the database are six descriptors. One leaked descriptor per thread
	// would be twelve after four rounds.
	mostMoreDescriptors = 8
	// A running goroutine has no stack to identify it. One leaked goroutine per thread would also
	// be twelve.
	mostMoreGoroutines = 2
)

// checkSteady fails the test if a resource grows.
func checkSteady(t *testing.T, course []vitals) {
	t.Helper()
	first, last := course[0], course[len(course)-1]
	if last.descriptors > first.descriptors+mostMoreDescriptors {
		t.Errorf("%d descriptors, %d after the first round", last.descriptors, first.descriptors)
	}
	if last.processes > first.processes {
		t.Errorf("%d processes, %d after the first round", last.processes, first.processes)
	}
	if perTurn := (last.state - first.state) / int64(max(last.turns-first.turns, 1)); perTurn > maxStatePerTurn {
		t.Errorf("the database grows by %d bytes per turn", perTurn)
	}
	if len(course) < minSamples {
		return // too few garbage collections for a slope
	}
	course = course[len(course)/4:]
	heap, resident := slope(course, func(v vitals) int64 { return v.heap }), slope(course, func(v vitals) int64 { return v.resident })
	t.Logf("after %d turns, each turn adds: anonymous memory %.0f bytes, RSS %.0f, database %d",
		course[0].turns, heap, resident, (last.state-first.state)/int64(last.turns-first.turns))
	if heap > maxHeapPerTurn {
		t.Errorf("each turn leaks %.0f bytes", heap)
	}
}

// slope returns the growth per turn: the median of the slopes between any two samples, which
// ignores outliers (Theil and Sen).
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

// outermost returns the function that started a goroutine: the last one in the stack that is not
// runtime code; "" if there is none.
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

// goroutines ends the bridge by SIGABRT, on which Go's runtime prints all goroutines, and counts
// them by their start functions. The product has no other way to list them. The bridge's child
// processes end with it.
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
		s.t.Fatalf("the bridge printed no goroutines: %s", s.Stderr())
	}
	count := make(map[string]int)
	for stack := range strings.SplitSeq(stacks, "\n\n") {
		if name := outermost(stack); name != "" {
			count[name]++
		}
	}
	if len(count) == 0 {
		s.t.Fatalf("no goroutine in %s", stacks)
	}
	left := s.waitProcesses(func(pids []int) bool { return len(pids) == 0 && len(s.toolProcesses()) == 0 })
	if left = append(left, s.toolProcesses()...); len(left) > 0 {
		s.t.Errorf("running 2 s after the bridge:%s", describe(left))
	}
	return count
}
