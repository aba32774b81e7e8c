package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"codex-bridge/bridge/child"
	"codex-bridge/bridge/config"
	"codex-bridge/relay/tools"
)

const (
	maxOutput = 64 << 20 // bytes of stdout
	maxStderr = 4 << 10  // of stderr, the last ones
	// grace is how long what a command left behind may still write to its output, as the
	// end of a shell's pipeline does.
	grace = 250 * time.Millisecond
)

// Options make Commands.
type Options struct {
	Tools map[string]config.Tool // by name
	// Place tells where a key of the configuration was written (nil: not known), as
	// config.Config.Place does.
	Place func(key string) string
	// Env is the environment of the bridge (nil: os.Environ), of which commands get a part.
	Env []string
}

// Commands is the provider of the host's commands.
type Commands struct {
	tools map[string]config.Tool
	specs []tools.Spec
	env   []string
}

var _ tools.Provider = (*Commands)(nil)

// New makes the provider. A schema that has no form in JSON stays out of its tool's
// spec, which the catalogue then leaves out.
func New(o Options) *Commands {
	if o.Env == nil {
		o.Env = os.Environ()
	}
	c := &Commands{tools: maps.Clone(o.Tools), env: child.Environ(o.Env)}
	for _, name := range slices.Sorted(maps.Keys(o.Tools)) {
		t := o.Tools[name]
		origin := config.Key("tools", name)
		if o.Place != nil {
			if place := o.Place(origin); place != "" {
				origin += " (" + place + ")"
			}
		}
		schema, _ := json.Marshal(t.InputSchema) // checked by config
		spec := tools.Spec{Name: name, Description: t.Description, InputSchema: schema, Origin: origin}
		if t.Loading == config.Searchable {
			spec.Namespace, spec.Searchable = tools.DefaultNamespace, true
		}
		c.specs = append(c.specs, spec)
	}
	return c
}

// Specs are the commands, by name.
func (c *Commands) Specs() []tools.Spec { return slices.Clone(c.specs) }

// Timeout is that of the tool's section.
func (c *Commands) Timeout(name string) time.Duration { return time.Duration(c.tools[name].Timeout) }

// Run runs the command of a tool. When ctx ends, what it had printed until then comes
// with the error.
func (c *Commands) Run(ctx context.Context, call tools.Call) (tools.Result, error) {
	t, ok := c.tools[call.Name]
	if !ok || len(t.Command) == 0 {
		return tools.Result{}, fmt.Errorf("the tool %q is no longer configured", call.Name)
	}
	if call.Cwd != "" {
		if info, err := os.Stat(call.Cwd); err != nil || !info.IsDir() || !filepath.IsAbs(call.Cwd) {
			return tools.Result{}, fmt.Errorf("the tool can't be run: the thread's folder %q is not there", call.Cwd)
		}
	}
	r, err := child.Run(ctx, child.Command{
		Args: t.Command, Dir: call.Cwd, Env: c.env, Stdin: append(slices.Clip([]byte(call.Arguments)), '\n'),
		MaxStdout: maxOutput, MaxStderr: maxStderr, Grace: grace,
	})
	said := strings.TrimSpace(strings.ToValidUTF8(string(r.Stderr), "\uFFFD"))
	switch {
	case ctx.Err() != nil:
		return unfinished(r, said), context.Cause(ctx)
	case errors.Is(err, child.ErrTooLong):
		return tools.Result{}, fmt.Errorf("the tool was ended: it printed more than %d MiB%s", maxOutput>>20, stderr(said))
	case err != nil:
		return tools.Result{}, fmt.Errorf("the tool can't be run: %w", err)
	case r.Code != 0:
		result := tools.Result{Content: []tools.Content{{Text: fmt.Sprintf("The tool failed: %s%s\n", r.Status, stderr(said))}}, Failed: true}
		if printed, err := Parse(r.Stdout); err == nil {
			result.Content = append(result.Content, printed.Content...)
		} else {
			result.Content = append(result.Content, text(r.Stdout)...)
		}
		return result, nil
	}
	return Parse(r.Stdout)
}

func stderr(said string) string {
	if said == "" {
		return "."
	}
	return "; its last words on stderr:\n" + said
}

// unfinished is what was heard of a command that was ended.
func unfinished(r child.Result, said string) tools.Result {
	var result tools.Result
	if said != "" {
		result.Content = append(result.Content, tools.Content{Text: "\nIts last words on stderr:\n" + said + "\n"})
	}
	if rest := text(r.Stdout); len(rest) > 0 {
		result.Content = append(append(result.Content, tools.Content{Text: "\nIt had printed:\n"}), rest...)
	}
	return result
}
