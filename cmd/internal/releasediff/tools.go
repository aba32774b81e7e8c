package releasediff

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sync"

	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/codex/release"
	"codex-bridge.example/cmd/internal/scripted"
)

// Load runs a Codex to get all parts of a release. See release.Load.
func Load(ctx context.Context, c codex.Command, dir string) (*release.Release, error) {
	return release.Load(ctx, c, dir, func(ctx context.Context, c codex.Command, home string, r *release.Release) (err error) {
		r.Tools, err = offeredTools(ctx, c, home, r)
		return err
	})
}

// maxModels is how many models are tried until one has tools without code mode.
const maxModels = 6

// offeredTools runs a turn against a stand-in for the model, and returns the tools that Codex offers
// it: those of the default model, and those of a model without code mode.
func offeredTools(ctx context.Context, c codex.Command, home string, r *release.Release) (tools map[release.ModelKind]map[string][]string, err error) {
	model, err := scripted.Start(nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, model.Close()) }()
	if err := scripted.Home(home, model.URL(), ""); err != nil {
		return nil, err
	}
	server, err := c.Connect(ctx, home)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.Close(ctx)) }()
	offered := func(name string) (map[string][]string, bool, error) {
		var opened struct{ Thread struct{ ID string } }
		if err := codex.CallInto(ctx, server, &opened, "thread/start", map[string]any{"model": name, "cwd": home, "ephemeral": true}); err != nil {
			return nil, false, err
		}
		if _, err := server.Call(ctx, "turn/start", map[string]any{
			"threadId": opened.Thread.ID, "input": []any{map[string]any{"type": "text", "text": "hello", "text_elements": []any{}}},
		}); err != nil {
			return nil, false, err
		}
		request, err := model.Await(ctx, func(r scripted.Request) bool { return r.Model == name })
		if err != nil {
			return nil, false, err
		}
		return toolsOf(request)
	}
	tools = make(map[release.ModelKind]map[string][]string)
	if tools[release.DefaultModel], _, err = offered(r.DefaultModel); err != nil {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(r.Models))
	if slices.Contains(names, scripted.Model) {
		names = append([]string{scripted.Model}, names...)
	}
	for _, name := range names[:min(len(names), maxModels)] {
		list, codeMode, err := offered(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if !codeMode {
			tools[release.DirectModel] = list
			break
		}
	}
	return tools, nil
}

// tool is a tool in a request to the model.
type tool struct {
	Type        string
	Name        string
	Description string
	Parameters  struct{ Properties map[string]json.RawMessage }
	Tools       []tool // of a namespace
}

// toolsOf returns the tools that a request offers, with their parameters, and whether it offers them in
// code mode.
func toolsOf(r scripted.Request) (list map[string][]string, codeMode bool, err error) {
	var body struct {
		Tools []tool
		Input []struct {
			Type  string
			Tools []tool
		}
	}
	if err := json.Unmarshal(r.Body, &body); err != nil {
		return nil, false, err
	}
	list = make(map[string][]string)
	for _, item := range body.Input {
		if item.Type == "additional_tools" {
			body.Tools = append(body.Tools, item.Tools...)
		}
	}
	var add func(prefix string, tools []tool)
	add = func(prefix string, tools []tool) {
		for _, t := range tools {
			name := t.Name
			if name == "" {
				name = t.Type // web_search has no name
			}
			if len(t.Tools) > 0 {
				add(prefix+name+"/", t.Tools)
				continue
			}
			list[prefix+name] = append([]string{}, slices.Sorted(maps.Keys(t.Parameters.Properties))...)
			for inner, params := range nestedTools(t.Description) {
				list[prefix+name+"/"+inner], codeMode = params, true
			}
		}
	}
	add("", body.Tools)
	if len(list) == 0 {
		return nil, false, errors.New("Codex offers the model no tool")
	}
	return list, codeMode, nil
}

var (
	// declaredTool finds a tool in the description of the tool that runs code.
	declaredTool = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?ms)^declare const tools: \{ (\w+)\((.*?)\): Promise<`)
	})
	// declaredParameter finds a parameter in a declaration.
	declaredParameter = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^  (\w+)\??: `) })
)

// nestedTools returns the tools that code can call, from the description of the tool that runs it.
func nestedTools(description string) map[string][]string {
	list := make(map[string][]string)
	for _, m := range declaredTool().FindAllStringSubmatch(description, -1) {
		params := []string{}
		for _, p := range declaredParameter().FindAllStringSubmatch(m[2], -1) {
			params = append(params, p[1])
		}
		slices.Sort(params)
		list[m[1]] = params
	}
	return list
}
