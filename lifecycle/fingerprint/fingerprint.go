package fingerprint

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gowebpki/jcs"

	"codex-bridge/rpc"
)

// A fingerprint of another rule has another version.
const (
	version = "v1:"
	sum     = "sha256:"
)

// Digest is the fingerprint of a JSON text that does not show it.
func Digest(text []byte) (string, error) {
	c, err := Canonical(text)
	if err != nil {
		return "", err
	}
	return version + sum + digest(c), nil
}

// Text is the fingerprint of a JSON text that people may read.
func Text(text []byte) (string, error) {
	c, err := Canonical(text)
	if err != nil {
		return "", err
	}
	return version + string(c), nil
}

// Canonical is the canonical form of a JSON text. It refuses what two readers could read
// differently: a key twice, half a surrogate pair.
func Canonical(text []byte) ([]byte, error) {
	doc, err := rpc.ParseValue(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("it has no fingerprint: %w", err)
	case doc.Truncated():
		return nil, errors.New("it has no fingerprint: it has too many values")
	}
	c, err := jcs.Transform(text)
	if err != nil {
		return nil, fmt.Errorf("it has no fingerprint: %w", err)
	}
	return c, nil
}

// Same tells whether two fingerprints are of the same text.
func Same(a, b string) bool { return a == b || key(a) == key(b) }

// SameTools is Same for the catalogue of dynamic tools, a list whose order does not count.
func SameTools(a, b string) bool { return a == b || toolsKey(a) == toolsKey(b) }

// NoTools tells whether a fingerprint is that of an empty catalogue.
func NoTools(f string) bool { return toolsKey(f) == key("[]") }

// Brief is a fingerprint to be shown: a digest where it is a text.
func Brief(f string) string {
	if hexes, ok := strings.CutPrefix(key(f), known); ok {
		return version + sum + hexes
	}
	return f
}

// The keys of a fingerprint that is a digest, and of one that is not understood.
const (
	known  = "="
	opaque = "?"
)

// key is what fingerprints of the same text have in common, however they were written.
func key(f string) string {
	if f == "" {
		return ""
	}
	if body, ok := strings.CutPrefix(f, version); ok {
		if hexes, ok := strings.CutPrefix(body, sum); ok {
			return known + hexes
		}
		return ofJSON(body, f)
	}
	if len(f) == hex.EncodedLen(sha256.Size) && strings.Trim(f, "0123456789abcdef") == "" {
		return known + f
	}
	return ofJSON(f, f)
}

func ofJSON(text, f string) string {
	if c, ok := collection(text); ok {
		return known + digest(c)
	}
	return opaque + f
}

// collection is the canonical form of an object or an array.
func collection(text string) ([]byte, bool) {
	if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
		return nil, false
	}
	c, err := Canonical([]byte(text))
	return c, err == nil
}

// toolsKey is key with the list in order: others sort it by the rules of a language.
func toolsKey(f string) string {
	text := strings.TrimPrefix(f, version)
	c, ok := collection(text)
	if !ok || c[0] != '[' {
		return key(f)
	}
	doc, err := rpc.ParseValue(c)
	if err != nil {
		return key(f)
	}
	var list [][]byte
	for e := range doc.Root().Elements() {
		list = append(list, e.Raw())
	}
	slices.SortFunc(list, bytes.Compare)
	return key("[" + string(bytes.Join(list, []byte(","))) + "]")
}

func digest(canonical []byte) string {
	s := sha256.Sum256(canonical)
	return hex.EncodeToString(s[:])
}
