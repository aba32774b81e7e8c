package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"unicode/utf8"

	"codex-bridge/relay/tools"
)

const (
	maxTools       = 512
	maxPages       = 512
	maxDescription = 16 << 10 // bytes
	maxSchema      = 256 << 10
)

// offer is what a server says it has.
type offer struct {
	specs []tools.Spec
	names map[string]string // the server's own name of a tool by ours, where they differ
	note  string            // what was left out
}

// listed is a tool as a server lists it.
type listed struct {
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

var unfit = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

// take makes specs of what a server lists. Where Codex takes no such name, as MCP's
// "files.read" is, the tool gets one with _ in its place; should that be another
// tool's, it keeps its own, and the catalogue will say that it is left out.
func (s *Server) take(list []listed) offer {
	o := offer{names: map[string]string{}}
	if len(list) > maxTools {
		o.note = fmt.Sprintf("%d of its %d tools are left out: %d are offered at most", len(list)-maxTools, len(list), maxTools)
		list = list[:maxTools]
	}
	taken := map[string]bool{}
	for _, t := range list {
		taken[t.Name] = true
	}
	for _, t := range list {
		if len(t.InputSchema) > maxSchema {
			o.note = fmt.Sprintf("its tool %.128q is left out: its schema has more than %d bytes", t.Name, maxSchema)
			continue
		}
		spec := tools.Spec{
			Namespace: s.o.Config.Namespace, Name: t.Name, Description: describe(t), InputSchema: t.InputSchema,
			Searchable: s.o.Searchable, Origin: s.origin,
		}
		if len(spec.InputSchema) == 0 || string(spec.InputSchema) == "null" {
			spec.InputSchema = json.RawMessage(`{"type":"object"}`)
		}
		if fit := unfit.ReplaceAllString(t.Name, "_"); fit != t.Name && !taken[fit] {
			taken[fit] = true
			o.names[fit] = t.Name
			spec.Name = fit
		}
		o.specs = append(o.specs, spec)
	}
	return o
}

func describe(t listed) string {
	text := t.Description
	if text == "" {
		text = t.Title
	}
	if text == "" {
		text = t.Name
	}
	return clip(text, maxDescription)
}

// clip cuts a text to n bytes, and a mark that it was cut.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + " …"
}

func (o offer) equal(other offer) bool {
	same := func(a, b tools.Spec) bool {
		return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.InputSchema, b.InputSchema)
	}
	return slices.EqualFunc(o.specs, other.specs, same) && maps.Equal(o.names, other.names) && o.note == other.note
}
