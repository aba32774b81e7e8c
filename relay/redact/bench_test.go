package redact

import (
	"strings"
	"testing"
)

// BenchmarkKnown redacts texts with and without quotes. Plain secrets, and texts without quotes, must cost no more for
// the secrets that a shell spells in several ways.
func BenchmarkKnown(b *testing.B) {
	texts := map[string]string{
		"prose": strings.Repeat("the sum of all parts is 7, and Secret words are none. ", 700),
		"code":  strings.Repeat("fmt.Printf(\"%s is '%q'\\n\", name, `x`) // S3cr and S\"\"\"' ", 700),
	}
	known := map[string][]string{
		"plain":   {"nothingSpecial77", "Quiet/Pass/word1", "S3crtPa55word"},
		"special": {"S3cr$tPa55word", "quiet`Pass`word1", "\"f\\nothing'Special'77"},
	}
	for kind, text := range texts {
		for secrets, list := range known {
			b.Run(kind+", "+secrets, func(b *testing.B) {
				r := New(Limits{}, list...)
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					r.replaceKnown(text)
				}
			})
		}
	}
}
