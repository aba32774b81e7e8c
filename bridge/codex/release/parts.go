package release

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"codex-bridge.example/bridge/codex"
)

// Part is a part of a release that is read on its own.
type Part string

// The parts of a release.
const (
	PartMethods    Part = "methods"
	PartTypes      Part = "types" // with enums, requirements and members of responses
	PartFeatures   Part = "features"
	PartFlags      Part = "flags" // with commands
	PartConfigKeys Part = "configuration keys"
	PartModels     Part = "models"
	PartTools      Part = "tools"
)

// Parts returns all parts, in the order in which they are read.
func Parts() []Part {
	return []Part{PartMethods, PartTypes, PartFeatures, PartFlags, PartModels, PartTools, PartConfigKeys}
}

// The time that Codex may take for a part. Measured with Codex 0.171 on two idle cores: 12 s for the
// configuration keys, and less than 1 s for each other part.
const (
	partTime       = time.Minute
	configKeysTime = 5 * time.Minute
)

// FillFrom takes the parts that could not be read from another release.
func (r *Release) FillFrom(other *Release) {
	if r.Unread[PartMethods] != "" {
		r.Methods = other.Methods
	}
	if r.Unread[PartTypes] != "" {
		r.Types, r.Enums, r.Requirements, r.Sent = other.Types, other.Enums, other.Requirements, other.Sent
	}
	if r.Unread[PartFlags] != "" {
		r.Flags, r.Commands, r.CommandFlags = other.Flags, other.Commands, other.CommandFlags
	}
	if r.Unread[PartConfigKeys] != "" {
		r.ConfigKeys = other.ConfigKeys
	}
	if r.Unread[PartModels] != "" {
		r.Models, r.DefaultModel = other.Models, other.DefaultModel
	}
	if r.Unread[PartTools] != "" {
		r.Tools = other.Tools
	}
}

// ToolReader reads the tools of a release whose models are read. Codex's home is a new folder.
type ToolReader func(ctx context.Context, c codex.Command, home string, r *Release) error

// Load runs Codex to get all parts of a Release. Each part has a time limit of its own. A part
// that can't be read is in Release.Unread. dir is as for LoadMethods; the homes of Codex are in it. If ctx
// ends, the error is a *StoppedError.
func Load(ctx context.Context, c codex.Command, dir string, tools ToolReader) (*Release, error) {
	home := filepath.Join(dir, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		return nil, err
	}
	c = c.WithHome(home)
	r := &Release{Unread: make(map[Part]string)}
	if err := r.readPart(ctx, "version", func(ctx context.Context) (err error) { r.Version, err = c.ReadVersion(ctx); return err }); err != nil {
		return nil, err
	}
	if reason := r.Unread["version"]; reason != "" {
		return nil, errors.New(reason)
	}
	for _, one := range []struct {
		part Part
		read func(context.Context) error
	}{
		{PartMethods, func(ctx context.Context) error { return r.readMethods(ctx, c, dir) }},
		{PartTypes, func(context.Context) error {
			if reason := r.Unread[PartMethods]; reason != "" {
				return errors.New(reason)
			}
			return r.readTypes(filepath.Join(dir, SchemaFolder, bundleFile))
		}},
		{PartFeatures, func(ctx context.Context) (err error) { r.Features, err = features(ctx, c); return err }},
		{PartFlags, func(ctx context.Context) error { return r.readCommands(ctx, c) }},
		{PartModels, func(ctx context.Context) error { return r.readModels(ctx, c, filepath.Join(dir, "models")) }},
		{PartTools, func(ctx context.Context) error {
			if reason := r.Unread[PartModels]; reason != "" {
				return errors.New(reason)
			}
			return tools(ctx, c, filepath.Join(dir, "tools"), r)
		}},
		{PartConfigKeys, func(ctx context.Context) (err error) {
			r.ConfigKeys, err = configKeys(ctx, c, filepath.Join(dir, "keys"), slices.Sorted(maps.Keys(r.Features)))
			return err
		}},
	} {
		if err := r.readPart(ctx, one.part, one.read); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// readPart reads a part within its time. If that fails, the reason is in Unread. If ctx ends, the error is
// a *StoppedError.
func (r *Release) readPart(ctx context.Context, part Part, read func(context.Context) error) error {
	limit := partTime
	if part == PartConfigKeys {
		limit = configKeysTime
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := read(limited)
	switch {
	case ctx.Err() != nil:
		return &StoppedError{part, context.Cause(ctx)}
	case err != nil && limited.Err() != nil:
		r.Unread[part] = fmt.Sprintf("Codex took longer than %s", limit)
	case err != nil:
		r.Unread[part] = err.Error()
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

// features returns the stage and default of each feature that `codex features list` prints.
func features(ctx context.Context, c codex.Command) (map[string]string, error) {
	out, err := c.Output(ctx, "features", "list")
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
