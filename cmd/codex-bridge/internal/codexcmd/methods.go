package codexcmd

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/cmd/codex-bridge/internal/compat"
	"codex-bridge.example/cmd/codex-bridge/internal/configured"
	"codex-bridge.example/cmd/codex-bridge/internal/output"
)

// MethodsCmd is the command "codex-bridge methods".
type MethodsCmd struct {
	List methodsListCmd `cmd:"" default:"withargs" help:"List every method of Codex: its class, its verdict under your configuration, the reason, and the releases that have it and its fields." example:"codex-bridge methods list --verdict deny"`
	Diff methodsDiffCmd `cmd:"" help:"Compare all names of another Codex with those of the tested one, with a proposed verdict for each new one. The exit status is 1 if there are differences or a part can't be compared." example:"codex-bridge methods diff --codex ./codex-next"`
}

type methodsListCmd struct {
	JSON    bool   `help:"Print JSON." name:"json"`
	Table   bool   `help:"Print the program's own tables as a file, which codex.table of an older codex-bridge can name."`
	Side    string `help:"Only the methods of a side: ${enum}." enum:"client-request,client-notification,server-request,server-notification,all" default:"all"`
	Class   string `help:"Only the methods of a class: ${enum}." enum:"thread,turn,model-work,execute,file-write,file-read,configuration,extension,account,remote,state,read,unknown,all" default:"all"`
	Verdict string `help:"Only the methods with a verdict: ${enum}." enum:"pass,rewrite,gate,deny,ask,all" default:"all"`
}

// unknownClass is the class of a method that only the configuration names.
const unknownClass methods.Class = "unknown"

// methodRow is one method under the current configuration. The JSON names are stable.
type methodRow struct {
	Side    methods.Side    `json:"side"`
	Method  string          `json:"method"`
	Class   methods.Class   `json:"class"`
	Verdict methods.Verdict `json:"verdict"`
	BuiltIn methods.Verdict `json:"builtIn,omitempty"` // if the configuration differs
	Fields  []string        `json:"fields"`
	Params  []methodField   `json:"params,omitempty"` // the members that the policy knows, of a method with Fields
	Why     string          `json:"why"`
	Since   string          `json:"since,omitempty"`  // the first release of Codex with it; empty: all supported ones have it
	Until   string          `json:"until,omitempty"`  // the last one
	Table   string          `json:"table,omitempty"`  // the newer table that has it; empty: the program's own
	Origin  string          `json:"origin,omitempty"` // of the override
}

// methodField is a member of the params of a method, or of the response to a server request.
type methodField struct {
	Name  string `json:"name"`
	Rule  string `json:"rule"`
	Since string `json:"since,omitempty"` // as in methodRow
	Until string `json:"until,omitempty"`
}

func (c methodsListCmd) Run(out io.Writer) error {
	if c.Table {
		_, err := io.WriteString(out, methods.Export())
		return err
	}
	cfg, err := configured.LoadStrict()
	if err != nil {
		return err
	}
	rows := slices.DeleteFunc(methodRows(cfg), func(r methodRow) bool { return !c.wants(r) })
	if c.JSON {
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		return enc.Encode(rows)
	}
	w := output.NewPrinter(out)
	printHeader(w, cfg)
	for group := range slices.Values(groupRows(rows)) {
		w.Line("")
		w.Line("%s: %s", group[0].Side, group[0].Class)
		width := 0
		for _, r := range group {
			width = max(width, len(r.Method))
		}
		for _, r := range group {
			w.Item(fmt.Sprintf("  %-7s  %-*s  ", r.Verdict, width, r.Method), r.note())
		}
	}
	return w.Failure()
}

func (c methodsListCmd) wants(r methodRow) bool {
	is := func(flag, value string) bool {
		return flag == "all" || flag == strings.ReplaceAll(value, " ", "-")
	}
	return is(c.Side, r.Side.String()) && is(c.Class, string(r.Class)) && is(c.Verdict, string(r.Verdict))
}

func printHeader(w *output.Printer, cfg *config.Config) {
	switch cfg.Policy.Mode {
	case config.Off:
		w.Line("policy.mode is off: everything passes")
	case config.Audit:
		w.Line("policy.mode is audit: the verdicts are logged, and everything passes")
	default:
		w.Line("policy.mode is enforce: these verdicts hold")
	}
	w.Line("the names are those of codex %s to %s; what a client sends under another name %s", config.Default().Codex.MinVersion, compat.NewerTable(cfg).Covered(), compat.UnknownMethods(cfg))
	w.Line("the bridge answers its own methods, bridge/…, to a client that offers capabilities.bridge, unless policy.methods denies them")
}

