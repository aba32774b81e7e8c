package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"codex-bridge.example/bridge/decision"
)

// ChainError means that a chain is damaged.
type ChainError struct {
	Chain string
	decision.BrokenError
}

func (e *ChainError) Error() string { return "chain " + e.Chain + ": " + e.BrokenError.Error() }

// maxProblems is how many damaged chains Verify reports.
const maxProblems = 20

// verifier has the state of Verify.
type verifier struct {
	heads  map[string]decision.Head
	noted  map[string]decision.Head // of the checkpoint, if it is not found yet
	broken map[string]error
}

// Verify checks that no entry of any chain is changed, missing or out of order. With a checkpoint it also
// checks that each of its heads is in its chain: without one, nothing shows that the end of a chain was
// deleted, or a chain rewritten. It returns the heads as a checkpoint of now. Of each damaged chain, the
// error has the first wrong entry as a *ChainError.
func Verify(entries iter.Seq2[Entry, error], noted *Checkpoint) (*Checkpoint, error) {
	v := verifier{make(map[string]decision.Head), make(map[string]decision.Head), make(map[string]error)}
	if noted != nil {
		for _, h := range noted.Heads {
			v.noted[h.Chain] = decision.Head{Seq: h.Seq, Hash: h.Hash}
		}
	}
	for e, err := range entries {
		if err != nil {
			return nil, err
		}
		if v.broken[e.Chain] != nil {
			continue
		}
		if broken := v.check(e); broken != nil {
			v.broken[e.Chain] = &ChainError{e.Chain, *broken}
		}
	}
	for chain, head := range v.noted {
		if v.broken[chain] == nil {
			v.broken[chain] = &ChainError{chain, decision.BrokenError{
				Seq: head.Seq, Problem: decision.Missing, Detail: "the checkpoint of " + noted.Time.Format(time.RFC3339) + " has it; the end of the chain was deleted",
			}}
		}
	}
	var problems []error
	for _, chain := range slices.Sorted(maps.Keys(v.broken)) {
		if len(problems) == maxProblems {
			problems = append(problems, fmt.Errorf("%d more chains are damaged", len(v.broken)-maxProblems))
			break
		}
		problems = append(problems, v.broken[chain])
	}
	if problems != nil {
		return nil, errors.Join(problems...)
	}
	return newCheckpoint(v.heads)
}

// check checks an entry against the one before it in its chain, and makes it the head.
func (v *verifier) check(e Entry) *decision.BrokenError {
	head, ok := v.heads[e.Chain]
	if !ok {
		head = decision.NoHead
	}
	var content struct {
		Seq      int64  `json:"seq"`
		Previous string `json:"previous"`
	}
	sum := sha256.Sum256(e.Content)
	switch want := head.Seq + 1; {
	case e.Seq > want:
		return &decision.BrokenError{Seq: want, Problem: decision.Missing, Detail: fmt.Sprintf("the next decision after %d is %d", head.Seq, e.Seq)}
	case e.Seq < want:
		return &decision.BrokenError{Seq: e.Seq, Problem: decision.OutOfOrder, Detail: fmt.Sprintf("it comes after decision %d", head.Seq)}
	case hex.EncodeToString(sum[:]) != e.Hash, json.Unmarshal(e.Content, &content) != nil:
		return &decision.BrokenError{Seq: e.Seq, Problem: decision.Changed, Detail: "its content does not match its hash"}
	case content.Seq != e.Seq:
		return &decision.BrokenError{Seq: e.Seq, Problem: decision.OutOfOrder, Detail: fmt.Sprintf("it was written as %d", content.Seq)}
	case content.Previous != head.Hash:
		return &decision.BrokenError{Seq: e.Seq, Problem: decision.OutOfOrder, Detail: "it was not written after the decision before it"}
	}
	if noted, ok := v.noted[e.Chain]; ok && noted.Seq == e.Seq {
		if noted.Hash != e.Hash {
			return &decision.BrokenError{Seq: e.Seq, Problem: decision.Changed, Detail: "the checkpoint has it with another hash; the chain was rewritten"}
		}
		delete(v.noted, e.Chain)
	}
	v.heads[e.Chain] = e.Head
	return nil
}
