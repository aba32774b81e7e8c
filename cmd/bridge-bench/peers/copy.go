package main

import "io"

// copyBytes copies bytes and parses no message.
func copyBytes(to io.Writer, from io.Reader) error {
	// The structs hide ReadFrom and WriteTo of files, which copy in the kernel if they can.
	_, err := io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, make([]byte, 64<<10))
	return err
}
