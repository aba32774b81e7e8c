package ask

import (
	"errors"
	"io"
)

// Tokens identify a bridge and its hook processes to each other: Request is sent by a
// process, Reply by the bridge. Without Reply, another listener in the bridge's place could
// answer. They are in a file, because other processes can read the command line and the
// environment.
type Tokens struct{ Request, Reply string }

// maxTokenFile is above the length of a token file in bytes.
const maxTokenFile = 256

// Encode returns the contents of the token file.
func (w Tokens) Encode() string { return w.Request + "\n" + w.Reply + "\n" }

// ReadTokens reads a token file that belongs to the user.
func ReadTokens(path string) (w Tokens, err error) {
	f, err := openOwn(path)
	if err != nil {
		return w, errors.New("the bridge's token can't be read: " + err.Error())
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		err = CheckOwnerInfo(path, info, 0)
	}
	if err != nil {
		return w, err
	}
	text := make([]byte, maxTokenFile)
	n, err := io.ReadFull(f, text)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF { //nolint:errorlint // ReadFull wraps none
		return w, err
	}
	rest := string(text[:n])
	for _, word := range []*string{&w.Request, &w.Reply} {
		for i := range len(rest) {
			if rest[i] == '\n' {
				*word, rest = rest[:i], rest[i+1:]
				break
			}
		}
	}
	if !isPlain(w.Request) || !isPlain(w.Reply) || rest != "" {
		return Tokens{}, errors.New(path + " is not a token file of a bridge")
	}
	return w, nil
}
