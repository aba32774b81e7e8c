package tools_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/relay/tools"
)

// The catalogue omits, with a reason, each tool that Codex would reject or never offer.
// Codex's rules are measured with 0.169.0.
func TestCatalogueOmitsUnusableTools(t *testing.T) {
	deep := func(n int) string {
		return `{"type":"object","properties":` + strings.Repeat(`{"a":{"type":"object","properties":`, n) + `{}` + strings.Repeat(`}}`, n) + `}`
	}
	description := func(d string) func(*tools.Spec) { return func(s *tools.Spec) { s.Description = d } }
	for _, test := range []struct {
		name string
		spec tools.Spec
		want string // part of the reason; "": offered
	}{
		{"plain", spec("a"), ""},
		{"longest", spec(strings.Repeat("a", 128), inNamespace(strings.Repeat("n", 64))), ""},
		{"one character", spec("_"), ""},
		{"too long", spec(strings.Repeat("a", 129)), "more than 128"},
		{"no name", spec(""), "no name"},
		{"a dot", spec("a.b"), "may have only"},
		{"another script", spec("é"), "may have only"},
		{"a line's end", spec("a\n"), "may have only"},
		{"mcp", spec("mcp"), "reserved for MCP"},
		{"mcp__x", spec("mcp__x"), "reserved for MCP"},
		{"mcp_x", spec("mcp_x"), ""},
		{"long namespace", spec("a", inNamespace(strings.Repeat("n", 65))), "more than 64"},
		{"namespace with a space", spec("a", inNamespace("a b")), "may have only"},
		{"reserved namespace", spec("a", inNamespace("python")), "reserved"},
		{"namespace mcp", spec("a", inNamespace("mcp__x")), "reserved"},
		{"namespace of Codex", spec("a", inNamespace("multi_agent_v1")), "Codex's own"},
		{"namespace of Codex in code mode", spec("a", inNamespace("multi-agent-v1")), "Codex's own"},
		{"namespace in capitals", spec("a", inNamespace("Python")), ""},
		{"shell", spec("exec_command"), "one of Codex's own tools"},
		{"patch", spec("apply_patch"), "one of Codex's own tools"},
		{"a tool of newer models", spec("request_user_input_async"), "one of Codex's own tools"},
		{"a tool that is off by default", spec("update_plan"), "one of Codex's own tools"},
		{"the same in code mode", spec("exec-command"), "one of Codex's own tools"},
		{"a tool of a namespace of Codex", spec("spawn_agent"), "one of Codex's own tools"},
		{"the same, in code mode", spec("clock__curr_time"), "one of Codex's own tools"},
		{"in a namespace of ours", spec("exec_command", inNamespace("n")), ""},
		{"searchable", spec("a", inNamespace("n"), searchable), ""},
		{"searchable without a namespace", spec("a", searchable), "no namespace"},
		{"no description", spec("a", description("")), "no description"},
		{"a blank description", spec("a", description(" \n")), "no description"},
		{"a long description", spec("a", description(strings.Repeat("x", 32<<10+1))), "its description has more than"},
		{"a broken description", spec("a", description("x\xff")), "UTF-8"},

		{"no schema", spec("a", schema(``)), "not JSON"},
		{"two schemas", spec("a", schema(`{"type":"object"} {}`)), "not JSON"},
		{"a schema that is true", spec("a", schema(`true`)), `type "object"`},
		{"null", spec("a", schema(`null`)), `type "object"`},
		{"a text", spec("a", schema(`{"type":"string"}`)), `type "object"`},
		{"an object or nothing", spec("a", schema(`{"type":["object","null"]}`)), `type "object"`},
		{"no type", spec("a", schema(`{}`)), `type "object"`},
		{"object alone", spec("a", schema(`{"type":"object"}`)), ""},
		{"null for nothing", spec("a", schema(`{"type":"object","properties":null,"required":null}`)), ""},
		{"a property of any kind", spec("a", schema(`{"type":"object","properties":{"a":true,"b":{}}}`)), ""},
		{"a property that is a number", spec("a", schema(`{"type":"object","properties":{"a":5}}`)), "/properties/a"},
		{"a property that is null", spec("a", schema(`{"type":"object","properties":{"a":null}}`)), "/properties/a"},
		{"properties that are a list", spec("a", schema(`{"type":"object","properties":[]}`)), "table of schemas at /properties"},
		{"required that is a text", spec("a", schema(`{"type":"object","required":"a"}`)), "list of names at /required"},
		{"required that has a number", spec("a", schema(`{"type":"object","required":[1]}`)), "list of names at /required"},
		{"an unknown type", spec("a", schema(`{"type":"object","properties":{"a":{"type":"text"}}}`)), "type of JSON at /properties/a/type"},
		{"a type that is a number", spec("a", schema(`{"type":"object","properties":{"a":{"type":5}}}`)), "/properties/a/type"},
		{"an enum that is a text", spec("a", schema(`{"type":"object","properties":{"a":{"enum":"x"}}}`)), "list of values"},
		{"a description that is a number", spec("a", schema(`{"type":"object","description":5}`)), "text at /description"},
		{"items of an older draft", spec("a", schema(`{"type":"object","properties":{"a":{"type":"array","items":[{"type":"string"}]}}}`)), "/properties/a/items"},
		{"items that are any", spec("a", schema(`{"type":"object","properties":{"a":{"type":"array","items":true}}}`)), ""},
		{"a reference", spec("a", schema(`{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"type":"string"}}}`)), ""},
		{"a reference to nothing", spec("a", schema(`{"type":"object","properties":{"a":{"$ref":"#/$defs/B"}}}`)), "not valid"},
		{"a reference to elsewhere", spec("a", schema(`{"type":"object","properties":{"a":{"$ref":"https://example.com/x"}}}`)), "refers to another document"},
		{"a file", spec("a", schema(`{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}`)), "refers to another document"},
		{"a tree", spec("a", schema(`{"type":"object","properties":{"left":{"$ref":"#"},"if":{"anyOf":[{"$ref":"#"},{"type":"null"}]}}}`)), ""},
		{"a circle", spec("a", schema(`{"type":"object","allOf":[{"$ref":"#"}]}`)), "refers to itself endlessly"},
		{"a circle of an empty reference", spec("a", schema(`{"type":"object","not":{"$ref":""}}`)), "refers to itself endlessly"},
		{"a circle further in", spec("a", schema(`{"type":"object","properties":{"a":{"$ref":"#/$defs/A~1%20"}},"$defs":{"A/ ":{"if":{"$ref":"#/$defs/B/oneOf/0"}},"B":{"oneOf":[{"$ref":"#/$defs/A~1%20"}]}}}`)), "refers to itself endlessly"},
		{"a circle by a name", spec("a", schema(`{"type":"object","$defs":{"A":{"$anchor":"n","dependentSchemas":{"x":{"$ref":"#n"}}}}}`)), "refers to itself endlessly"},
		{"a reference that is told by the value", spec("a", schema(`{"type":"object","$dynamicAnchor":"n","allOf":[{"$dynamicRef":"#n"}]}`)), ""},
		{"a tower", spec("a", schema(nestedAlternatives(8))), ""},
		{"a chain that is too long", spec("a", schema(refChain(100))), "nested more than 100 deep"},
		{"a chain", spec("a", schema(refChain(90))), ""},
		{"a tower that is too high", spec("a", schema(nestedAlternatives(40))), "more than 10000"},
		{"an older draft", spec("a", schema(`{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"a":{"type":"number","minimum":0,"exclusiveMinimum":true}}}`)), ""},
		{"a pattern of another language", spec("a", schema(`{"type":"object","properties":{"a":{"type":"string","pattern":"^(?!x)"}}}`)), ""},
		{"a property called pattern", spec("a", schema(`{"type":"object","properties":{"pattern":{"type":"string"},"enum":{"type":"string"},"id":{"type":"string"}}}`)), ""},
		{"a number out of range", spec("a", schema(`{"type":"object","properties":{"a":{"minimum":1e999}}}`)), "not JSON"},
		{"as deep as goes", spec("a", schema(deep(20))), ""},
		{"too deep", spec("a", schema(deep(40))), "deeper"},
		{"too deep in a value", spec("a", schema(`{"type":"object","default":`+strings.Repeat("[", 70)+strings.Repeat("]", 70)+`}`)), "deeper"},
		{"large", spec("a", schema(`{"type":"object","title":"`+strings.Repeat("x", 256<<10)+`"}`)), "its schema has more than"},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := tools.NewCatalogue(&provider{specs: []tools.Spec{test.spec}}).Refresh()
			switch {
			case test.want == "" && (len(o.Tools) != 1 || len(o.Omitted) != 0):
				t.Errorf("left out: %v", o.Omitted)
			case test.want == "":
			case len(o.Tools) != 0 || len(o.Omitted) != 1:
				t.Errorf("offered: %v", o.Tools)
			case !strings.Contains(o.Omitted[0].Reason, test.want) || o.Omitted[0].Origin != test.spec.Origin:
				t.Errorf("%+v", o.Omitted[0])
			}
		})
	}
}

