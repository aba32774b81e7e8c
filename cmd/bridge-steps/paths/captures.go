package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// capture is a recorded conversation of a real client with the real codex.
func capture(name string) ([]byte, error) {
	return os.ReadFile(filepath.Join("testdata", "captures", name))
}

// captured is the first line of a capture in which a text stands.
func captured(name, text string) ([]byte, error) {
	all, err := capture(name)
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(all) {
		if bytes.Contains(line, []byte(text)) {
			return bytes.TrimSpace(line), nil
		}
	}
	return nil, fmt.Errorf("%s has no line with %s", name, text)
}
