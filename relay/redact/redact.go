package redact

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// longPayload is the length, in bytes, from which on a field of that kind is no name or
// address but the thing itself.
const longPayload = 256

// blob is the length from which on a text of the alphabet of base64, without a space, is
// taken for data that nobody reads.
const blob = 1024

// Limits bound what is left. Left out, a limit has the value given here.
type Limits struct {
	Text  int // characters of a text; 20,000
	Items int // elements of an array, members of an object; 100
	Depth int // arrays and objects inside each other; 16
}

// orDefault fills in what is left out. Codex's messages nest to about ten: an item of a turn
// of a thread that is resumed begins at six.
func (l Limits) orDefault() Limits {
	set := func(n *int, d int) {
		if *n <= 0 {
			*n = d
		}
	}
	set(&l.Text, 20_000)
	set(&l.Items, 100)
	set(&l.Depth, 16)
	return l
}

// Redactor takes secrets out of JSON and holds it to limits. The order of members and the
// spelling of numbers stay.
type Redactor struct {
	limits Limits
	known  *strings.Replacer // nil: none
}

// New makes a Redactor. The known texts are secrets wherever they stand.
func New(l Limits, known ...string) Redactor {
	r := Redactor{limits: l.orDefault()}
	for _, secret := range known {
		known = append(slices.Clip(known), forms(secret)...)
	}
	var pairs []string
	// A secret may be the beginning of another: the longer one comes first.
	for _, secret := range slices.SortedFunc(slices.Values(known), func(a, b string) int { return len(b) - len(a) }) {
		if secret != "" {
			pairs = append(pairs, secret, gone)
		}
	}
	if len(pairs) > 0 {
		r.known = strings.NewReplacer(pairs...)
	}
	return r
}

// JSON is value without its secrets, within the limits. What is no JSON is an error.
func (r Redactor) JSON(value []byte) ([]byte, error) {
	text, _, err := r.Stream(value, false)
	return text, err
}

// Stream is JSON for a message that may be a part of a stream: a secret may be cut in two by
// its parts, so that none of their texts is written; chars is how long the part was. Other
// texts beside it, which a later Codex may have, are left out and not counted.
func (r Redactor) Stream(value []byte, part bool) (text []byte, chars int, err error) {
	var out bytes.Buffer
	w := walk{Redactor: r, in: jsontext.NewDecoder(bytes.NewReader(value), options...), silent: part}
	w.out = jsontext.NewEncoder(&out, options...)
	if err := w.value("", 0); err != nil {
		return nil, 0, err
	}
	return bytes.TrimRight(out.Bytes(), "\n"), w.chars, nil
}

// Text is a text without what has the shape of a secret, within the limit of its length.
func (r Redactor) Text(text string) string { return r.cut(scrub(r.hide(r.window(text)))) }

// hide takes out what is known to be a secret.
func (r Redactor) hide(text string) string {
	if r.known == nil {
		return text
	}
	return r.known.Replace(text)
}

var options = []jsontext.Options{
	jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(false),
}

type walk struct {
	Redactor
	in     *jsontext.Decoder
	out    *jsontext.Encoder
	silent bool   // texts are parts of a stream
	chars  int    // of the part
	last   string // the text that was read last
}

// The names that values have which others say are secrets: {"name":"API_KEY","value":"…"}, and
// ["--token","…"].
const (
	holder   = "secret"
	argument = "secret argument"
)

// names tells whether a member of an object may say what its value is called: that of a
// variable, a header, or a key of a configuration that is written.
func names(member string) bool {
	switch member {
	case "name", "Name", "key", "Key", "keyPath":
		return true
	}
	return false
}

// identifier tells whether a field of a part of a stream says what it is a part of.
func identifier(name string) bool {
	switch name {
	case "id", "method", "type":
		return true
	}
	return strings.HasSuffix(name, "Id") || strings.HasSuffix(name, "Index")
}

