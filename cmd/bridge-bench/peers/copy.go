package main

import (
	"errors"
	"io"
)

// proxyCopy copies bytes and parses no message.
func proxyCopy(client, codex *pipe) error {
	return both(
		func() error { return errors.Join(copyBytes(codex, client), codex.Close()) },
		func() error { return copyBytes(client, codex) })
}

func copyBytes(to io.Writer, from io.Reader) error {
	// The structs hide ReadFrom and WriteTo of files, which copy in the kernel if they can.
	_, err := io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, make([]byte, 64<<10))
	return err
}
