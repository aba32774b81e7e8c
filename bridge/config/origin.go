package config

import (
	"fmt"
	"strconv"
	"strings"
)

// Layer is a source of the configuration. Layers have an order: a later one may only tighten.
type Layer int

// Layers in their order.
const (
	BuiltIn       Layer = iota // the default of a key that no file sets
	ManagedBundle              // the bundle that the machine's file names
	Managed                    // the machine's file
	UserBundle                 // the bundle that the user's file names
	User                       // the user's file
	Workspace                  // a .codex-bridge.toml, which is untrusted content of a repository
)

// String returns the layer's name in messages and docs.
func (l Layer) String() string {
	return [...]string{"default", "bundle", "managed", "bundle", "user", "workspace"}[l]
}

// IsBundle reports whether the layer is a bundle.
func (l Layer) IsBundle() bool { return l == ManagedBundle || l == UserBundle }

// isMachines reports whether the layer is the managed file or its bundle.
func (l Layer) isMachines() bool { return l == ManagedBundle || l == Managed }

// governs reports whether the layer is the managed file or a bundle.
func (l Layer) governs() bool { return l == Managed || l.IsBundle() }

// Origin is the place that set a value.
type Origin struct {
	Layer  Layer
	File   string // of a bundle its name, "bundle v7 policy.toml"
	Line   int    // from 1
	Column int    // in bytes from 1
}

// String returns "layer file:line", "bundle v7 policy.toml:line", or "default".
func (o Origin) String() string {
	switch {
	case o.Layer == BuiltIn:
		return o.Layer.String()
	case o.Layer.IsBundle():
		return fmt.Sprintf("%s:%d", o.File, o.Line)
	}
	return fmt.Sprintf("%s %s:%d", o.Layer, o.File, o.Line)
}

// Origin returns the place that set a key: "policy.sandbox", `policy.methods."thread/shellCommand"`
// or "tools.lookup_ticket", as Key writes it. The place of a section, such as "hooks", is its first
// mention. Origin returns false for a key that no file sets. Rules and handlers have their own
// Origin.
func (c *Config) Origin(key string) (Origin, bool) {
	o, ok := c.origins[key]
	return o, ok
}

// Place returns the text of Origin, "user FILE:LINE", or "" for a key that no file sets. A [policy]
// section without a mode sets policy.mode.
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

// bareKeyChars are the characters of a key without quotes.
const bareKeyChars = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

// Key joins the parts of a key and quotes them as TOML requires.
func Key(parts ...string) string {
	quoted := make([]string, len(parts))
	for i, part := range parts {
		quoted[i] = part
		if part == "" || strings.Trim(part, bareKeyChars) != "" {
			quoted[i] = strconv.Quote(part)
		}
	}
	return strings.Join(quoted, ".")
}
