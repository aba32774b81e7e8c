package headless

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// readText reads a prompt, or a text for it, from standard input.
func readText(in io.Reader) (string, error) {
	input, err := io.ReadAll(in)
	if err != nil {
		return "", execFailure("Failed to read prompt from stdin: %s", systemError(err))
	}
	text, err := decodeText(input)
	if err != nil {
		return "", execFailure("Failed to read prompt from stdin: %v.", err)
	}
	return text, nil
}

// decodeText decodes a text by its byte order mark, in UTF-8 without one.
//
// Measured with Codex 0.169 and 0.171: of UTF-16 the last byte of an odd number is dropped.
func decodeText(input []byte) (string, error) {
	for _, name := range []struct{ mark, encoding string }{{"\xff\xfe\x00\x00", "UTF-32LE"}, {"\x00\x00\xfe\xff", "UTF-32BE"}} {
		if bytes.HasPrefix(input, []byte(name.mark)) {
			return "", fmt.Errorf("input appears to be %s. Convert it to UTF-8 and retry", name.encoding)
		}
	}
	switch {
	case bytes.HasPrefix(input, []byte("\xff\xfe")):
		return decodeUTF16(input[2:], binary.LittleEndian, "UTF-16LE")
	case bytes.HasPrefix(input, []byte("\xfe\xff")):
		return decodeUTF16(input[2:], binary.BigEndian, "UTF-16BE")
	}
	input = bytes.TrimPrefix(input, []byte("\uFEFF"))
	for at := 0; at < len(input); {
		c, n := utf8.DecodeRune(input[at:])
		if c == utf8.RuneError && n == 1 {
			return "", fmt.Errorf("input is not valid UTF-8 (invalid byte at offset %d). Convert it to UTF-8 and retry (e.g., `iconv -f <ENC> -t UTF-8 prompt.txt`)", at)
		}
		at += n
	}
	return string(input), nil
}

func decodeUTF16(input []byte, order binary.ByteOrder, encoding string) (string, error) {
	units := make([]uint16, len(input)/2)
	for i := range units {
		units[i] = order.Uint16(input[2*i:])
	}
	var text []byte
	for i := 0; i < len(units); i++ {
		c := rune(units[i])
		if utf16.IsSurrogate(c) {
			if i+1 < len(units) {
				c = utf16.DecodeRune(c, rune(units[i+1]))
			}
			if utf16.IsSurrogate(c) || c == utf8.RuneError {
				return "", fmt.Errorf("input looked like %s but could not be decoded. Convert it to UTF-8 and retry", encoding)
			}
			i++
		}
		text = utf8.AppendRune(text, c)
	}
	return string(text), nil
}
