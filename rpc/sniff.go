package rpc

import "bytes"

// glance is what the first bytes of a line of Codex tell.
type glance struct {
	method []byte // between its quotes
	id     []byte // of an answer, as Codex wrote it
	// more: the bytes end too early to tell; unknown: they are none of the forms
	// below, and the line has to be looked at whole.
	more, unknown bool
}

var (
	methodStart = []byte(`{"method":"`)
	idStart     = []byte(`{"id":`)
	methodNext  = []byte(`,"method":"`)
	answerNext  = [...][]byte{[]byte(`,"result":`), []byte(`,"error":`)}
)

// look recognises the forms that codex 0.169.0 writes:
//
//	{"method":"…", notifications and requests
//	{"id":…,"method":"…"
//	{"id":…,"result":  and  {"id":…,"error":
//
// Failures, {"error":…,"id":…}, tell their id at the end: unknown. Methods of the
// protocol have no escapes; a name with one is unknown.
func look(line []byte) glance {
	switch {
	case bytes.HasPrefix(line, methodStart):
		return name(line[len(methodStart):])
	case bytes.HasPrefix(line, idStart):
		rest := line[len(idStart):]
		id, ok := idToken(rest)
		if !ok {
			return glance{unknown: len(rest) > 0, more: len(rest) == 0 || bytes.IndexByte(line, '\n') < 0}
		}
		rest = rest[len(id):]
		for _, next := range answerNext {
			if bytes.HasPrefix(rest, next) {
				return glance{id: id}
			}
		}
		if bytes.HasPrefix(rest, methodNext) {
			return name(rest[len(methodNext):])
		}
		return glance{unknown: true, more: len(rest) < len(methodNext)}
	}
	return glance{unknown: true, more: len(line) < len(methodStart)}
}

func name(rest []byte) glance {
	end := bytes.IndexByte(rest, '"')
	if end < 0 {
		return glance{unknown: true, more: true}
	}
	if bytes.IndexByte(rest[:end], '\\') >= 0 {
		return glance{unknown: true}
	}
	return glance{method: rest[:end]}
}

// idToken is the number or string at the start of rest; ok only when its end is
// seen.
func idToken(rest []byte) (token []byte, ok bool) {
	if len(rest) > 0 && rest[0] == '"' {
		for i := 1; i < len(rest); i++ {
			switch rest[i] {
			case '\\':
				i++
			case '"':
				return rest[:i+1], true
			}
		}
		return nil, false
	}
	for i, c := range rest {
		if c != '-' && (c < '0' || c > '9') {
			return rest[:i], i > 0
		}
	}
	return nil, false
}
