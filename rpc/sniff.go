package rpc

import "bytes"

// linePrefix is the method and id at the start of a line from Codex.
type linePrefix struct {
	method []byte // between its quotes
	id     []byte // as Codex wrote it; nil for a notification
}

var (
	methodStart  = []byte(`{"method":"`)
	idStart      = []byte(`{"id":`)
	methodNext   = []byte(`,"method":"`)
	idNext       = []byte(`","id":`)
	responseNext = [...][]byte{[]byte(`,"result":`), []byte(`,"error":`)}
)

// sniff recognises the forms that Codex 0.169.0 writes. For any other form, and for a
// prefix that is too short, the result is empty.
//
//	{"method":"…","id":  requests
//	{"method":"…", notifications
//	{"id":…,"method":"…"
//	{"id":…,"result":  and  {"id":…,"error":
//
// Error responses of the form {"error":…,"id":…} have their id at the end. Codex's methods
// need no escapes.
func sniff(line []byte) linePrefix {
	switch {
	case bytes.HasPrefix(line, methodStart):
		return sniffMethod(line[len(methodStart):])
	case bytes.HasPrefix(line, idStart):
		rest := line[len(idStart):]
		id, ok := scanID(rest)
		if !ok {
			return linePrefix{}
		}
		rest = rest[len(id):]
		for _, next := range responseNext {
			if bytes.HasPrefix(rest, next) {
				return linePrefix{id: id}
			}
		}
		if bytes.HasPrefix(rest, methodNext) {
			g := sniffMethod(rest[len(methodNext):])
			if g.method != nil {
				g.id = id
			}
			return g
		}
	}
	return linePrefix{}
}

func sniffMethod(rest []byte) linePrefix {
	end := bytes.IndexByte(rest, '"')
	if end < 0 || bytes.IndexByte(rest[:end], '\\') >= 0 {
		return linePrefix{}
	}
	g := linePrefix{method: rest[:end]}
	if bytes.HasPrefix(rest[end:], idNext) {
		g.id, _ = scanID(rest[end+len(idNext):])
	}
	return g
}

// scanID returns the number or string at the start of rest. ok is false if rest does not
// contain its end.
func scanID(rest []byte) (token []byte, ok bool) {
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
