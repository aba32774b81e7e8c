package guard

import (
	"strings"

	"codex-bridge/bridge/policy"
	"codex-bridge/rpc"
)

// respelled refuses the id of a thread in a spelling other than that of Codex; nil: it has
// none. What is known of a thread, and the order of messages, goes by the id's text.
//
// Measured with Codex 0.169: it takes upper case, no hyphens, braces and urn:uuid: as well.
func respelled(method, id string) *rpc.Error {
	own := canonicalUUID(id)
	if own == "" || own == id {
		return nil
	}
	return policy.Refused(rpc.CodeInvalidParams, policy.Refusal{
		Method: method, Rule: "protocol", Field: "params.threadId", Reason: "the id of the thread is not spelled as codex spells it", Mend: "send " + own,
	})
}

// canonicalUUID is a UUID as Codex writes it; "" for a text that is none.
func canonicalUUID(text string) string {
	digits := strings.ToLower(strings.TrimSpace(text))
	digits = strings.TrimPrefix(digits, "urn:uuid:")
	digits = strings.NewReplacer("-", "", "{", "", "}", "").Replace(digits)
	if len(digits) != 32 || strings.Trim(digits, "0123456789abcdef") != "" {
		return ""
	}
	return strings.Join([]string{digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]}, "-")
}
