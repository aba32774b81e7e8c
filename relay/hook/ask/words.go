package ask

import (
	"errors"
	"io"
)

// Words are what a bridge and the processes that ask it know of each other: one that
// opens, and one that only who could read both knows to answer. Without the second,
// whoever listens in the bridge's place could answer as well. They lie in a file, since
// others can read the command line and the environment.
type Words struct{ Ask, Answer string }

// maxWords is more than such a file can have.
const maxWords = 256

// Text is what the file holds.
func (w Words) Text() string { return w.Ask + "\n" + w.Answer + "\n" }

// ReadWords reads a file of the user's own.
func ReadWords(path string) (w Words, err error) {
	f, err := openOwn(path)
	if err != nil {
		return w, errors.New("the bridge's token can't be read: " + err.Error())
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		err = Own(path, info, 0)
	}
	if err != nil {
		return w, err
	}
	text := make([]byte, maxWords)
	n, err := io.ReadFull(f, text)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF { //nolint:errorlint // ReadFull wraps none
		return w, err
	}
	rest := string(text[:n])
	for _, word := range []*string{&w.Ask, &w.Answer} {
		for i := range len(rest) {
			if rest[i] == '\n' {
				*word, rest = rest[:i], rest[i+1:]
				break
			}
		}
	}
	if !plain(w.Ask) || !plain(w.Answer) || rest != "" {
		return Words{}, errors.New(path + " does not hold a bridge's token")
	}
	return w, nil
}