func TestCatalogueOrderAndDuplicates(t *testing.T) {
	a := &provider{specs: []tools.Spec{spec("b"), spec("a"), spec("z", inNamespace("n"))}}
	b := &provider{specs: []tools.Spec{
		spec("a", from("second")), spec("a", inNamespace("n")), spec("B", from("capital")), spec("n__z", from("flat")), spec("x-y"), spec("x_y"), spec("c"),
	}}
	o := tools.NewCatalogue(a, b).Refresh()
	var names []string
	for _, s := range o.Tools {
		names = append(names, s.Namespace+"/"+s.Name)
	}
	if diff := cmp.Diff([]string{"/B", "/a", "/b", "/c", "/x-y", "n/a", "n/z"}, names); diff != "" {
		t.Error(diff)
	}
	want := []tools.OmittedTool{
		{Tool: "a", Origin: "second", Reason: "tools.a has a tool of that name already"},
		{Tool: "n__z", Origin: "flat", Reason: `in code mode it has the same name as "n.z" of tools.z`},
		{Tool: "x_y", Origin: "tools.x_y", Reason: `in code mode it has the same name as "x-y" of tools.x-y`},
	}
	if diff := cmp.Diff(want, o.Omitted); diff != "" {
		t.Error(diff)
	}
}

func TestCatalogueBounds(t *testing.T) {
	many := &provider{}
	for i := range 1025 {
		many.specs = append(many.specs, spec(fmt.Sprintf("t%04d", i)))
	}
	if o := tools.NewCatalogue(many).Refresh(); len(o.Tools) != 1024 || len(o.Omitted) != 1 || o.Omitted[0].Tool != "t1024" {
		t.Errorf("%d offered, %v", len(o.Tools), o.Omitted)
	}
	large := &provider{}
	for i := range 17 {
		large.specs = append(large.specs, spec(fmt.Sprintf("t%02d", i), schema(`{"type":"object","title":"`+strings.Repeat("x", 250<<10)+`"}`)))
	}
	if o := tools.NewCatalogue(large).Refresh(); len(o.Tools) != 16 || len(o.Omitted) != 1 {
		t.Errorf("%d offered, %d left", len(o.Tools), len(o.Omitted))
	}
}

