package release

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"codex-bridge.example/bridge/methods"
)

// Release has the names that one release of Codex knows. All lists are sorted.
type Release struct {
	Version string                                  `json:"version"`
	Methods map[methods.Side]map[string]MethodShape `json:"methods"`
	// Types has the members of the types in a client's messages. It lacks params, which are in
	// Methods. A member of an unnamed object follows a dot: "granular.rules".
	Types map[string][]string `json:"types,omitempty"`
	// Enums has the strings that a type accepts. The key is a type, or a type and its member:
	// "SandboxPolicy.type".
	Enums map[string][]string `json:"enums,omitempty"`
	// Requirements has the members of the types in the response of configRequirements/read.
	Requirements map[string][]string `json:"requirements,omitempty"`
	// Sent has the members of the types that only Codex sends, such as responses and items. The key
	// of a variant is the type and its name: "ThreadItem plan".
	Sent map[string][]string `json:"sent,omitempty"`
	// Commands has all commands, with their parents: "mcp list". It has hidden ones, and no aliases.
	Commands []string `json:"commands,omitempty"`
	// Flags has the flags of each command in the variable Commands. A flag with a value ends with "=".
	Flags map[string][]string `json:"flags,omitempty"`
	// CommandFlags has the flags of the other commands, without those of all commands.
	CommandFlags map[string][]string `json:"commandFlags,omitempty"`
	// ConfigKeys are the keys of config.toml, as paths with dots.
	ConfigKeys []string `json:"configKeys,omitempty"`
	// Models has the efforts by model of the list that Codex has without an account: "low of low
	// medium". DefaultModel is the model of a thread without one.
	Models       map[string]string `json:"models,omitempty"`
	DefaultModel string            `json:"defaultModel,omitempty"`
	// Tools has the tools that Codex offers a model, with the names of their parameters.
	Tools map[ModelKind]map[string][]string `json:"tools,omitempty"`
	// Features has the stage and default by feature: "stable true". They are in
	// methods.Features for the tested release.
	Features map[string]string `json:"-"`
	// Unread says why a part of the release could not be read.
	Unread map[Part]string `json:"-"`
}

// ModelKind is a kind of model by its tools.
type ModelKind string

// The kinds of models.
const (
	DefaultModel ModelKind = "default model"
	DirectModel  ModelKind = "model without code mode"
)

// MethodShape has the names of the members of a method's params, and of a server request's
// response. They are sorted, and include all variants.
type MethodShape struct {
	Experimental bool     `json:"experimental,omitempty"`
	Params       []string `json:"params"`
	// ExperimentalParams are those of Params that Codex accepts only from a client with the
	// capability experimentalApi.
	ExperimentalParams []string `json:"experimentalParams,omitempty"`
	Answer             []string `json:"answer,omitempty"`
}

// Names returns the methods of a side, sorted.
func (r *Release) Names(side methods.Side) []string {
	return slices.Sorted(maps.Keys(r.Methods[side]))
}

// HookEvents is the key of Release.Enums with the events of hooks.
const HookEvents = "HookEventName"

// Tested returns the release that the method table covers.
func Tested() (*Release, error) {
	r := new(Release)
	if err := json.Unmarshal(methods.Schema, r); err != nil {
		return nil, err
	}
	features, err := methods.Features()
	if err != nil {
		return nil, err
	}
	r.Features = make(map[string]string, len(features))
	for _, f := range features {
		if f.Until != "" {
			continue
		}
		r.Features[f.Name] = f.Stage + " " + f.Default
	}
	return r, nil
}

// Encode returns the release as JSON with one line for each name, for readable differences.
func (r *Release) Encode() ([]byte, error) {
	var out bytes.Buffer
	fmt.Fprintf(&out, "{\n\"version\": %q,\n\"methods\": {", r.Version)
	for i, side := range methods.Sides() {
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(&out, "\n%q: ", side.String())
		if err := encodeLines(&out, r.Methods[side]); err != nil {
			return nil, err
		}
	}
	out.WriteString("\n}")
	lists := func(name string, lists map[string][]string) error {
		fmt.Fprintf(&out, ",\n%q: ", name)
		return encodeLines(&out, lists)
	}
	err := errors.Join(lists("types", r.Types), lists("enums", r.Enums), lists("requirements", r.Requirements), lists("sent", r.Sent))
	encodeNames(&out, "commands", r.Commands)
	err = errors.Join(err, lists("flags", r.Flags), lists("commandFlags", r.CommandFlags))
	encodeNames(&out, "configKeys", r.ConfigKeys)
	fmt.Fprintf(&out, ",\n\"defaultModel\": %q,\n\"models\": ", r.DefaultModel)
	err = errors.Join(err, encodeLines(&out, r.Models))
	out.WriteString(",\n\"tools\": {")
	for i, kind := range slices.Sorted(maps.Keys(r.Tools)) {
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(&out, "\n%q: ", kind)
		err = errors.Join(err, encodeLines(&out, r.Tools[kind]))
	}
	out.WriteString("\n}\n}\n")
	return out.Bytes(), err
}

func encodeNames(out *bytes.Buffer, part string, names []string) {
	fmt.Fprintf(out, ",\n%q: [", part)
	for i, name := range names {
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(out, "\n%q", name)
	}
	out.WriteString("\n]")
}

func encodeLines[T any](out *bytes.Buffer, values map[string]T) error {
	out.WriteByte('{')
	for i, name := range slices.Sorted(maps.Keys(values)) {
		text, err := json.Marshal(values[name])
		if err != nil {
			return err
		}
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(out, "\n%q: %s", name, text)
	}
	out.WriteString("\n}")
	return nil
}
