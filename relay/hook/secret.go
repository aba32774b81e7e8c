package hook

import (
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"io"
	"os"
	"strings"
)

// secret is what a server and the processes that ask it know of each other: a word that
// opens, and one that only who could read both knows to answer. Without the second,
// whoever listens in the server's place could answer as well. It lies in a file, since
// others can read the command line and the environment.
type secret struct{ ask, answer string }

func newSecret() secret { return secret{rand.Text(), rand.Text()} }

// maxSecret is more than such a file can have.
const maxSecret = 256

func (s secret) write(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(s.ask + "\n" + s.answer + "\n"); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

func readSecret(path string) (s secret, err error) {
	f, err := openOwn(path)
	if err != nil {
		return s, fmt.Errorf("the bridge's token can't be read: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		err = own(path, info, 0)
	}
	if err != nil {
		return s, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxSecret))
	if err != nil {
		return s, err
	}
	words := strings.Split(string(text), "\n")
	if len(words) != 3 || words[0] == "" || words[1] == "" || words[2] != "" {
		return s, fmt.Errorf("%s does not hold a bridge's token", path)
	}
	return secret{words[0], words[1]}, nil
}

// same compares without telling by its time how much was right.
func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