type brokenProvider struct{ provider }

func (brokenProvider) Specs() []tools.Spec { panic("broken") }

// A provider that fails does not hide the others, whose tools may change.
func TestCatalogueSkipsABrokenProvider(t *testing.T) {
	p := &provider{specs: []tools.Spec{spec("a")}}
	c := tools.NewCatalogue(&brokenProvider{}, p)
	first := c.Refresh()
	if len(first.Tools) != 1 || len(first.Omitted) != 1 || !strings.Contains(first.Omitted[0].String(), "broken") {
		t.Errorf("%+v", first)
	}
	if first.Fingerprint() != c.Refresh().Fingerprint() {
		t.Error("it changes by itself")
	}
	p.specs = []tools.Spec{spec("a", schema(`{"type":"object","required":["x"]}`)), spec("b")}
	second := c.Refresh()
	if first.Fingerprint() == second.Fingerprint() || len(first.Tools) != 1 || !second.Has("", "b") || second.Has("n", "b") {
		t.Errorf("%s\n%s", first.Fingerprint(), second.Fingerprint())
	}
	p.specs[1].Description = "another wording"
	if third := c.Refresh(); third.Fingerprint() != second.Fingerprint() || third.Tools[1].Description != "another wording" {
		t.Errorf("%+v", third.Tools)
	}
	c.Set()
	if o := c.Refresh(); len(o.Tools) != 0 || o.Fingerprint() != tools.NoTools || c.Refresh().Has("", "a") {
		t.Errorf("%+v", o)
	}
}

