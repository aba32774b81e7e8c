package codex

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

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
	// Commands has all commands, with their parents: "mcp list". It has hidden ones, and no aliases.
	Commands []string `json:"commands,omitempty"`
	// Flags has the flags of each command in Commands. A flag with a value ends with "=".
	Flags map[string][]string `json:"flags,omitempty"`
	// ConfigKeys are the keys of config.toml, as paths with dots: those of the root and of the tables
	// in configTables.
	ConfigKeys []string `json:"configKeys,omitempty"`
	// Features has the stage and default by feature: "stable true". They are in
	// methods.Features for the tested release.
	Features map[string]string `json:"-"`
	// Unread says why a part of the release could not be read.
	Unread map[Part]string `json:"-"`
}

// Part is a part of a release that is read on its own.
type Part string

// The parts of which Release.Unread may say why they are missing.
const (
	PartMethods    Part = "methods" // never in Release.Unread
	PartTypes      Part = "types"   // with enums and requirements
	PartFeatures   Part = "features"
	PartFlags      Part = "flags" // with commands
	PartConfigKeys Part = "configuration keys"
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

// FillFrom takes the parts that could not be read from another release.
func (r *Release) FillFrom(other *Release) {
	if r.Unread[PartTypes] != "" {
		r.Types, r.Enums, r.Requirements = other.Types, other.Enums, other.Requirements
	}
	if r.Unread[PartFlags] != "" {
		r.Flags, r.Commands = other.Flags, other.Commands
	}
	if r.Unread[PartConfigKeys] != "" {
		r.ConfigKeys = other.ConfigKeys
	}
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

// LoadRelease runs Codex to get all parts of a Release. It takes seconds: Codex lists its
// configuration keys nowhere, so each is tried. dir is as for LoadMethods; an empty CODEX_HOME is in
// it. If ctx ends, the error is a *StoppedError.
func LoadRelease(ctx context.Context, c Command, dir string) (*Release, error) {
	home := filepath.Join(dir, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		return nil, err
	}
	c.Env = Environ(orOwn(c.Env), map[string]string{"CODEX_HOME": home}, nil)
	r, err := LoadMethods(ctx, c, dir)
	if ctx.Err() != nil {
		return nil, &StoppedError{PartMethods, context.Cause(ctx)}
	}
	if err != nil {
		return nil, err
	}
	return r, r.readParts(ctx, c, dir)
}

// readParts reads all but the methods. A part that can't be read is in Unread.
func (r *Release) readParts(ctx context.Context, c Command, dir string) error {
	r.Unread = make(map[Part]string)
	for _, one := range []struct {
		part Part
		read func() error
	}{
		{PartTypes, func() error { return r.readTypes(filepath.Join(dir, SchemaFolder, bundleFile)) }},
		{PartFeatures, func() (err error) { r.Features, err = c.features(ctx); return err }},
		{PartFlags, func() error { return r.readCommands(ctx, c) }},
		{PartConfigKeys, func() (err error) { r.ConfigKeys, err = c.configKeys(ctx); return err }},
	} {
		err := one.read()
		if ctx.Err() != nil {
			return &StoppedError{one.part, context.Cause(ctx)}
		}
		if err != nil {
			r.Unread[one.part] = err.Error()
		}
	}
	return nil
}

// StoppedError says that the context ended while a part of a release was read.
type StoppedError struct {
	Part Part
	Err  error // the cause of the context
}

func (e *StoppedError) Error() string {
	return fmt.Sprintf("stopped while Codex described its %s: %v", e.Part, e.Err)
}

// Unwrap returns the cause of the context.
func (e *StoppedError) Unwrap() error { return e.Err }

// orOwn returns env, or this process's environment if env is nil.
func orOwn(env []string) []string {
	if env == nil {
		return os.Environ()
	}
	return env
}

// features returns the stage and default of each feature that `codex features list` prints.
func (c Command) features(ctx context.Context) (map[string]string, error) {
	out, err := c.output(ctx, "features", "list")
	if err != nil {
		return nil, err
	}
	list := make(map[string]string)
	for line := range strings.Lines(out) {
		if words := strings.Fields(line); len(words) >= 3 {
			list[words[0]] = strings.Join(words[1:], " ")
		}
	}
	if len(list) == 0 {
		return nil, errors.New("`codex features list` names no feature")
	}
	return list, nil
}

// Commands are the commands whose flags the bridge checks.
var Commands = []string{"codex", "codex app-server", "codex exec", "codex exec fork", "codex exec resume", "codex exec review", "codex review"}

// readCommands reads Commands and Flags from Codex's completion script, which also has hidden ones. It lacks
// hidden aliases.
func (r *Release) readCommands(ctx context.Context, c Command) error {
	script, err := c.output(ctx, "completion", "bash")
	if err != nil {
		return err
	}
	r.Commands = CommandNames(script)
	r.Flags, err = commandFlags(script)
	return err
}

// CommandNames returns the commands of a completion script, which has a line for each word and the state that it
// leads to:
//
//	codex__app__server,daemon)
//	    cmd="codex__app__server__daemon"
//
// Of several words for a state, one has its name, and the others are aliases.
func CommandNames(script string) []string {
	step := regexp.MustCompile(`(?m)^ +(codex\w*),([\w-]+)\)\r?\n +cmd="(codex\w*)"`)
	names := map[string]string{"codex": ""}
	for more := true; more; {
		more = false
		for _, m := range step.FindAllStringSubmatch(script, -1) {
			from, word, to := m[1], m[2], m[3]
			parent, found := names[from]
			if _, done := names[to]; !found || done || word == "help" || !strings.HasSuffix(to, "__"+strings.ReplaceAll(word, "-", "__")) {
				continue
			}
			names[to], more = strings.TrimSpace(parent+" "+word), true
		}
	}
	delete(names, "codex")
	return slices.Sorted(maps.Values(names))
}

// commandFlags returns the flags of Commands in a completion script.
func commandFlags(script string) (map[string][]string, error) {
	completedCommand := regexp.MustCompile(`^ {8}(codex\w*)\)$`)
	completedFlags := regexp.MustCompile(`^ {12}opts="(.*)"$`)
	completedValue := regexp.MustCompile(`^ {16}(-[\w-]+)\)$`)
	list := make(map[string][]string)
	command := ""
	for line := range strings.Lines(script) {
		line = strings.TrimRight(line, "\r\n")
		if m := completedCommand.FindStringSubmatch(line); m != nil {
			command = strings.NewReplacer("__subcmd__", " ", "__app__server", " app-server", "__", " ").Replace(m[1])
			if !slices.Contains(Commands, command) {
				command = ""
			}
		}
		if command == "" {
			continue
		}
		if m := completedFlags.FindStringSubmatch(line); m != nil {
			for word := range strings.FieldsSeq(m[1]) {
				if strings.HasPrefix(word, "-") {
					list[command] = append(list[command], word)
				}
			}
		}
		if m := completedValue.FindStringSubmatch(line); m != nil {
			if i := slices.Index(list[command], m[1]); i >= 0 {
				list[command][i] += "="
			}
		}
	}
	for i, command := range Commands {
		if len(list[command]) == 0 && i < 2 { // older releases lack some of the others
			return nil, fmt.Errorf("the completion script has no flags of %s", command)
		}
		slices.Sort(list[command])
	}
	return list, nil
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
	for _, part := range []struct {
		name  string
		lists map[string][]string
	}{{"types", r.Types}, {"enums", r.Enums}, {"requirements", r.Requirements}, {"flags", r.Flags}} {
		if part.name == "flags" {
			encodeNames(&out, "commands", r.Commands)
		}
		fmt.Fprintf(&out, ",\n%q: ", part.name)
		if err := encodeLines(&out, part.lists); err != nil {
			return nil, err
		}
	}
	encodeNames(&out, "configKeys", r.ConfigKeys)
	out.WriteString("\n}\n")
	return out.Bytes(), nil
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
