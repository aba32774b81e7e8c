package release

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/methods"
)

// schemaFiles are the files of the JSON schema that list the methods.
var schemaFiles = map[methods.Side]string{
	methods.ClientRequest:      "ClientRequest.json",
	methods.ClientNotification: "ClientNotification.json",
	methods.ServerRequest:      "ServerRequest.json",
	methods.ServerNotification: "ServerNotification.json",
}

// SchemaFolder is the folder in the one of LoadMethods that has the schema with experimental methods.
const SchemaFolder = "full"

// LoadMethods runs Codex to get its version and its JSON schema, with and without experimental
// methods. c.Args go before Codex's command. Codex writes the schema in dir, an empty folder in which
// sandboxed commands must not write: Codex itself is not sandboxed, and follows links. Of the release
// LoadMethods returns only the version and the methods.
func LoadMethods(ctx context.Context, c codex.Command, dir string) (*Release, error) {
	version, err := c.ReadVersion(ctx)
	if err != nil {
		return nil, err
	}
	r := &Release{Version: version}
	return r, r.readMethods(ctx, c, dir)
}

// readMethods reads the methods of a Codex.
func (r *Release) readMethods(ctx context.Context, c codex.Command, dir string) error {
	full, stable := filepath.Join(dir, SchemaFolder), filepath.Join(dir, "stable")
	if _, err := c.Output(ctx, "app-server", "generate-json-schema", "--experimental", "--out", full); err != nil {
		return err
	}
	if _, err := c.Output(ctx, "app-server", "generate-json-schema", "--out", stable); err != nil {
		return err
	}
	all, err := readSchema(full)
	if err != nil {
		return err
	}
	plain, err := readSchema(stable)
	if err != nil {
		return err
	}
	r.Methods = all
	r.markExperimental(plain)
	return nil
}

// markExperimental marks methods and params that the schema without experimental methods lacks.
func (r *Release) markExperimental(plain map[methods.Side]map[string]MethodShape) {
	for side, list := range r.Methods {
		for name, shape := range list {
			stable, ok := plain[side][name]
			if !ok {
				shape.Experimental = true
				list[name] = shape
				continue
			}
			for _, member := range shape.Params {
				if !slices.Contains(stable.Params, member) {
					shape.ExperimentalParams = append(shape.ExperimentalParams, member)
				}
			}
			list[name] = shape
		}
	}
}

func readSchema(dir string) (map[methods.Side]map[string]MethodShape, error) {
	all := make(map[methods.Side]map[string]MethodShape)
	for side, name := range schemaFiles {
		list, err := readSide(dir, name, side == methods.ServerRequest)
		if err != nil {
			return nil, err
		}
		all[side] = list
	}
	return all, nil
}

func readSide(dir, name string, hasResponses bool) (map[string]MethodShape, error) {
	var file struct {
		OneOf       []schemaMethod        `json:"oneOf"`
		Definitions map[string]schemaNode `json:"definitions"`
	}
	if err := readJSON(filepath.Join(dir, name), &file); err != nil {
		return nil, err
	}
	list := make(map[string]MethodShape)
	for _, m := range file.OneOf {
		if len(m.Properties.Method.Enum) != 1 {
			return nil, fmt.Errorf("%s: a variant has no single method name; the schema of this codex has an unknown form", name)
		}
		shape := MethodShape{Params: m.Properties.Params.members(file.Definitions)}
		if hasResponses {
			var response schemaNode
			if err := readJSON(filepath.Join(dir, m.responseFile()), &response); err != nil {
				return nil, err
			}
			shape.Answer = response.members(nil)
		}
		list[m.Properties.Method.Enum[0]] = shape
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s names no method; the schema of this codex has an unknown form", name)
	}
	return list, nil
}

func readJSON(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return nil
}
