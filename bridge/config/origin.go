package config

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Layer is one of the places a configuration comes from, in order.
type Layer int

const (
	// BuiltIn is the value a key has when no file sets it.
	BuiltIn Layer = iota
	// Managed is the machine's file; what it sets cannot be loosened.
	Managed
	// User is the user's own file.
	User
	// Workspace is the .codex-bridge.toml of a repository: untrusted content
	// that may only tighten.
	Workspace
)

// String gives the layer's name as the documentation has it.
func (l Layer) String() string {
	switch l {
	case BuiltIn:
		return "default"
	case Managed:
		return "managed"
	case User:
		return "user"
	case Workspace:
		return "workspace"
	}
	return "Layer(" + strconv.Itoa(int(l)) + ")"
}

// Origin is the place that decided a value.
type Origin struct {
	Layer  Layer
	File   string
	Line   int // from 1
	Column int // in bytes from 1
}

// String gives "layer file:line", or "default".
func (o Origin) String() string {
	if o.Layer == BuiltIn {
		return o.Layer.String()
	}
	return fmt.Sprintf("%s %s:%d", o.Layer, o.File, o.Line)
}

// Origin says which file and line decided the value of a key, written as Key
// writes it: "policy.sandbox", `policy.methods."thread/shellCommand"`,
// "tools.lookup_ticket". A section ("hooks") has the origin of its first
// mention. It is false for a key that no file sets. Rules and handlers carry
// their own Origin.
func (c *Config) Origin(key string) (Origin, bool) {
	o, ok := c.origins[key]
	return o, ok
}

// Place is Origin in words, "user FILE:LINE"; "" for a key that no file sets. The
// mode of a [policy] section that names none is set by the section.
func (c *Config) Place(key string) string {
	o, ok := c.Origin(key)
	if !ok && key == "policy.mode" {
		o, ok = c.Origin("policy")
	}
	if !ok {
		return ""
	}
	return o.String()
}

var bareKey = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// Key joins the parts of a key as TOML writes it, quoting what must be.
func Key(parts ...string) string {
	var b strings.Builder
	for i, p := range parts {
		if i > 0 {
			b.WriteByte('.')
		}
		if !bareKey.MatchString(p) {
			p = strconv.Quote(p)
		}
		b.WriteString(p)
	}
	return b.String()
}
