package redact

import (
	"encoding/base64"
	"net/url"
	"os"
	"slices"
	"strings"

	"codex-bridge.example/bridge/policy/serverrequest"
)

// minSecretLen is the minimum length of a secret that is searched for in all texts. Shorter
// values occur in ordinary words.
const minSecretLen = 8

// encodings returns other spellings of a secret: in a URL, in the bridge's questions, and in base64 at
// any offset. For JSON and shells, see spellings.
func encodings(secret string) (all []string) {
	if len(secret) < minSecretLen {
		return nil
	}
	all = append(all, url.QueryEscape(secret), url.PathEscape(secret), serverrequest.QuoteMarks(secret))
	for shift := range 3 {
		before := make([]byte, shift)
		for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			// the first and last letters also encode neighbouring bytes
			text := alphabet.EncodeToString(append(before, secret...))
			all = append(all, text[(shift*8+5)/6:(shift+len(secret))*8/6])
		}
	}
	return slices.DeleteFunc(all, func(form string) bool { return form == secret })
}

// secretEnd matches the last part of a variable's name if it says, alone, that the value is a secret. PWD is a folder.
var secretEnd = newExpr(`(?i)(?:^|_)(?:auth|creds?|dsn|pass|pat|[a-z]*pw)$|_pwd$`)

// EnvironSecrets returns the values of environment variables whose names say that they are
// secrets, except paths below an existing folder, and the passwords in addresses.
func EnvironSecrets(environ []string) []string {
	var all []string
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		if len(value) >= minSecretLen && (hasSecretWord(name) || secretEnd().MatchString(name)) && !isPath(value) && !isNameOfSecret(value) {
			all = append(all, value)
		}
		if password := passwordIn(value); password != "" {
			all = append(all, password)
		}
	}
	return all
}

// passwordIn returns the password in an address; "" if there is none, or if it is a word that stands in ordinary texts, as in
// postgres://postgres:postgres@localhost.
func passwordIn(text string) string {
	address, err := url.Parse(text)
	if err != nil {
		return ""
	}
	password, _ := address.User.Password()
	words := append(strings.Split(address.Path, "/"), address.Scheme, address.Hostname(), address.User.Username())
	if len(password) < minSecretLen || slices.Contains(words, password) || isNameOfSecret(password) {
		return ""
	}
	return password
}

// nameOfSecret matches words such as "password".
var nameOfSecret = newExpr(`^[A-Za-z]+$`)

// isNameOfSecret reports whether a value names a secret and is none. In a text it has the secret beside it.
func isNameOfSecret(value string) bool {
	return hasSecretWord(value) && nameOfSecret().MatchString(value)
}

func isPath(value string) bool {
	top, _, deeper := strings.Cut(strings.TrimPrefix(value, "/"), "/")
	if !strings.HasPrefix(value, "/") || !deeper {
		return false // a base64 key may start like a path
	}
	info, err := os.Stat("/" + top)
	return err == nil && info.IsDir()
}
