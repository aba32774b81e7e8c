package decisionlog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/decision"
)

func TestMain(m *testing.M) { bridgetest.Main(m) }

// newLog returns a log in a new folder, whose files are small.
func newLog(t *testing.T) (*Log, string) {
	t.Helper()
	folder := t.TempDir() + "/state"
	l := New(folder)
	l.maxFile = 2000
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l, folder
}

func appendOne(t *testing.T, l *Log, n int) {
	t.Helper()
	if err := l.Append(t.Context(), decision.Record{Method: fmt.Sprint("m", n), Reason: "<a & b>\u2028", Fields: []string{"x"}}); err != nil {
		t.Fatal(err)
	}
}

func verify(t *testing.T, folder string, want int64) {
	t.Helper()
	if head, err := Verify(folder, decision.NoHead); err != nil || head.Seq != want {
		t.Errorf("head %v, %v; want %d entries", head, err, want)
	}
}

// Several processes write one chain, over several files that only their owner can read.
func TestWritersShareAChain(t *testing.T) {
	first, folder := newLog(t)
	second := New(folder)
	second.maxFile = first.maxFile
	defer second.Close()
	var writers sync.WaitGroup
	for _, l := range []*Log{first, second} {
		writers.Go(func() {
			for n := range 20 {
				appendOne(t, l, n)
			}
		})
	}
	writers.Wait()
	verify(t, folder, 40)
	names, err := Files(folder)
	if err != nil || len(names) < 3 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 || info.Size() > 3000 {
			t.Error(name, info.Mode(), info.Size(), err)
		}
	}
	n := int64(0)
	for e, err := range Entries(folder) {
		if n++; err != nil || e.Seq != n {
			t.Fatal(e, err)
		}
	}
}

// An entry that a process was killed in is cut off, also if it is the first one of a file.
func TestKilledWriter(t *testing.T) {
	l, folder := newLog(t)
	appendOne(t, l, 1)
	names, _ := Files(folder)
	for range 2 { // in this file, then in the next one
		f, err := os.OpenFile(names[len(names)-1], os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(`{"client":"half`); err != nil {
			t.Fatal(err)
		}
		f.Close()
		head, err := Verify(folder, decision.NoHead)
		if err != nil {
			t.Fatal(err)
		}
		appendOne(t, l, 2)
		verify(t, folder, head.Seq+1)
		next := fmt.Sprintf("%s/decisions-%012d.jsonl", folder, head.Seq+2)
		if err := os.WriteFile(next, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		names = append(names, next)
	}
}

// A changed, a deleted and a moved entry, and another spelling of one, are found.
func TestVerifyFindsChanges(t *testing.T) {
	l, folder := newLog(t)
	l.maxFile = maxFile
	for n := range 4 {
		appendOne(t, l, n)
	}
	names, err := Files(folder)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(whole), "\n")
	for name, test := range map[string]struct {
		text string
		want decision.Problem
	}{
		"changed":  {strings.Replace(string(whole), `"m1"`, `"m9"`, 1), decision.Changed},
		"spelling": {strings.Replace(string(whole), `"m1"`, `"\u006d1"`, 1), decision.Changed},
		"space":    {strings.Replace(string(whole), `,"seq"`, `, "seq"`, 1), decision.Changed},
		"deleted":  {lines[0] + lines[2] + lines[3], decision.Missing},
		"twice":    {lines[0] + lines[0] + lines[1], decision.OutOfOrder},
		"no JSON":  {lines[0] + "x\n" + lines[1], decision.Changed},
	} {
		if err := os.WriteFile(names[0], []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		var broken *decision.BrokenError
		if _, err := Verify(folder, decision.NoHead); !errors.As(err, &broken) || broken.Problem != test.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A log that others can read, one in a file that can't be written, and one that another process holds take no
// decision.
func TestLogThatCannotBeWritten(t *testing.T) {
	l, folder := newLog(t)
	appendOne(t, l, 1)
	names, _ := Files(folder)
	if err := os.Chmod(names[0], 0o644); err != nil {
		t.Fatal(err)
	}
	other := New(folder)
	defer other.Close()
	if err := other.Append(t.Context(), decision.Record{Method: "m"}); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Error(err)
	}
	if err := os.Chmod(names[0], 0o600); err != nil {
		t.Fatal(err)
	}
	if locked, err := tryLock(l.lock); !locked || err != nil {
		t.Fatal(locked, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := other.Append(ctx, decision.Record{Method: "m"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if err := unlock(l.lock); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(names[0]); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(names[0], nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := l.Append(t.Context(), decision.Record{Method: "m"}); err == nil || !strings.Contains(err.Error(), "replaced") {
		t.Error(err)
	}
}

// A process that has seen an entry takes no further one if the log has lost it, however often it is tried, and a noted
// head shows the loss.
func TestLogThatHasLostItsEnd(t *testing.T) {
	for name, lose := range map[string]func(file string) error{
		"removed":     os.Remove,
		"emptied":     func(file string) error { return os.Truncate(file, 0) },
		"one entry":   func(file string) error { return cutLines(file, 2) },
		"one byte":    cutByte,
		"replaced":    func(file string) error { return errors.Join(os.Remove(file), os.WriteFile(file, nil, 0o600)) },
		"no entry":    func(file string) error { return os.WriteFile(file, []byte("x\n"), 0o600) },
		"another log": func(file string) error { return replaceByAnother(t, file) },
	} {
		t.Run(name, func(t *testing.T) {
			l, folder := newLog(t)
			l.maxFile = maxFile
			for n := range 3 {
				appendOne(t, l, n)
			}
			names, err := Files(folder)
			if err != nil {
				t.Fatal(err)
			}
			noted, err := Verify(folder, decision.NoHead)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Verify(folder, noted); err != nil {
				t.Error(err)
			}
			if err := lose(names[0]); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if err := l.Append(t.Context(), decision.Record{Method: "m"}); err == nil {
					t.Error("an entry was written")
				}
			}
			if _, err := Verify(folder, noted); err == nil {
				t.Error("the loss was not noticed")
			}
		})
	}
}

// cutLines leaves the first lines of a file.
func cutLines(file string, n int) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return os.Truncate(file, int64(len(strings.Join(strings.SplitAfterN(string(text), "\n", n+1)[:n], ""))))
}

// cutByte cuts off the end of the last line.
func cutByte(file string) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	return os.Truncate(file, info.Size()-1)
}

// replaceByAnother puts another log with as many entries in place of a file.
func replaceByAnother(t *testing.T, file string) error {
	other, folder := newLog(t)
	other.maxFile = maxFile
	for n := range 3 {
		appendOne(t, other, n+7)
	}
	names, err := Files(folder)
	if err != nil {
		return err
	}
	return os.Rename(names[0], file)
}
