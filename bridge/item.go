package bridge

import "bytes"

// What stands between the method and the type of the item that a notification is about,
// as Codex 0.169.0 writes it.
var (
	methodFirst = []byte(`{"method":"`)
	typeFirst   = []byte(`","params":{"item":{"type":"`)
)

// OfType is for a Route's If: it tells whether item/started or item/completed may be about
// an item of a type. Items are as long as what a command has printed, and their type stands
// first, so only that is read; where it stands elsewhere, all of the line is searched.
func MatchItemType(name string) func(line []byte) bool {
	quoted := []byte(`"` + name + `"`)
	return func(line []byte) bool {
		if is, ok := itemType(line); ok {
			return string(is) == name // does not allocate
		}
		return bytes.Contains(line, quoted)
	}
}

// itemType is the type where it stands first; types of the protocol have no escapes.
func itemType(line []byte) (name []byte, ok bool) {
	rest, ok := bytes.CutPrefix(line, methodFirst)
	if !ok {
		return nil, false
	}
	end := bytes.IndexByte(rest, '"')
	if end < 0 {
		return nil, false
	}
	if rest, ok = bytes.CutPrefix(rest[end:], typeFirst); !ok {
		return nil, false
	}
	end = bytes.IndexByte(rest, '"')
	if end < 0 || bytes.IndexByte(rest[:end], '\\') >= 0 {
		return nil, false
	}
	return rest[:end], true
}
