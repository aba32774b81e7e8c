package approvals

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// Request is a request for approval.
type Request struct {
	Provider  string // "codex"
	Session   string // the thread; for a subagent, its root thread
	Workspace string // the absolute folder of the session
	Tool      string // Bash, apply_patch, mcp__SERVER__TOOL …
	// Input is the tool's whole input as JSON: the command, and everything else that makes
	// a difference, such as its environment.
	Input []byte
	// Cwd is an absolute path, or empty if the tool has none.
	Cwd string
	// Shell is the shell that runs a command, with its flags, unless Input has it.
	Shell string
	// Sandbox describes what the sandbox allows (policy.Reach).
	Sandbox string
	// Escalated is true if the request would leave the sandbox, or if that is not known.
	Escalated bool
	// Terms says which remembered answers to the request count. Its time is no part of the key.
	Terms policy.AnswerTerms
}

// describe adds the shell and the sandbox to a text for a list.
func (a Request) describe(what string) string {
	var where []string
	if a.Shell != "" {
		where = append(where, "shell: "+a.Shell)
	}
	if a.Sandbox != "" {
		where = append(where, "sandbox: "+a.Sandbox)
	}
	if where == nil {
		return what
	}
	return what + " (" + strings.Join(where, "; ") + ")"
}

// ErrEscalated is returned for a request that would leave the sandbox.
var ErrEscalated = errors.New("an approval outside the sandbox is never remembered")

// Key identifies a request exactly. The zero Key is never remembered.
type Key struct {
	session, workspace string // digests
	root               string // the workspace, with links resolved
	request            Request
}

// NewKey returns the key of a request. It returns an error if the request can't be
// identified exactly, so it must not be remembered.
func NewKey(a Request) (Key, error) {
	for _, field := range []struct{ name, text string }{
		{"provider", a.Provider}, {"session", a.Session}, {"workspace", a.Workspace}, {"tool", a.Tool}, {"cwd", a.Cwd}, {"shell", a.Shell}, {"sandbox", a.Sandbox},
	} {
		switch {
		case field.text == "" && field.name != "cwd" && field.name != "shell":
			return Key{}, fmt.Errorf("the request has no %s, so it can't be remembered", field.name)
		case !utf8.ValidString(field.text):
			return Key{}, fmt.Errorf("the %s is not valid UTF-8, so the request can't be remembered", field.name)
		}
	}
	input, err := Canonical(a.Input)
	if err != nil {
		return Key{}, fmt.Errorf("the tool's input can't be remembered: %w", err)
	}
	root, err := resolveFolder(a.Workspace)
	if err != nil {
		return Key{}, fmt.Errorf("the workspace: %w", err)
	}
	cwd := ""
	if a.Cwd != "" {
		if cwd, err = resolveFolder(a.Cwd); err != nil {
			return Key{}, fmt.Errorf("the working folder: %w", err)
		}
	}
	a.Input = input
	rest := []string{a.Provider, a.Tool, string(input), a.Cwd, cwd, a.Shell, a.Sandbox, fmt.Sprint(a.Escalated)}
	rest = append(rest, a.Terms.AskedBy...) // last, since their number varies
	return Key{
		session:   digest(append([]string{"session", a.Session, a.Workspace, root}, rest...)),
		workspace: digest(append([]string{"workspace", a.Workspace, root}, rest...)),
		root:      root, request: a,
	}, nil
}

// Digest identifies the request within its session.
func (k Key) Digest() string { return k.session }

// resolveFolder resolves links, because a link may point to another folder later.
func resolveFolder(folder string) (string, error) {
	if !filepath.IsAbs(folder) {
		return "", fmt.Errorf("%q is not absolute", folder)
	}
	return filepath.EvalSymlinks(folder)
}

// digestVersion must change whenever the digested contents change.
const digestVersion = "v4:"

// digest hashes the texts, each with its length so that different lists never have the same
// bytes.
func digest(texts []string) string {
	h := sha256.New()
	for _, text := range texts {
		fmt.Fprintf(h, "%d:%s,", len(text), text)
	}
	return digestVersion + hex.EncodeToString(h.Sum(nil))
}

// Limits of an input that can be remembered.
const (
	maxInput = 4_000_000
	maxDepth = 64
	maxNodes = 20_000
)

// Canonical returns the canonical form of a JSON text: equal texts have equal forms.
func Canonical(text []byte) ([]byte, error) {
	if len(text) > maxInput {
		return nil, fmt.Errorf("it is longer than %d bytes", maxInput)
	}
	doc, err := rpc.ParseValue(text) // rejects ambiguous JSON
	if err != nil {
		return nil, err
	}
	if doc.Truncated() {
		return nil, errTooManyValues
	}
	w := canonicalWriter{out: make([]byte, 0, len(text))}
	if err := w.value(doc.Root(), 0); err != nil {
		return nil, err
	}
	return w.out, nil
}

var errTooManyValues = fmt.Errorf("it has more than %d values", maxNodes)

// canonicalWriter writes JSON with the members of objects sorted by name. It is stricter
// than RFC 8785, which converts numbers to float64, so that 9007199254740993 would equal
// 9007199254740992. Numbers keep their digits here, and another form of the same number
// differs.
type canonicalWriter struct {
	out   []byte
	nodes int
}

func (w *canonicalWriter) value(v rpc.Value, depth int) error {
	if w.nodes++; w.nodes > maxNodes {
		return errTooManyValues
	}
	if depth > maxDepth {
		return fmt.Errorf("it is deeper than %d", maxDepth)
	}
	switch v.Kind() {
	case rpc.Object:
		members := maps.Collect(v.Members())
		w.out = append(w.out, '{')
		for i, name := range slices.Sorted(maps.Keys(members)) {
			w.comma(i)
			w.text(name)
			w.out = append(w.out, ':')
			if err := w.value(members[name], depth+1); err != nil {
				return err
			}
		}
		w.out = append(w.out, '}')
	case rpc.Array:
		w.out = append(w.out, '[')
		i := 0
		for element := range v.Elements() {
			w.comma(i)
			i++
			if err := w.value(element, depth+1); err != nil {
				return err
			}
		}
		w.out = append(w.out, ']')
	case rpc.String:
		text, _ := v.Text()
		w.text(text)
	case rpc.Number, rpc.Bool, rpc.Null:
		w.out = append(w.out, v.Raw()...)
	default:
		return errors.New("it is empty")
	}
	return nil
}

func (w *canonicalWriter) comma(i int) {
	if i > 0 {
		w.out = append(w.out, ',')
	}
}

// text writes a string with its length in front, so no escapes are needed.
func (w *canonicalWriter) text(text string) {
	w.out = strconv.AppendInt(w.out, int64(len(text)), 10)
	w.out = append(w.out, '"')
	w.out = append(w.out, text...)
	w.out = append(w.out, '"')
}
