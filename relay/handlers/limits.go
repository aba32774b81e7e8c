package handlers

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// What a hook's payload may have: behaviour.md's limits. Codex's own stay far below.
const (
	maxDepth   = 64
	maxNodes   = 20_000
	maxString  = 1_000_000
	maxStrings = 4_000_000
)

// within tells whether the payload is one JSON object within the limits.
func within(payload []byte) error {
	d := jsontext.NewDecoder(bytes.NewReader(payload))
	if d.PeekKind() != '{' {
		return errors.New("no JSON object")
	}
	nodes, total := 0, 0
	for {
		token, err := d.ReadToken()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("no JSON object: %w", err)
		}
		nodes++
		if token.Kind() == '"' {
			length := len(token.String())
			total += length
			if length > maxString || total > maxStrings {
				return fmt.Errorf("a text of more than %d bytes, or texts of more than %d", maxString, maxStrings)
			}
		}
		if d.StackDepth() > maxDepth || nodes > maxNodes*2 { // a member's name is a token, too
			return fmt.Errorf("more than %d objects inside each other, or more than %d values", maxDepth, maxNodes)
		}
	}
}
