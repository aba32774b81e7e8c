package redact

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"codex-bridge.example/bridge/display"
)

// minPayloadLen is the length in bytes from which a field such as "image" is data and not a
// name.
const minPayloadLen = 256

// minBlobLen is the length in bytes from which text of base64's alphabet is data.
const minBlobLen = 1024

// Limits limit what is kept. The zero value of a field means its default.
type Limits struct {
	Text  int // characters of a text; default 20,000
	Items int // elements of an array, members of an object; default 100
	Depth int // nested arrays and objects; default 16
}

// orDefault sets the defaults. Codex's messages nest to about ten: in a resumed thread, an
// item of a turn starts at six.
func (l Limits) orDefault() Limits {
	l.Text, l.Items, l.Depth = cmp.Or(l.Text, 20_000), cmp.Or(l.Items, 100), cmp.Or(l.Depth, 16)
	return l
}

// Redactor redacts and truncates JSON and text. It keeps the order of members and the
// spelling of numbers.
type Redactor struct {
	limits  Limits
	spelled *spellings        // of known texts; nil: none
	known   *strings.Replacer // nil: none
}

// New returns a Redactor. The known texts are replaced everywhere, however a shell or JSON spells them.
func New(l Limits, known ...string) Redactor {
	r := Redactor{limits: l.orDefault(), spelled: newSpellings(known)}
	for _, secret := range known {
		known = append(slices.Clip(known), encodings(secret)...)
	}
	var pairs []string
	// longest first: a secret may start with another
	for _, secret := range slices.SortedFunc(slices.Values(known), longestFirst) {
		if secret != "" {
			pairs = append(pairs, secret, placeholder)
		}
	}
	if len(pairs) > 0 {
		r.known = strings.NewReplacer(pairs...)
	}
	return r
}

// JSON returns value without secrets and within the limits. It returns an error if value is
// not JSON.
func (r Redactor) JSON(value []byte) ([]byte, error) {
	text, _, err := r.Stream(value, false)
	return text, err
}

// Stream is JSON for a message that may be a delta of a stream (part). A secret may be
// split over deltas, so no text of a delta is kept; chars is its length. Unknown texts
// beside the delta are dropped and not counted.
func (r Redactor) Stream(value []byte, part bool) (text []byte, chars int, err error) {
	var out bytes.Buffer
	w := redaction{Redactor: r, in: jsontext.NewDecoder(bytes.NewReader(value), options...), isDelta: part}
	w.out = jsontext.NewEncoder(&out, options...)
	if err := w.value("", 0); err != nil {
		return nil, 0, err
	}
	if _, err := w.in.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, 0, errTrailing
	}
	return bytes.TrimRight(out.Bytes(), "\n"), w.chars, nil
}

// Text returns text without secrets, truncated to the limit.
func (r Redactor) Text(text string) string {
	return display.ClipRunes(replaceSecrets(r.replaceKnown(r.truncateInput(text))), r.limits.Text)
}

// replaceKnown replaces the known secrets. Spelled ones are the first: another one may be a part of them.
func (r Redactor) replaceKnown(text string) string {
	text = r.spelled.replace(text)
	if r.known == nil {
		return text
	}
	return r.known.Replace(text)
}

var errTrailing = errors.New("a text follows the JSON value")

var options = []jsontext.Options{
	jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(false),
}

type redaction struct {
	Redactor
	in       *jsontext.Decoder
	out      *jsontext.Encoder
	isDelta  bool   // the message is a delta
	chars    int    // length of the delta
	lastText string // the last string that was read
	words    words  // before the text, if it is in an array
}

// Names for values that a neighbour marks as secret: {"name":"API_KEY","value":"…"} and
// ["--token","…"].
const (
	valueOfSecret    = "secret"
	argumentOfSecret = "secret argument"
)

// isNameField reports whether a member may name the "value" beside it: of a variable, a
// header, or a configuration key.
func isNameField(member string) bool {
	switch member {
	case "name", "Name", "key", "Key", "keyPath":
		return true
	}
	return false
}

// isIdentifier reports whether a field of a delta identifies its stream.
func isIdentifier(name string) bool {
	switch name {
	case "id", "method", "type":
		return true
	}
	return strings.HasSuffix(name, "Id") || strings.HasSuffix(name, "Index")
}

