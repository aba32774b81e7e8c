package guard

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// maxThreadID bounds the id of a thread, in bytes. Codex's have 36.
const maxThreadID = 128

// CheckThreadID returns an error if a text can't be the id of a thread: it is too long, has blanks or control characters,
// or is in another spelling than Codex's.
func CheckThreadID(id string) error {
	switch own := canonicalUUID(id); {
	case id == "" || len(id) > maxThreadID:
		return fmt.Errorf("it has %d bytes; an id has 1 to %d", len(id), maxThreadID)
	case !utf8.ValidString(id) || strings.ContainsFunc(id, func(r rune) bool { return !unicode.IsPrint(r) || r == ' ' }):
		return errors.New("it has blanks or invisible characters")
	case own != "" && own != id:
		return errors.New("it has another spelling than in codex; write " + own)
	}
	return nil
}

// checkIDSpelling refuses the id of a thread in another spelling than Codex's; it returns nil for
// other ids. The bridge stores the state of a thread, and the order of its messages, by the text of
// the id.
//
// Measured with Codex 0.169: Codex also accepts upper case, no hyphens, braces and urn:uuid:.
func checkIDSpelling(method, id string) *rpc.Error {
	if isCanonicalUUID(id) {
		return nil
	}
	own := canonicalUUID(id)
	if own == "" {
		return nil
	}
	return policy.NewRefusalError(rpc.CodeInvalidParams, policy.Refusal{
		Method: method, Rule: "protocol", Field: "params.threadId", Reason: "the id of the thread has another spelling than in codex", Hint: "send " + own,
	})
}

// isCanonicalUUID reports whether text is a UUID as Codex writes it.
func isCanonicalUUID(text string) bool {
	if len(text) != 36 {
		return false
	}
	for i, c := range []byte(text) {
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
				return false
			}
		}
	}
	return true
}

var uuidMarks = strings.NewReplacer("-", "", "{", "", "}", "")

// canonicalUUID returns a UUID as Codex writes it, or "" if text is not a UUID.
func canonicalUUID(text string) string {
	digits := strings.ToLower(strings.TrimSpace(text))
	digits = strings.TrimPrefix(digits, "urn:uuid:")
	digits = uuidMarks.Replace(digits)
	if len(digits) != 32 || strings.Trim(digits, "0123456789abcdef") != "" {
		return ""
	}
	return strings.Join([]string{digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]}, "-")
}

// textOf returns a text member of a message's params, or "" if it is missing.
func textOf(call *bridge.ClientMessage, member string) string {
	text, _ := call.Params.Get(member).Text()
	return text
}