// note returns the reason, the releases of Codex that have the method and its fields, and the override if there is one.
func (r methodRow) note() string {
	r.Why += releases(r.Since, r.Until)
	if r.Table != "" {
		r.Why += ", by the newer table"
	}
	for _, field := range r.Params {
		if text := releases(field.Since, field.Until); text != "" {
			r.Why += "; " + field.Name + strings.TrimPrefix(text, ",")
		}
	}
	switch {
	case r.Origin == "" && r.BuiltIn == "":
		return r.Why
	case r.Origin == "":
		return fmt.Sprintf("%s (the table: %s)", r.Why, r.BuiltIn)
	case !r.Side.IsOverridable():
		return fmt.Sprintf("%s (policy.methods, %s, has no effect: what codex tells can't be overridden)", r.Why, r.Origin)
	case r.BuiltIn == "":
		return fmt.Sprintf("%s (policy.methods, %s)", r.Why, r.Origin)
	}
	return fmt.Sprintf("%s (policy.methods, %s; the table: %s)", r.Why, r.Origin, r.BuiltIn)
}

// releases returns the first and the last release of Codex with a name, as the end of a sentence. It is empty for all.
func releases(since, until string) (text string) {
	if since != "" {
		text = ", since codex " + since
	}
	if until != "" {
		text += ", until codex " + until
	}
	return text
}

// methodRows returns the method table with the overrides of the configuration, sorted by side,
// class and method.
func methodRows(cfg *config.Config) []methodRow {
	overrides, newer := cfg.Policy.Methods, compat.NewerTable(cfg)
	var rows []methodRow
	for _, row := range append(slices.Collect(methods.Rows()), newer.Rows()...) {
		r := methodRow{Side: row.Side, Method: row.Method, Class: row.Class, Verdict: row.Verdict, Fields: row.Fields, Why: row.Why, Since: row.Since, Until: row.Until}
		for _, field := range row.Params {
			r.Params = append(r.Params, methodField(field))
		}
		if _, own := methods.Lookup(row.Side, row.Method); !own {
			r.Table = newer.Name
		}
		if override, ok := overrides[row.Method]; ok {
			r.Verdict, r.Origin = row.Override(override), compat.OverrideOrigin(cfg, row.Method)
		}
		rows = append(rows, r.applyMode(cfg, row.Verdict))
	}
	for name, override := range overrides {
		if len(compat.SidesOf(newer, name)) == 0 {
			r := methodRow{Method: name, Class: unknownClass, Why: cmp.Or(compat.OverrideProblem(newer, name), "a method of the bridge"), Origin: compat.OverrideOrigin(cfg, name)}
			r.Verdict = methods.Row{Verdict: methods.Deny}.Override(override)
			rows = append(rows, r.applyMode(cfg, r.Verdict))
		}
	}
	order := append(methods.Classes(), unknownClass)
	slices.SortFunc(rows, func(a, b methodRow) int {
		return cmp.Or(cmp.Compare(a.Side, b.Side), cmp.Compare(slices.Index(order, a.Class), slices.Index(order, b.Class)),
			cmp.Compare(a.Method, b.Method))
	})
	return rows
}

// applyMode applies policy.mode, and sets BuiltIn if the verdict differs from the table.
func (r methodRow) applyMode(cfg *config.Config, builtIn methods.Verdict) methodRow {
	if cfg.Policy.Mode == config.Off {
		r.Verdict = methods.Pass
	}
	if r.Verdict != builtIn {
		r.BuiltIn = builtIn
	}
	if r.Fields == nil {
		r.Fields = []string{}
	}
	return r
}

// groupRows splits sorted rows by side and class.
func groupRows(rows []methodRow) [][]methodRow {
	var groups [][]methodRow
	for i, r := range rows {
		if i == 0 || r.Side != rows[i-1].Side || r.Class != rows[i-1].Class {
			groups = append(groups, nil)
		}
		last := len(groups) - 1
		groups[last] = append(groups[last], r)
	}
	return groups
}
