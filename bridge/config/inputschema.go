package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

var errNoFiles = errors.New("references to other documents are not followed")

// checkSchema checks the input_schema of a tool. The library is the one that costs
// nothing at the start: another compiled the meta-schemas of all drafts in its
// package's init, which took 5 ms of every start (measured).
func checkSchema(table map[string]any) problem {
	if table["type"] != "object" {
		return problem{`its type is not "object"`, `add type = "object"; arguments are always an object`}
	}
	text, err := json.Marshal(table)
	if err != nil {
		return problem{"has no form in JSON", "use strings, numbers, booleans, lists and tables"}
	}
	var schema jsonschema.Schema
	if err = json.Unmarshal(text, &schema); err == nil {
		_, err = schema.Resolve(&jsonschema.ResolveOptions{
			Loader: func(*url.URL) (*jsonschema.Schema, error) { return nil, errNoFiles }, // neither disk nor network
		})
	}
	if err == nil {
		err = checkTypes(table)
	}
	switch {
	case err == nil:
		return problem{}
	case errors.Is(err, errNoFiles):
		return problem{"refers to another document", "put what it refers to under $defs"}
	}
	return problem{"not a valid JSON Schema: " + schemaReason(err), "see json-schema.org, draft 2020-12"}
}

var typeNames = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

// checkTypes looks for names of types that there are not, which the library passes.
func checkTypes(v any) error {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if err := checkTypes(e); err != nil {
				return err
			}
		}
	case map[string]any:
		if name, ok := v["type"].(string); ok && !slices.Contains(typeNames, name) {
			return fmt.Errorf("type %q is none of %s", name, strings.Join(typeNames, ", "))
		}
		for key, member := range v {
			switch key {
			case "default", "enum", "const", "examples":
				continue // values, not schemas
			}
			if err := checkTypes(member); err != nil {
				return err
			}
		}
	}
	return nil
}

// schemaReason is the cause, without the library's own names.
func schemaReason(err error) string {
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		return fmt.Sprintf("%s is a %s", strings.ReplaceAll(kind.Field, "schemaWithoutMethods.", ""), kind.Value)
	}
	text := strings.TrimPrefix(err.Error(), "jsonschema.Schema: ")
	return strings.TrimPrefix(text, "<anonymous schema>: ")
}
