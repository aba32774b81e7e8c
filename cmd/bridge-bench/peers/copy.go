package main

import (
	"errors"
	"io"
)

// proxyCopy copies bytes and reads no message: the least that a proxy in Go can do.
func proxyCopy(client, codex *pipe) error {
	return both(
		func() error { return errors.Join(copyBytes(codex, client), codex.Close()) },
		func() error { return copyBytes(client, codex) })
}

func copyBytes(to io.Writer, from io.Reader) error {
	// Without the methods of files, which would ask the kernel for other ways to copy.
	_, err := io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, make([]byte, 64<<10))
	return err
}
