package headless

import (
	"strings"
	"testing"
)

// A text on standard input has the encodings that Codex reads.
func TestTextsOfStandardInput(t *testing.T) {
	for input, want := range map[string]string{
		"hi":                            "hi",
		"\ufeffhi":                      "hi",
		"\ufeff\ufeffhi":                "\ufeffhi",
		"\ufeff":                        "",
		"\xff\xfeh\x00\xe9\x00":         "hé",
		"\xfe\xff\x00h\xd8\x3d\xde\x00": "h😀",
		"\xff\xfeh\x00\r\x00\n\x00":     "h\r\n",
		"\xff\xfe\xff\xfeh\x00x":        "\ufeffh", // the last byte is dropped
		"\xff\xfe":                      "",
		"\xff\xfeh\x00\x00\xd8x\x00":    "input looked like UTF-16LE but could not be decoded",
		"\xfe\xff\xd8\x00":              "input looked like UTF-16BE but could not be decoded",
		"\xfe\xff\xde\x00\xd8\x3d":      "input looked like UTF-16BE but could not be decoded",
		"\xff\xfe\x00\x00h\x00\x00\x00": "input appears to be UTF-32LE",
		"\x00\x00\xfe\xff\x00\x00\x00h": "input appears to be UTF-32BE",
		"h\xe9":                         "input is not valid UTF-8 (invalid byte at offset 1)",
		"\ufeffé\xc3":                   "input is not valid UTF-8 (invalid byte at offset 2)",
	} {
		got, err := decodeText([]byte(input))
		if err != nil {
			got, _, _ = strings.Cut(err.Error(), ".")
		}
		if got != want || (err != nil) != strings.HasPrefix(want, "input") {
			t.Errorf("%q is %q (%v), want %q", input, got, err, want)
		}
	}
}
