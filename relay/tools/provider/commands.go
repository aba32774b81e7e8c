package provider

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

	"codex-bridge.example/bridge/child"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/relay/tools"
)

const (
	maxCommandOutput = 64 << 20 // bytes of stdout
	maxCommandStderr = 4 << 10  // the last bytes of stderr
	// outputGrace is how long processes that a command left behind may still write to its
	// output, as in a shell's pipeline.
	outputGrace = 250 * time.Millisecond
)

// CommandOptions configure Commands.
type CommandOptions struct {
	Tools map[string]config.Tool // by name
	// Place returns where a configuration key was set, or "", like config.Config.Place.
	// nil: not known.
	Place func(key string) string
	// Env is the bridge's environment; nil: os.Environ. Commands get a part of it.
	Env []string
}

// Commands is the Provider of the configured commands.
type Commands struct {
	tools map[string]config.Tool
	specs []tools.Spec
	env   []string
}

var _ tools.Provider = (*Commands)(nil)

// NewCommands returns the provider. A tool whose schema can't be encoded gets an empty one,
// and the catalogue omits it.
func NewCommands(o CommandOptions) *Commands {
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

// Specs returns the tools, sorted by name.
func (c *Commands) Specs() []tools.Spec { return slices.Clone(c.specs) }

// Timeout returns the tool's configured timeout.
func (c *Commands) Timeout(name string) time.Duration { return time.Duration(c.tools[name].Timeout) }

// Run runs a tool's command. When ctx ends, the error comes with the output so far.
func (c *Commands) Run(ctx context.Context, call tools.Call) (tools.Result, error) {
	t, ok := c.tools[call.Name]
	if !ok || len(t.Command) == 0 {
		return tools.Result{}, fmt.Errorf("the tool %q is no longer configured", call.Name)
	}
	if call.Cwd != "" {
		if info, err := os.Stat(call.Cwd); err != nil || !info.IsDir() || !filepath.IsAbs(call.Cwd) {
			return tools.Result{}, fmt.Errorf("the tool can't be run: the thread's folder %q does not exist", call.Cwd)
		}
	}
	r, err := child.Run(ctx, child.Command{
		Args: t.Command, Dir: call.Cwd, Env: c.env, Stdin: append(slices.Clip([]byte(call.Arguments)), '\n'),
		MaxStdout: maxCommandOutput, MaxStderr: maxCommandStderr, Grace: outputGrace,
	})
	said := strings.TrimSpace(strings.ToValidUTF8(string(r.Stderr), "\uFFFD"))
	switch {
	case ctx.Err() != nil:
		return partialResult(r, said), context.Cause(ctx)
	case errors.Is(err, child.ErrTooLong):
		return tools.Result{}, fmt.Errorf("the tool was ended: it printed more than %d MiB%s", maxCommandOutput>>20, stderrNote(said))
	case err != nil:
		return tools.Result{}, fmt.Errorf("the tool can't be run: %w", err)
	case r.Code != 0:
		result := tools.Result{Content: []tools.Content{{Text: fmt.Sprintf("The tool failed: %s%s\n", r.Status, stderrNote(said))}}, Failed: true}
		if printed, err := ParseOutput(r.Stdout); err == nil {
			result.Content = append(result.Content, printed.Content...)
		} else {
			result.Content = append(result.Content, textContent(r.Stdout)...)
		}
		return result, nil
	}
	return ParseOutput(r.Stdout)
}

func stderrNote(said string) string {
	if said == "" {
		return "."
	}
	return "; stderr:\n" + said
}

// partialResult returns the output of a command that was ended.
func partialResult(r child.Result, said string) tools.Result {
	var result tools.Result
	if said != "" {
		result.Content = append(result.Content, tools.Content{Text: "\nstderr:\n" + said + "\n"})
	}
	if rest := textContent(r.Stdout); len(rest) > 0 {
		result.Content = append(append(result.Content, tools.Content{Text: "\nstdout:\n"}), rest...)
	}
	return result
}
