package rpc

import (
	"bytes"
	"strconv"
)

// ID is the identifier of a request. It keeps its original bytes. Two IDs are equal
// if their Keys are; 1 and "1" are not.
//
// Measured: Codex takes 64-bit integers and strings. It drops messages with null,
// fractions or larger numbers without a reply.
type ID struct {
	kind   Kind // String or Number; Absent if the ID is not set
	text   string
	number int64
	raw    []byte
}

// NewStringID returns an ID that is the string text.
func NewStringID(text string) ID {
	return ID{kind: String, text: text, raw: appendQuoted(nil, text)}
}

// IsValid reports whether id is set.
func (id ID) IsValid() bool { return id.kind != Absent }

// Raw returns the id as it was written, or "null" if it is not set.
func (id ID) Raw() []byte {
	if !id.IsValid() {
		return []byte("null")
	}
	return id.raw
}

// Key returns a map key for the request: the decimal number, or a quote and the text.
// It equals the responseKey of the id in Codex's response, whatever escapes the client used.
func (id ID) Key() string {
	switch id.kind {
	case Number:
		return strconv.FormatInt(id.number, 10)
	case String:
		return `"` + id.text
	}
	return ""
}

// Clone returns a copy that does not alias the text it was parsed from.
func (id ID) Clone() ID {
	id.raw = bytes.Clone(id.raw)
	return id
}

// ParseID returns the id that v holds. ok is false unless v is a string or a 64-bit integer.
func ParseID(v Value) (ID, bool) {
	switch v.Kind() {
	case String:
		s, _ := v.Text()
		return ID{kind: String, text: s, raw: v.Raw()}, true
	case Number:
		n, err := strconv.ParseInt(string(v.Raw()), 10, 64)
		if err != nil {
			return ID{}, false
		}
		return ID{kind: Number, number: n, raw: v.Raw()}, true
	}
	return ID{}, false
}

// responseKey returns the Key of an id as Codex writes it. For numbers and strings
// without escapes the result is a slice of raw.
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
