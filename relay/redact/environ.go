package redact

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// shortest is how long a value has to be to be taken for a secret wherever it stands. What
// is shorter would be found in ordinary words.
const shortest = 8

// forms are other spellings of a known secret: in JSON, in an address, and in base64, wherever
// it begins there.
func forms(secret string) (all []string) {
	if len(secret) < shortest {
		return nil
	}
	if quoted, err := jsontext.AppendQuote(nil, secret); err == nil {
		all = append(all, string(quoted[1:len(quoted)-1]))
	}
	if quoted, err := json.Marshal(secret); err == nil { // with < and & escaped
		all = append(all, string(quoted[1:len(quoted)-1]))
	}
	all = append(all, url.QueryEscape(secret), url.PathEscape(secret))
	for shift := range 3 {
		before := make([]byte, shift)
		for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			// The first letters hold what stands before as well, and the last what comes behind.
			text := alphabet.EncodeToString(append(before, secret...))
			all = append(all, text[(shift*8+5)/6:(shift+len(secret))*8/6])
		}
	}
	return slices.DeleteFunc(all, func(form string) bool { return form == secret })
}

// Environ are the values of those variables whose names say that they are secrets. Paths
// are none: what begins with a folder that is there.
func Environ(environ []string) []string {
	var all []string
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		if len(value) >= shortest && secretName(name) && !isPath(value) {
			all = append(all, value)
		}
	}
	return all
}

func isPath(value string) bool {
	top, _, deeper := strings.Cut(strings.TrimPrefix(value, "/"), "/")
	if !strings.HasPrefix(value, "/") || !deeper {
		return false // a key in base64 may begin like a path
	}
	info, err := os.Stat("/" + top)
	return err == nil && info.IsDir()
}
