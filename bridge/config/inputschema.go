package config

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// noFiles keeps a schema from reading anything from disk or network.
type noFiles struct{}

var errNoFiles = errors.New("references to other documents are not followed")

func (noFiles) Load(string) (any, error) { return nil, errNoFiles }

// checkSchema checks the input_schema of a tool.
func checkSchema(table map[string]any) problem {
	if table["type"] != "object" {
		return problem{`its type is not "object"`, `add type = "object"; arguments are always an object`}
	}
	text, err := json.Marshal(table)
	if err != nil {
		return problem{"has no form in JSON", "use strings, numbers, booleans, lists and tables"}
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err == nil {
		c := jsonschema.NewCompiler()
		c.UseLoader(noFiles{})
		if err = c.AddResource("schema:input", doc); err == nil {
			_, err = c.Compile("schema:input")
		}
	}
	var load *jsonschema.LoadURLError
	switch {
	case err == nil:
		return problem{}
	case errors.As(err, &load):
		return problem{"refers to another document", "put what it refers to under $defs"}
	}
	return problem{"not a valid JSON Schema: " + schemaReason(err), "see json-schema.org, draft 2020-12"}
}

// schemaReason is the innermost cause on one line.
func schemaReason(err error) string {
	var v *jsonschema.SchemaValidationError
	if errors.As(err, &v) {
		err = v.Err
	}
	all := strings.Split(strings.TrimSpace(err.Error()), "\n")
	return strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(all[len(all)-1]), "- "))
}
