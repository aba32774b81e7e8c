package rpc

import (
	"bytes"
	"strconv"

	"go.lsp.dev/jsonrpc2"
)

// ID is the identifier of a request. It keeps the bytes it came with; two are
// the same request's when their Keys are equal. 1 and "1" are not.
//
// Codex takes integers of 64 bits and strings, nothing else (measured: null,
// fractions and larger numbers are dropped without a reply).
type ID struct {
	value jsonrpc2.ID
	raw   []byte
}

// NewStringID is the id of a request of our own.
func NewStringID(text string) ID {
	return ID{jsonrpc2.NewStringID(text), appendQuoted(nil, text)}
}

// IsValid tells whether there is an id.
func (id ID) IsValid() bool { return id.value.IsValid() }

// Raw is the id as it was written; "null" when there is none.
func (id ID) Raw() []byte {
	if !id.IsValid() {
		return []byte("null")
	}
	return id.raw
}

// Key identifies the request: the decimal number, or the text behind a quote.
// It equals what answerKey makes of the id in Codex's answer, however the
// client wrote it.
func (id ID) Key() string {
	if n, ok := id.value.Number(); ok {
		return strconv.FormatInt(n, 10)
	}
	if s, ok := id.value.StringValue(); ok {
		return `"` + s
	}
	return ""
}

// Clone is an ID that does not alias the text it was read from.
func (id ID) Clone() ID { return ID{id.value, bytes.Clone(id.raw)} }

// IDOf reads an id as Codex takes it: a string, or an integer of 64 bits.
func ParseID(v Value) (ID, bool) {
	switch v.Kind() {
	case String:
		s, _ := v.Text()
		return ID{jsonrpc2.NewStringID(s), v.Raw()}, true
	case Number:
		n, err := strconv.ParseInt(string(v.Raw()), 10, 64)
		if err != nil {
			return ID{}, false
		}
		return ID{jsonrpc2.NewNumberID(n), v.Raw()}, true
	}
	return ID{}, false
}

// answerKey is the Key of an id as Codex writes it. For numbers and plain
// strings it is a slice of raw, so that looking it up costs nothing.
func responseKey(raw []byte) []byte {
	if len(raw) < 2 || raw[0] != '"' {
		if string(raw) == "-0" {
			return raw[1:]
		}
		return raw
	}
	raw = raw[:len(raw)-1]
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	return append([]byte{'"'}, unquote(raw[1:])...)
}
