package provider

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sync"

	"codex-bridge.example/bridge/display"
	"codex-bridge.example/relay/tools"
)

const (
	maxTools       = 512
	maxPages       = 512
	maxDescription = 16 << 10 // bytes
	maxSchema      = 256 << 10
)

// toolList is a server's list of tools.
type toolList struct {
	specs []tools.Spec
	names map[string]string // the server's name of a renamed tool by the new name
	note  string            // which tools were omitted
}

// listedTool is a tool in a server's list.
type listedTool struct {
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

var invalidChars = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^a-zA-Z0-9_-]`) })

// newToolList converts a server's list. A name that Codex would reject, such as MCP's
// "files.read", gets "_" for the invalid characters. If another tool has that name, it
// stays as it is, and the catalogue omits the tool.
func (s *Server) newToolList(list []listedTool) toolList {
	o := toolList{names: map[string]string{}}
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
			Namespace: s.options.Config.Namespace, Name: t.Name, Description: description(t), InputSchema: t.InputSchema,
			Searchable: s.options.Searchable, Origin: s.origin,
		}
		if len(spec.InputSchema) == 0 || string(spec.InputSchema) == "null" {
			spec.InputSchema = json.RawMessage(`{"type":"object"}`)
		}
		if fit := invalidChars().ReplaceAllString(t.Name, "_"); fit != t.Name && !taken[fit] {
			taken[fit] = true
			o.names[fit] = t.Name
			spec.Name = fit
		}
		o.specs = append(o.specs, spec)
	}
	return o
}

func description(t listedTool) string {
	text := t.Description
	if text == "" {
		text = t.Title
	}
	if text == "" {
		text = t.Name
	}
	if len(text) > maxDescription {
		return display.Start(text, maxDescription) + " …" // the program compares descriptions
	}
	return text
}

func (o toolList) equal(other toolList) bool {
	same := func(a, b tools.Spec) bool {
		return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.InputSchema, b.InputSchema)
	}
	return slices.EqualFunc(o.specs, other.specs, same) && maps.Equal(o.names, other.names) && o.note == other.note
}
