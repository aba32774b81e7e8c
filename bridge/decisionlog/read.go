package decisionlog

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"codex-bridge.example/bridge/decision"
)

// Entries returns the entries of the log in a state folder. It does not verify them. The sequence ends at the first
// error. An entry that a process was killed in, at the end of the last file, is left out.
func Entries(folder string) iter.Seq2[decision.Entry, error] {
	return func(yield func(decision.Entry, error) bool) {
		for line, err := range lines(folder) {
			var e decision.Entry
			if err == nil {
				e, err = decision.ReadEntry(line)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// lines returns the lines of the log.
func lines(folder string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		names, err := Files(folder)
		if err != nil {
			yield(nil, err)
			return
		}
		for i, name := range names {
			if !readLines(name, i == len(names)-1, yield) {
				return
			}
		}
	}
}

// readLines yields the lines of a file. It reports whether to go on. Only the last file may end within a line.
func readLines(name string, isLast bool, yield func([]byte, error) bool) bool {
	f, err := os.Open(name)
	if err != nil {
		yield(nil, err)
		return false
	}
	defer func() { _ = f.Close() }()
	for r := bufio.NewReader(f); ; {
		line, err := r.ReadBytes('\n')
		switch {
		case errors.Is(err, io.EOF) && (len(line) == 0 || isLast):
			return true
		case errors.Is(err, io.EOF):
			yield(nil, fmt.Errorf("%s ends within an entry", name))
			return false
		case err != nil:
			yield(nil, err)
			return false
		}
		if !yield(line[:len(line)-1], nil) {
			return false
		}
	}
}

// Verify checks the chain of the log in a state folder, and returns its head. A *decision.BrokenError names the first
// entry that was changed, deleted, inserted or moved. The chain can't show that its end was deleted: for that, note the
// head elsewhere. noted is such a head, which the log must have; NoHead for none.
func Verify(folder string, noted decision.Head) (decision.Head, error) {
	head, found := decision.NoHead, noted == decision.NoHead
	for line, err := range lines(folder) {
		if err != nil {
			return head, err
		}
		next, err := check(head, line)
		if err != nil {
			return head, err
		}
		head = next
		found = found || head == noted
	}
	if !found {
		return head, fmt.Errorf("the noted head is not in the log, which has %d decisions", head.Seq)
	}
	return head, nil
}

// check returns the head after a line, which must be the entry after head in its canonical form.
func check(head decision.Head, line []byte) (decision.Head, error) {
	changed := &decision.BrokenError{Seq: head.Seq + 1, Problem: decision.Changed, Detail: "its content does not match its hash"}
	e, err := decision.ReadEntry(line)
	if err != nil {
		return head, changed
	}
	if err := head.CheckSeq(e.Seq); err != nil {
		return head, err
	}
	sum, err := e.Sum()
	if err != nil {
		return head, err
	}
	again, err := e.Line()
	if err != nil {
		return head, err
	}
	if sum != e.Hash || string(again) != string(line) {
		return head, changed
	}
	if err := head.CheckPrevious(e); err != nil {
		return head, err
	}
	return decision.Head{Seq: e.Seq, Hash: e.Hash}, nil
}
