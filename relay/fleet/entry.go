package fleet

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
	"sync"

	"github.com/gowebpki/jcs"

	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/store"
)

// Entry is an entry of a fleet log.
type Entry struct {
	Chain string
	store.Sealed
}

// Line returns the entry as one line of an export, without a line end: the canonical JSON of the local
// log's export, with the members chain and hash before the others.
func (e Entry) Line() []byte {
	start := fmt.Sprintf(`{"chain":"%s","hash":"%s",`, e.Chain, e.Hash)
	return append([]byte(start), e.Content[1:]...)
}

// maxLine is the maximum length of a line of an export. An entry has less than a megabyte.
const maxLine = 16 << 20

var (
	chainMember = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"chain":"([0-9a-f]{32})",`) })
	hashMember  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"hash":"([0-9a-f]{64})",`) })
)

// ReadEntries returns the entries of an export. The entries of a chain must be in order, but chains may
// alternate. name is that of the file, for errors. The sequence ends at the first error.
func ReadEntries(r io.Reader, name string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, maxLine)
		number := 0
		for lines.Scan() {
			number++
			e, err := parseLine(lines.Bytes())
			if err != nil {
				err = fmt.Errorf("%s:%d: %w", name, number, err)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(Entry{}, fmt.Errorf("%s:%d: %w", name, number+1, err))
		}
	}
}

var errLine = errors.New(`it is not a line of "codex-bridge decisions export --fleet"`)

// parseLine parses a line of an export, in any order and spelling of JSON. The canonical form has no
// quote inside a string that is not escaped, so the members are found by their text.
func parseLine(line []byte) (Entry, error) {
	text, err := jcs.Transform(line)
	if err != nil {
		return Entry{}, fmt.Errorf("%w: %w", errLine, err)
	}
	chain, hash := chainMember().FindSubmatchIndex(text), hashMember().FindSubmatchIndex(text)
	var seq struct {
		Seq int64 `json:"seq"`
	}
	if err := json.Unmarshal(text, &seq); err != nil || chain == nil || hash == nil || hash[0] < chain[1] {
		return Entry{}, errLine
	}
	e := Entry{Chain: string(text[chain[2]:chain[3]])}
	e.Head = decision.Head{Seq: seq.Seq, Hash: string(text[hash[2]:hash[3]])}
	e.Content = bytes.Join([][]byte{text[:chain[0]], text[chain[1]:hash[0]], text[hash[1]:]}, nil)
	return e, nil
}