func (w *redaction) value(name string, depth int) error {
	switch kind := w.in.PeekKind(); {
	case kind == '{' || kind == '[':
		if isSecretName(name) {
			return w.writeInstead(placeholder)
		}
		if depth >= w.limits.Depth {
			return w.writeInstead("<too deep>")
		}
		if kind == '{' {
			return w.object(depth)
		}
		return w.array(name, depth)
	case kind == '"':
		token, err := w.in.ReadToken()
		if err != nil {
			return err
		}
		text := token.String()
		w.lastText = text
		if w.isDelta && depth > 1 && !isIdentifier(name) {
			if depth == 2 && strings.HasPrefix(name, "delta") {
				w.chars += utf8.RuneCountInString(text)
			}
			text = ""
		}
		return w.out.WriteToken(jsontext.String(w.text(name, text)))
	case kind == '0' && isSecretName(name) && !countName().MatchString(name):
		return w.writeInstead(placeholder)
	}
	raw, err := w.in.ReadValue() // number, true, false, null or an error
	if err != nil {
		return err
	}
	return w.out.WriteValue(raw)
}

func isSecretName(name string) bool { return hasSecretWord(name) && !countName().MatchString(name) }

// writeInstead skips a value and writes a text.
func (w *redaction) writeInstead(text string) error {
	if err := w.in.SkipValue(); err != nil {
		return err
	}
	return w.out.WriteToken(jsontext.String(text))
}

func (w *redaction) object(depth int) error {
	if err := w.copyBracket(); err != nil {
		return err
	}
	named := false // the object's name field is that of a secret
	for n := 0; w.in.PeekKind() != '}'; n++ {
		token, err := w.in.ReadToken()
		if err != nil {
			return err
		}
		name := token.String()
		if n >= w.limits.Items {
			if err := w.in.SkipValue(); err != nil {
				return err
			}
			continue
		}
		if err := w.out.WriteToken(jsontext.String(w.Text(name))); err != nil {
			return err
		}
		w.lastText, w.words = "", words{}
		if named && strings.EqualFold(name, "value") {
			name = valueOfSecret
		}
		if err := w.value(name, depth+1); err != nil {
			return err
		}
		named = named || isNameField(name) && isSecretName(w.lastText)
	}
	return w.copyBracket()
}

func (w *redaction) array(name string, depth int) error {
	if err := w.copyBracket(); err != nil {
		return err
	}
	inside, flag := name, false // the element before says that this one is a secret
	var words words
	for n := 0; w.in.PeekKind() != ']'; n++ {
		if n >= w.limits.Items {
			if err := w.in.SkipValue(); err != nil {
				return err
			}
			continue
		}
		w.lastText, w.words = "", words
		if name = inside; flag {
			name = argumentOfSecret
		}
		if err := w.value(name, depth+1); err != nil {
			return err
		}
		flag = strings.HasPrefix(w.lastText, "-") && flagName().MatchString(w.lastText)
		words = words.next(w.lastText)
	}
	return w.copyBracket()
}

// copyBracket copies a bracket.
func (w *redaction) copyBracket() error {
	token, err := w.in.ReadToken()
	if err != nil {
		return err
	}
	return w.out.WriteToken(token)
}

// text returns the redacted text of a field.
func (w *redaction) text(name, text string) string {
	switch {
	case text == "":
		return text
	case hasSecretWord(name) && (name != argumentOfSecret || !strings.HasPrefix(text, "-")):
		return placeholder
	case strings.HasSuffix(strings.ToLower(name), "base64"):
		return "<redacted payload>"
	}
	if head := dataURLHead(text); head != "" && (len(text) > minPayloadLen || strings.Contains(head, "base64")) {
		return "<redacted data-uri " + strconv.Itoa(len(head)-1) + " chars>"
	}
	if len(text) > minPayloadLen && payloadName().MatchString(name) || len(text) >= minBlobLen && base64Only().MatchString(text) {
		return "<redacted payload>"
	}
	return w.Text(w.words.redact(text))
}

// dataURLHead returns the part before the data if the whole text is a data URL.
func dataURLHead(text string) string {
	if !hasPrefixFold(text, "data:") {
		return ""
	}
	return wholeDataURL().FindString(text)
}

// truncateInput limits the text that is searched. It cuts between words, so that half a
// secret is not left.
func (r Redactor) truncateInput(text string) string {
	most := 2*r.limits.Text + 4096
	if len(text) <= most {
		return text
	}
	end := strings.LastIndexAny(text[:most], " \t\r\n")
	return text[:max(end, 0)] + " …"
}
