package store

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
