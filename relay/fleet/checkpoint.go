package fleet

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"codex-bridge.example/bridge/decision"
)

// Checkpoint has the heads of all chains of a fleet log at one moment.
type Checkpoint struct {
	Time      time.Time   `json:"time"`
	Chains    int         `json:"chains"`
	Decisions int64       `json:"decisions"`
	Root      string      `json:"root"`  // the Merkle tree hash of RFC 6962, in hex, over the texts of Heads
	Heads     []ChainHead `json:"heads"` // ordered by chain
}

// ChainHead is the last entry of a chain.
type ChainHead struct {
	Chain string `json:"chain"`
	Seq   int64  `json:"seq"`
	Hash  string `json:"hash"`
}

// String returns CHAIN:SEQ:HASH, the text of a leaf of the tree.
func (h ChainHead) String() string { return fmt.Sprintf("%s:%d:%s", h.Chain, h.Seq, h.Hash) }

// NewCheckpoint returns a checkpoint of entries that are the heads of their chains. It verifies nothing.
func NewCheckpoint(entries iter.Seq2[Entry, error]) (*Checkpoint, error) {
	heads := make(map[string]decision.Head)
	for e, err := range entries {
		if err != nil {
			return nil, err
		}
		heads[e.Chain] = e.Head
	}
	return newCheckpoint(heads)
}

func newCheckpoint(heads map[string]decision.Head) (*Checkpoint, error) {
	c := &Checkpoint{Time: time.Now().UTC().Truncate(time.Second), Chains: len(heads), Heads: []ChainHead{}}
	for _, chain := range slices.Sorted(maps.Keys(heads)) {
		c.Heads = append(c.Heads, ChainHead{chain, heads[chain].Seq, heads[chain].Hash})
		c.Decisions += heads[chain].Seq
	}
	var err error
	c.Root, err = root(c.Heads)
	return c, err
}

// root returns the Merkle tree hash over heads.
func root(heads []ChainHead) (string, error) {
	var stored []tlog.Hash
	read := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		hashes := make([]tlog.Hash, len(indexes))
		for i, index := range indexes {
			hashes[i] = stored[index]
		}
		return hashes, nil
	})
	for i, h := range heads {
		more, err := tlog.StoredHashes(int64(i), []byte(h.String()), read)
		if err != nil {
			return "", err
		}
		stored = append(stored, more...)
	}
	hash, err := tlog.TreeHash(int64(len(heads)), read)
	return hex.EncodeToString(hash[:]), err
}

var (
	chainForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{32}$`) })
	hashForm  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{64}$`) })
)

// ParseCheckpoint parses a checkpoint and checks that its root is that of its heads.
func ParseCheckpoint(text []byte) (*Checkpoint, error) {
	var c Checkpoint
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("it is not a checkpoint: %w", err)
	}
	var decisions int64
	for i, h := range c.Heads {
		if !chainForm().MatchString(h.Chain) || !hashForm().MatchString(h.Hash) || h.Seq < 1 || i > 0 && c.Heads[i-1].Chain >= h.Chain {
			return nil, fmt.Errorf("it is not a checkpoint: head %d is malformed or out of order", i+1)
		}
		decisions += h.Seq
	}
	got, err := root(c.Heads)
	if err != nil {
		return nil, err
	}
	if got != c.Root || len(c.Heads) != c.Chains || decisions != c.Decisions {
		return nil, errors.New("its root or its numbers are not those of its heads: it was changed")
	}
	return &c, nil
}
