package decision

import (
	"fmt"
	"strconv"
	"strings"
)

// zeroHash is the previous hash of the first entry.
const zeroHash = "0000000000000000000000000000000000000000000000000000000000000000"

// Head is the last entry of the chain: its number, which is the number of entries, and its hash,
// which covers all entries before it. A head noted elsewhere shows later whether the log was
// changed.
type Head struct {
	Seq  int64
	Hash string
}

// NoHead is the head of a log without entries.
var NoHead = Head{Hash: zeroHash}

// String returns HASH:SEQ, the format of ParseHead.
func (h Head) String() string { return h.Hash + ":" + strconv.FormatInt(h.Seq, 10) }

// ParseHead parses HASH or HASH:SEQ. Without a number, Seq is 0.
func ParseHead(text string) (Head, error) {
	hash, number, numbered := strings.Cut(text, ":")
	h := Head{Hash: strings.ToLower(hash)}
	var err error
	if numbered {
		h.Seq, err = strconv.ParseInt(number, 10, 64)
	}
	if err != nil || h.Seq < 0 || !hexSum().MatchString(h.Hash) {
		return Head{}, fmt.Errorf("%q is not a head of the log; write HASH or HASH:NUMBER, as \"codex-bridge decisions verify\" prints it", text)
	}
	return h, nil
}

// Problem is the kind of damage of a chain.
type Problem string

// The problems.
const (
	Changed    Problem = "changed"
	Missing    Problem = "missing"
	OutOfOrder Problem = "out of order"
)

// BrokenError means that the chain is damaged. Seq is the number of the first wrong entry.
type BrokenError struct {
	Seq     int64
	Problem Problem
	Detail  string
}

func (e *BrokenError) Error() string {
	if e.Seq == 0 && e.Problem == Missing {
		return "the noted head is missing: " + e.Detail
	}
	return fmt.Sprintf("decision %d is %s: %s", e.Seq, e.Problem, e.Detail)
}

// CheckSeq returns a *BrokenError unless the number of an entry directly follows the head.
func (h Head) CheckSeq(seq int64) error {
	switch want := h.Seq + 1; {
	case seq < want:
		return &BrokenError{seq, OutOfOrder, "numbers start at 1"}
	case seq > want:
		return &BrokenError{want, Missing, fmt.Sprintf("the next decision after %d is %d", h.Seq, seq)}
	}
	return nil
}

// CheckPrevious returns a *BrokenError unless an entry was written directly after the head.
func (h Head) CheckPrevious(e Entry) error {
	if e.Previous != h.Hash {
		return &BrokenError{e.Seq, OutOfOrder, "it was not written after the decision before it"}
	}
	return nil
}
