package decision

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"codex-bridge.example/bridge/display"
)

// TimeLayout is the format of times in entries. The texts sort by time, and databases return them unchanged.
const TimeLayout = "2006-01-02T15:04:05.000000Z"

// Limits of one decision: a client supplies some of the texts, and must not fill the disk with one
// message.
const (
	maxText   = 4096 // bytes
	maxFields = 128
	maxFacts  = 64 << 10 // bytes
)

// Entry is a decision at its place in the chain.
type Entry struct {
	Seq int64 // starts at 1, without gaps
	Record
	Previous string // the hash of the entry before; 64 zeros in the first entry
	Hash     string // SHA-256, in hex, of Content
}

// entryJSON is the JSON form of an Entry.
type entryJSON struct {
	Seq      int64    `json:"seq"`
	Time     string   `json:"time"`
	Client   string   `json:"client"`
	Thread   string   `json:"thread"`
	Turn     string   `json:"turn"`
	Method   string   `json:"method"`
	Verdict  string   `json:"verdict"`
	Mode     string   `json:"mode"`
	Rule     string   `json:"rule"`
	Reason   string   `json:"reason"`
	Origin   string   `json:"origin"`
	Fields   []string `json:"fields"`
	Message  string   `json:"message"`
	Facts    string   `json:"facts,omitempty"` // older entries have none, and their hash covers none
	Previous string   `json:"previous"`
	Hash     string   `json:"hash,omitempty"`
}

var hexSum = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{64}$`) })

var errContent = errors.New("Decision.Message is not a SHA-256 in hex; the log holds no content of messages")

// NewEntry returns a decision in the form that a log holds, without its place in the chain.
func NewEntry(d Record) (Entry, error) {
	if d.Message != "" && !hexSum().MatchString(d.Message) {
		return Entry{}, errContent
	}
	if d.Time.IsZero() {
		d.Time = time.Now()
	}
	d.Time = d.Time.UTC().Truncate(time.Microsecond)
	if y := d.Time.Year(); y < 0 || y > 9999 {
		return Entry{}, fmt.Errorf("the year %d of a decision is not between 0 and 9999", y)
	}
	for _, text := range []*string{&d.Client, &d.Thread, &d.Turn, &d.Method, &d.Verdict, &d.Mode, &d.Rule, &d.Reason, &d.Origin} {
		*text = Truncate(*text)
	}
	fields := make([]string, 0, min(len(d.Fields), maxFields+1))
	for _, field := range d.Fields {
		if len(fields) == maxFields {
			fields = append(fields, "…")
			break
		}
		fields = append(fields, Truncate(field))
	}
	d.Fields = fields
	if d.Facts = CleanText(d.Facts); len(d.Facts) > maxFacts {
		d.Facts = ""
	}
	return Entry{Record: d}, nil
}

// ReadEntry reads an entry from its Line or its Content, as this version knows it.
func ReadEntry(text []byte) (Entry, error) {
	var v entryJSON
	err := json.Unmarshal(text, &v)
	var at time.Time
	if err == nil {
		at, err = time.Parse(time.RFC3339Nano, v.Time)
	}
	if err != nil {
		return Entry{}, err
	}
	return Entry{Seq: v.Seq, Previous: v.Previous, Hash: v.Hash, Record: Record{
		Time: at, Client: v.Client, Thread: v.Thread, Turn: v.Turn, Method: v.Method, Verdict: v.Verdict, Mode: v.Mode,
		Rule: v.Rule, Reason: v.Reason, Origin: v.Origin, Fields: v.Fields, Message: v.Message, Facts: v.Facts,
	}}, nil
}

// Line returns the entry as one line of canonical JSON (RFC 8785), without a line end.
func (e Entry) Line() ([]byte, error) { return e.canonical(e.Hash) }

// Content returns Line without the member "hash".
func (e Entry) Content() ([]byte, error) { return e.canonical("") }

// MarshalJSON returns Line: an entry has one JSON form.
func (e Entry) MarshalJSON() ([]byte, error) { return e.Line() }

// Sum returns the hash that the entry must have.
func (e Entry) Sum() (string, error) {
	line, err := e.Content()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:]), nil
}

func (e Entry) canonical(hash string) ([]byte, error) {
	fields := e.Fields
	if fields == nil {
		fields = []string{}
	}
	text, err := json.Marshal(entryJSON{
		e.Seq, e.TimeText(), e.Client, e.Thread, e.Turn, e.Method, e.Verdict, e.Mode,
		e.Rule, e.Reason, e.Origin, fields, e.Message, e.Facts, e.Previous, hash,
	})
	if err != nil {
		return nil, err
	}
	line := jsontext.Value(text)
	err = line.Canonicalize()
	return line, err
}

// TimeText returns the time of the decision as the log holds it.
func (e Entry) TimeText() string { return e.Time.UTC().Format(TimeLayout) }

// Truncate returns a text in a form that all logs accept and return unchanged: at most 4096 bytes, with a mark at
// the end of a longer one, and clean.
func Truncate(text string) string {
	return CleanText(display.ClipTo(text, maxText))
}

// CleanText returns a text that all databases accept: UTF-8 without NUL.
func CleanText(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}
