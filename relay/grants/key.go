package grants

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"codex-bridge/rpc"
)

// Asked is what a person is, or was, asked to allow.
type Asked struct {
	Provider  string // "codex"
	Session   string // the thread; of a subagent the parent's
	Workspace string // the absolute folder that the session works in
	Tool      string // Bash, apply_patch, mcp__SERVER__TOOL …
	// Input is all that the tool gets, as JSON: the command's argv or its whole text,
	// and whatever else makes a difference, such as its environment.
	Input []byte
	// Cwd is absolute; empty where the tool has none.
	Cwd string
	// Shell is the shell that runs a command, with its flags, where Input does not tell.
	Shell string
	// Sandbox is what the sandbox allows in which it would run (policy.Reach).
	Sandbox string
	// Escalated: it would leave the sandbox, or that is not known.
	Escalated bool
}

// shown adds to what a list shows of a request where it would run.
func (a Asked) shown(what string) string {
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

// ErrEscalated means that what leaves the sandbox is not remembered.
var ErrEscalated = errors.New("what leaves the sandbox is not remembered")

// Key is what exactly was asked for. The zero Key is nothing, and never remembered.
type Key struct {
	session, workspace string // digests
	root               string // the workspace, resolved
	asked              Asked
}

// NewKey makes the key of a request. Where it fails, nothing can be said exactly
// enough to be remembered.
func NewKey(a Asked) (Key, error) {
	for _, field := range []struct{ name, text string }{
		{"provider", a.Provider}, {"session", a.Session}, {"workspace", a.Workspace}, {"tool", a.Tool}, {"cwd", a.Cwd}, {"shell", a.Shell}, {"sandbox", a.Sandbox},
	} {
		switch {
		case field.text == "" && field.name != "cwd" && field.name != "shell":
			return Key{}, fmt.Errorf("a request without a %s can't be remembered", field.name)
		case !utf8.ValidString(field.text):
			return Key{}, fmt.Errorf("the %s is no valid UTF-8; the request can't be remembered", field.name)
		}
	}
	input, err := Canonical(a.Input)
	if err != nil {
		return Key{}, fmt.Errorf("the tool's input can't be remembered: %w", err)
	}
	root, err := resolved(a.Workspace)
	if err != nil {
		return Key{}, fmt.Errorf("the workspace: %w", err)
	}
	cwd := ""
	if a.Cwd != "" {
		if cwd, err = resolved(a.Cwd); err != nil {
			return Key{}, fmt.Errorf("the working folder: %w", err)
		}
	}
	a.Input = input
	rest := []string{a.Provider, a.Tool, string(input), a.Cwd, cwd, a.Shell, a.Sandbox, fmt.Sprint(a.Escalated)}
	return Key{
		session:   digest(append([]string{"session", a.Session, a.Workspace, root}, rest...)),
		workspace: digest(append([]string{"workspace", a.Workspace, root}, rest...)),
		root:      root, asked: a,
	}, nil
}

// Digest names the request within its session.
func (k Key) Digest() string { return k.session }

// resolved is a folder as it is on the disk now: behind a link there may be another
// one tomorrow.
func resolved(folder string) (string, error) {
	if !filepath.IsAbs(folder) {
		return "", fmt.Errorf("%q is not absolute", folder)
	}
	return filepath.EvalSymlinks(folder)
}

// digestVersion changes with everything that changes what a digest is of.
const digestVersion = "v3:"

// digest is one text for many. Each goes with its length, so that no two lists run
// together into the same bytes.
func digest(texts []string) string {
	h := sha256.New()
	for _, text := range texts {
		fmt.Fprintf(h, "%d:%s,", len(text), text)
	}
	return digestVersion + hex.EncodeToString(h.Sum(nil))
}

// Bounds of an input that can be remembered.
const (
	maxInput = 4_000_000
	maxDepth = 64
	maxNodes = 20_000
)

// Canonical is the one spelling of a JSON text.
func Canonical(text []byte) ([]byte, error) {
	if len(text) > maxInput {
		return nil, fmt.Errorf("it is longer than %d bytes", maxInput)
	}
	doc, err := rpc.ParseValue(text) // refuses what two readers could read differently
	if err != nil {
		return nil, err
	}
	if doc.Truncated() {
		return nil, errNodes
	}
	w := writer{out: make([]byte, 0, len(text))}
	if err := w.value(doc.Root(), 0); err != nil {
		return nil, err
	}
	return w.out, nil
}
