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

var errOtherDocument = errors.New("the bridge does not load other documents")

// checkSchema checks the input_schema of a tool. The library must not compile meta-schemas in its
// init: with another library, that took 5 ms of each start.
func checkSchema(table map[string]any) *Error {
	if table["type"] != "object" {
		return newError(`its type is not "object"`, `add type = "object"; arguments are always an object`)
	}
	text, err := json.Marshal(table)
	if err != nil {
		return newError("has no form in JSON", "use strings, numbers, booleans, lists and tables")
	}
	var schema jsonschema.Schema
	if err = json.Unmarshal(text, &schema); err == nil {
		_, err = schema.Resolve(&jsonschema.ResolveOptions{
			Loader: func(*url.URL) (*jsonschema.Schema, error) { return nil, errOtherDocument },
		})
	}
	if err == nil {
		err = checkTypes(table)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errOtherDocument):
		return newError("refers to another document", "copy the part to $defs")
	}
	return newError("not a valid JSON Schema: "+schemaReason(err), "see json-schema.org, draft 2020-12")
}

var typeNames = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

// checkTypes refuses unknown names of types, which the library accepts.
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

// schemaReason returns the cause of an error without names of the library.
func schemaReason(err error) string {
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		return fmt.Sprintf("%s is a %s", strings.ReplaceAll(kind.Field, "schemaWithoutMethods.", ""), kind.Value)
	}
	text := strings.TrimPrefix(err.Error(), "jsonschema.Schema: ")
	return strings.TrimPrefix(text, "<anonymous schema>: ")
}
