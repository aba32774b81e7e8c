package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// none is what the first entry has in place of the hash of one before.
const none = "0000000000000000000000000000000000000000000000000000000000000000"

// Head is the end of the chain: the number of its last entry, which is how many
// there are, and that entry's hash, which stands for all before it. Written down
// elsewhere, it shows later whether the log still is what it was.
type Head struct {
	Seq  int64
	Hash string
}

// String is HASH:SEQ, which ParseHead reads.
func (h Head) String() string { return h.Hash + ":" + strconv.FormatInt(h.Seq, 10) }

// ParseHead reads HASH or HASH:SEQ. Without a number Seq is 0.
func ParseHead(text string) (Head, error) {
	hash, number, numbered := strings.Cut(text, ":")
	h := Head{Hash: strings.ToLower(hash)}
	var err error
	if numbered {
		h.Seq, err = strconv.ParseInt(number, 10, 64)
	}
	if err != nil || h.Seq < 0 || !hexSum.MatchString(h.Hash) {
		return Head{}, fmt.Errorf("%q is no head of the log; give HASH or HASH:NUMBER, as \"codex-bridge decisions verify\" prints it", text)
	}
	return h, nil
}

// headOf is the end of the chain, unverified.
func headOf(ctx context.Context, q querier) (Head, error) {
	h := Head{Hash: none}
	err := q.QueryRowContext(ctx, `SELECT seq, hash FROM decisions ORDER BY seq DESC LIMIT 1`).Scan(&h.Seq, &h.Hash)
	if errors.Is(err, sql.ErrNoRows) {
		return h, nil
	}
	return h, err
}
