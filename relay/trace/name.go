package trace

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// FileName is the name of a thread's file. Ids of Codex's are used as they are; another one
// keeps what is safe of it, and is told apart by its hash.
func FileName(thread string) string {
	const most = 100
	safe := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, thread)
	if safe == thread && safe != "" && len(safe) <= most {
		return safe + ".jsonl"
	}
	sum := sha256.Sum256([]byte(thread))
	return safe[:min(len(safe), most)] + "-" + hex.EncodeToString(sum[:6]) + ".jsonl"
}
