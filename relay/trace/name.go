package trace

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// FileName returns the name of the file of a thread: the id and .jsonl. Other characters than ASCII
// letters, digits, - and _ are replaced, and a hash of the id is added.
func FileName(thread string) string {
	const maxLen = 100
	safe := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, thread)
	if safe == thread && safe != "" && len(safe) <= maxLen {
		return safe + ".jsonl"
	}
	sum := sha256.Sum256([]byte(thread))
	return safe[:min(len(safe), maxLen)] + "-" + hex.EncodeToString(sum[:6]) + ".jsonl"
}
