package headless

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// lastFile is where exec writes the last message: a file, or a file that the caller has opened, such as /dev/stdout.
type lastFile struct {
	*os.File
	opened bool // by the caller
	stdout bool // the caller's standard output
}

// openLast opens the file for the last message. It follows no link, and does not wait for the reader of a pipe: a
// command of an earlier run may have put it there, and the message is the model's. Nor does it open a file with other
// names, which may be outside the folders in which commands write.
//
// Measured with Codex 0.169: so does codex exec. It writes to a file of the caller's where that file is.
func openLast(path string) (*lastFile, error) {
	if number, ok := descriptorOf(path); ok {
		file, err := inherited(number, path)
		return &lastFile{file, true, number == 1}, err
	}
	if strings.HasSuffix(path, string(filepath.Separator)) || filepath.Base(path) == "." {
		return nil, errors.New("output must name a file")
	}
	parts := strings.FieldsFunc(path, func(r rune) bool { return r < 0x80 && os.IsPathSeparator(uint8(r)) })
	if up := slices.IndexFunc(parts, func(name string) bool { return name != ".." }); filepath.IsAbs(path) && slices.Contains(parts, "..") || up >= 0 && slices.Contains(parts[up:], "..") {
		return nil, errors.New("no-follow filesystem operations require a normalized path")
	}
	file, err := openNamed(path)
	if err != nil {
		return nil, err
	}
	last := &lastFile{File: file}
	if err := last.checkNames(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return last, nil
}

var errOtherNames = errors.New("output has multiple hard links")

// checkNames returns an error if the file has other names, too.
func (f *lastFile) checkNames() error {
	many, err := hasOtherNames(f.File)
	if err == nil && many {
		err = errOtherNames
	}
	return err
}

// write writes the message and closes the file. An error is for the user.
func (f *lastFile) write(text string) error {
	if f.opened {
		_, err := f.WriteString(text)
		return errors.Join(err, f.Close())
	}
	opened, err := f.Stat()
	if err != nil {
		return err
	}
	if now, err := os.Lstat(f.Name()); err != nil || !os.SameFile(opened, now) {
		return errors.New("output path was replaced")
	}
	if err := f.checkNames(); err != nil {
		return err
	}
	_ = f.Truncate(0) // not of a pipe
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// writeLast writes the last message to its file. A turn that has failed leaves the file as it is.
func (r *execRun) writeLast() error {
	message := r.turn.Message()
	if r.last == nil || !r.turn.Completed() {
		return nil
	}
	text := ""
	if message != nil {
		text = *message
	} else {
		fmt.Fprintf(os.Stderr, "Warning: no last agent message; wrote empty content to %s\n", r.last.Name())
	}
	if r.last.stdout && message != nil && r.output.PrintsMessage() {
		return nil // the message is the output anyway
	}
	if err := r.last.write(text); err != nil {
		return execFailure("Failed to write last message file %q: %s", r.last.Name(), systemError(err))
	}
	return nil
}