func (w *walk) value(name string, depth int) error {
	switch kind := w.in.PeekKind(); {
	case kind == '{' || kind == '[':
		if secret(name) {
			return w.replace(gone)
		}
		if depth >= w.limits.Depth {
			return w.replace("<too deep>")
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
		w.last = text
		if w.silent && depth > 1 && !identifier(name) {
			if depth == 2 && strings.HasPrefix(name, "delta") {
				w.chars += utf8.RuneCountInString(text)
			}
			text = ""
		}
		return w.out.WriteToken(jsontext.String(w.text(name, text)))
	case kind == '0' && secret(name) && !countName.MatchString(name):
		return w.replace(gone)
	}
	raw, err := w.in.ReadValue() // a number, true, false, null, or an error
	if err != nil {
		return err
	}
	return w.out.WriteValue(raw)
}

func secret(name string) bool { return secretName(name) && !countName.MatchString(name) }

// replace skips a value and writes a text in its place.
func (w *walk) replace(text string) error {
	if err := w.in.SkipValue(); err != nil {
		return err
	}
	return w.out.WriteToken(jsontext.String(text))
}

func (w *walk) object(depth int) error {
	if err := w.both(); err != nil {
		return err
	}
	named := false // as a secret, which another member holds
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
		w.last = ""
		if named && strings.EqualFold(name, "value") {
			name = holder
		}
		if err := w.value(name, depth+1); err != nil {
			return err
		}
		named = named || names(name) && secret(w.last)
	}
	return w.both()
}

func (w *walk) array(name string, depth int) error {
	if err := w.both(); err != nil {
		return err
	}
	inside, flag := name, false // the element before says that this one is a secret
	for n := 0; w.in.PeekKind() != ']'; n++ {
		if n >= w.limits.Items {
			if err := w.in.SkipValue(); err != nil {
				return err
			}
			continue
		}
		w.last = ""
		if name = inside; flag {
			name = argument
		}
		if err := w.value(name, depth+1); err != nil {
			return err
		}
		flag = strings.HasPrefix(w.last, "-") && flagName.MatchString(w.last)
	}
	return w.both()
}

// both carries a bracket.
func (w *walk) both() error {
	token, err := w.in.ReadToken()
	if err != nil {
		return err
	}
	return w.out.WriteToken(token)
}

// text is what is written for a text in a field.
func (w *walk) text(name, text string) string {
	switch {
	case text == "":
		return text
	case secretName(name) && (name != argument || !strings.HasPrefix(text, "-")):
		return gone
	case strings.HasSuffix(strings.ToLower(name), "base64"):
		return "<redacted payload>"
	}
	if head := dataHead(text); head != "" && (len(text) > longPayload || strings.Contains(head, "base64")) {
		return "<redacted data-uri " + itoa(len(head)-1) + " chars>"
	}
	if len(text) > longPayload && payloadName.MatchString(name) || len(text) >= blob && encoded.MatchString(text) {
		return "<redacted payload>"
	}
	return w.Text(text)
}

// dataHead is the head of a data URL that is the whole text.
func dataHead(text string) string {
	if !startsWith(text, "data:") {
		return ""
	}
	return wholeData.FindString(text)
}

// window is as much of a long text as is looked at. It ends between words, so that no
// secret is cut in two and its first half taken for a word.
func (r Redactor) window(text string) string {
	most := 2*r.limits.Text + 4096
	if len(text) <= most {
		return text
	}
	end := strings.LastIndexAny(text[:most], " \t\r\n")
	return text[:max(end, 0)] + " …"
}

// cut bounds what is left.
func (r Redactor) cut(text string) string {
	if len(text) <= r.limits.Text {
		return text
	}
	n := 0
	for i := range text {
		if n == r.limits.Text {
			return text[:i] + "…"
		}
		n++
	}
	return text
}

func itoa(n int) string { return strconv.Itoa(n) }
