package binding

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gowebpki/jcs"

	"codex-bridge.example/rpc"
)

// A new rule for fingerprints needs a new version.
const (
	fingerprintVersion = "v1:"
	digestPrefix       = "sha256:"
)

// HashFingerprint returns a fingerprint of a JSON text that does not show the text.
func HashFingerprint(text []byte) (string, error) {
	c, err := CanonicalJSON(text)
	if err != nil {
		return "", err
	}
	return fingerprintVersion + digestPrefix + hexDigest(c), nil
}

// TextFingerprint returns a fingerprint of a JSON text that shows the text.
func TextFingerprint(text []byte) (string, error) {
	c, err := CanonicalJSON(text)
	if err != nil {
		return "", err
	}
	return fingerprintVersion + string(c), nil
}

// CanonicalJSON returns the canonical form of a JSON text. It refuses a text that two readers
// could read differently: with a duplicate key, or half a surrogate pair.
func CanonicalJSON(text []byte) ([]byte, error) {
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

// SameFingerprint reports whether two fingerprints are of the same text.
func SameFingerprint(a, b string) bool { return a == b || fingerprintKey(a) == fingerprintKey(b) }

// sameTools is SameFingerprint for the list of dynamic tools, whose order does not count.
func sameTools(a, b string) bool { return a == b || toolsKey(a) == toolsKey(b) }

// hasNoTools reports whether a fingerprint is that of an empty list of tools.
func hasNoTools(f string) bool { return toolsKey(f) == fingerprintKey("[]") }

// ShortFingerprint returns a fingerprint for display: the hash instead of the text.
func ShortFingerprint(f string) string {
	if hexes, ok := strings.CutPrefix(fingerprintKey(f), digestKey); ok {
		return fingerprintVersion + digestPrefix + hexes
	}
	return f
}

// The keys under which a binding stores a digest, and a fingerprint of an unknown form.
const (
	digestKey = "="
	opaqueKey = "?"
)

// fingerprintKey returns a key that all fingerprints of the same text have in common.
func fingerprintKey(f string) string {
	if f == "" {
		return ""
	}
	if body, ok := strings.CutPrefix(f, fingerprintVersion); ok {
		if hexes, ok := strings.CutPrefix(body, digestPrefix); ok {
			return digestKey + hexes
		}
		return jsonKey(body, f)
	}
	if len(f) == hex.EncodedLen(sha256.Size) && strings.Trim(f, "0123456789abcdef") == "" {
		return digestKey + f
	}
	return jsonKey(f, f)
}

func jsonKey(text, f string) string {
	if c, ok := canonicalCollection(text); ok {
		return digestKey + hexDigest(c)
	}
	return opaqueKey + f
}

// canonicalCollection returns the canonical form of an object or an array.
func canonicalCollection(text string) ([]byte, bool) {
	if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
		return nil, false
	}
	c, err := CanonicalJSON([]byte(text))
	return c, err == nil
}

// toolsKey is fingerprintKey with a sorted list: other implementations sort it by a locale.
func toolsKey(f string) string {
	text := strings.TrimPrefix(f, fingerprintVersion)
	c, ok := canonicalCollection(text)
	if !ok || c[0] != '[' {
		return fingerprintKey(f)
	}
	doc, err := rpc.ParseValue(c)
	if err != nil {
		return fingerprintKey(f)
	}
	var list [][]byte
	for e := range doc.Root().Elements() {
		list = append(list, e.Raw())
	}
	slices.SortFunc(list, bytes.Compare)
	return fingerprintKey("[" + string(bytes.Join(list, []byte(","))) + "]")
}

func hexDigest(canonical []byte) string {
	s := sha256.Sum256(canonical)
	return hex.EncodeToString(s[:])
}
