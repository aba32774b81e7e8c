package hook

import (
	"crypto/rand"
	"crypto/subtle"
	"os"

	"codex-bridge/relay/hook/ask"
)

func newWords() ask.Words { return ask.Words{Ask: rand.Text(), Answer: rand.Text()} }

func writeWords(w ask.Words, path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(w.Text()); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// same compares without telling by its time how much was right.
func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