func TestMerge(t *testing.T) {
	host := tools.NewCatalogue(&provider{specs: []tools.Spec{
		spec("h"), spec("s", inNamespace("host"), searchable), spec("r", inNamespace("host")),
		spec("choice", schema(`{"type":"object","oneOf":[{"required":["a"]},{"required":["b"]}],"properties":{"a":{},"b":{}}}`)),
	}}).Refresh()
	const object = `"description":"what it does","inputSchema":{"properties":{},"type":"object"}`
	const choice = `"description":"what it does","inputSchema":{"properties":{"a":{},"b":{}},"type":"object"}`
	nested := `{"type":"function","name":"choice",` + choice + `},{"type":"function","name":"h",` + object + `},` +
		`{"type":"namespace","name":"host","description":"Tools in the host namespace.","tools":[{"type":"function","name":"r",` + object + `},{"type":"function","name":"s",` + object + `,"deferLoading":true}]}]`
	flat := `{"name":"choice",` + choice + `},{"name":"h",` + object + `},` +
		`{"namespace":"host","name":"r",` + object + `},{"namespace":"host","name":"s",` + object + `,"deferLoading":true}]`
	for _, test := range []struct{ name, client, want, fault string }{
		{"nothing", ``, `[` + nested, ""},
		{"null", `null`, `[` + nested, ""},
		{"an empty list", ` [ ] `, `[` + nested, ""},
		{"functions", ` [{"type":"function", "name":"c","x":1}] `, `[{"type":"function", "name":"c","x":1},` + nested, ""},
		{"a namespace", `[{"type":"namespace","name":"n","tools":[{"name":"h"}]}]`, `[{"type":"namespace","name":"n","tools":[{"name":"h"}]},` + nested, ""},
		{"an empty namespace, which Codex refuses", `[{"type":"namespace","name":"n","tools":[]}]`, `[{"type":"namespace","name":"n","tools":[]},` + nested, ""},
		{"the older form", `[{"name":"c","deferLoading":true,"namespace":"n"}]`, `[{"name":"c","deferLoading":true,"namespace":"n"},` + flat, ""},
		{"no list", `{}`, "", "not a list of tools"},
		{"a list of something else", `[5]`, "", "not a list of tools"},
		{"our tool", `[{"type":"function","name":"h"}]`, "", `the client's tool "h" in dynamicTools has the name of the tool "h" of tools.h`},
		{"our tool in the older form", `[{"name":"h"}]`, "", `has the name of the tool "h" of tools.h`},
		{"our tool by the name that code mode has for it", `[{"type":"function","name":"host__s"}]`, "", `"host__s" in dynamicTools has the name of the tool "host.s" of tools.s`},
		{"our namespace", `[{"type":"namespace","name":"host","tools":[{"name":"q"}]}]`, "", `"host.q" in dynamicTools has the namespace of the tool "host.r" of tools.r`},
		{"our namespace in the older form", `[{"name":"q","namespace":"host"}]`, "", "has the namespace"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := host.Merge(json.RawMessage(test.client))
			if test.fault != "" {
				if err == nil || !strings.Contains(err.Error(), test.fault) {
					t.Errorf("%s, %v", got, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Error(diff)
			}
			if !json.Valid(got) {
				t.Error("not JSON")
			}
		})
	}
	none := tools.NewCatalogue().Refresh()
	for _, client := range []string{``, `null`, `{}`, ` [{"name":"x"}]`} {
		if got, err := none.Merge(json.RawMessage(client)); err != nil || string(got) != client {
			t.Errorf("%q became %q, %v", client, got, err)
		}
	}
}

// refChain returns a schema with n nested references.
func refChain(n int) string {
	var defs []string
	for i := range n {
		defs = append(defs, fmt.Sprintf(`"%d":{"$ref":"#/$defs/%d"}`, i, i+1))
	}
	return fmt.Sprintf(`{"type":"object","$ref":"#/$defs/0","$defs":{%s,"%d":{}}}`, strings.Join(defs, ","), n)
}

// nestedAlternatives returns a schema of n lines that checks a value against 2^n schemas.
func nestedAlternatives(n int) string {
	var defs []string
	for i := range n {
		defs = append(defs, fmt.Sprintf(`"%d":{"allOf":[{"$ref":"#/$defs/%d"},{"$ref":"#/$defs/%d"}]}`, i, i+1, i+1))
	}
	return fmt.Sprintf(`{"type":"object","$ref":"#/$defs/0","$defs":{%s,"%d":{}}}`, strings.Join(defs, ","), n)
}
