package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
)

// copyJSON decodes and encodes each message.
func copyJSON(to io.Writer, from io.Reader) error {
	d := json.NewDecoder(from)
	w := bufio.NewWriter(to)
	e := json.NewEncoder(w)
	for {
		var message map[string]any
		err := d.Decode(&message)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = e.Encode(message)
		}
		if err == nil {
			err = w.Flush()
		}
		if err != nil {
			return err
		}
	}
}
