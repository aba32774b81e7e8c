package releasediff

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"codex-bridge.example/bridge/argv"
	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/methods"
)

// Patch returns the changes as a patch to the bridge's source: to the names of the tested release,
// the rows of methods, features and commands, and the flags. A proposed row says "TODO: judge", and tests fail
// until a person has judged it. The policy refuses a new flag until there is a rule for it. The other
// proposals are in the lines before the patch, which `git apply` ignores.
func Patch(tested, other *codex.Release, changes []Change) ([]byte, error) {
	p, err := newProposer(tested, other)
	if err != nil {
		return nil, err
	}
	files := make(map[string][2]string) // path: old and new text
	filled := *other
	filled.FillFrom(tested)
	next, err := filled.Encode()
	if err != nil {
		return nil, err
	}
	files[schemaFile] = [2]string{string(methods.Schema), string(next)}
	files[featuresFile] = [2]string{methods.FeatureTable, p.patchFeatures(changes)}
	files[commandsFile] = [2]string{argv.CommandTable, patchCommands(changes)}
	files[argvFile] = [2]string{argv.Source, patchFlags(changes)}
	if err := p.patchRows(files, changes); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "Codex %s, compared with %s. `git apply` ignores this list.\n", other.Version, tested.Version)
	for _, c := range changes {
		fmt.Fprintf(&out, "  %s", c)
		if c.Place != "" {
			fmt.Fprintf(&out, " in %s", c.Place)
		}
		out.WriteByte('\n')
	}
	out.WriteByte('\n')
	for _, name := range slices.Sorted(maps.Keys(files)) {
		texts := files[name]
		text := diff.Diff("a/"+name, []byte(texts[0]), "b/"+name, []byte(texts[1]))
		if _, hunks, ok := bytes.Cut(text, []byte("\n")); ok {
			fmt.Fprintf(&out, "diff --git a/%[1]s b/%[1]s\n%s", name, hunks)
		}
	}
	return out.Bytes(), nil
}

// patchFeatures returns the table of features with the changes. Its rows are sorted by name.
func (p *proposer) patchFeatures(changes []Change) string {
	lines := strings.SplitAfter(methods.FeatureTable, "\n")
	for _, c := range changes {
		if c.Kind != Feature {
			continue
		}
		at := slices.IndexFunc(lines, func(line string) bool { return !strings.HasPrefix(line, "#") && (line == "" || line >= c.Name+" ") })
		switch row := p.features[c.Name]; {
		case c.Is == "":
			lines = slices.Delete(lines, at, at+1)
		case c.Was == "":
			lines = slices.Insert(lines, at, p.proposedFeature(c.Name, c.Is).String()+"\n")
		default:
			now := p.proposedFeature(c.Name, c.Is)
			row.Stage, row.Default = now.Stage, now.Default
			lines[at] = row.String() + "\n"
		}
	}
	return strings.Join(lines, "")
}

// patchCommands returns the table of commands with rows for new commands. Rows of commands that are gone stay, for
// the supported releases that have them.
func patchCommands(changes []Change) string {
	lines := strings.SplitAfter(argv.CommandTable, "\n")
	for _, c := range changes {
		if c.Change != isNew+" "+string(Command) {
			continue
		}
		at := slices.IndexFunc(lines, func(line string) bool {
			name, _, _ := strings.Cut(line, " |")
			name, _, _ = strings.Cut(name, ",")
			return !strings.HasPrefix(line, "#") && (line == "" || name >= c.Name)
		})
		if !strings.HasPrefix(lines[at], c.Name+" |") {
			lines = slices.Insert(lines, at, c.Name+" | door | | TODO: judge\n")
		}
	}
	return strings.Join(lines, "")
}

// flagTables has the first line of the table with the flags of each command. Those of the commands of
// exec come from exec.
var flagTables = map[string]string{
	"codex": "\trootFlags = []flagSpec{\n", "codex app-server": "\tappServerFlags = []flagSpec{\n", "codex exec": "\tturnFlags = []flagSpec{\n",
}

// patchFlags returns the tables of flags with the changes to long flags. A short one is an alias,
// and Codex does not say of which.
func patchFlags(changes []Change) string {
	text := argv.Source
	for _, c := range changes {
		first := flagTables[c.Command]
		before, table, ok := strings.Cut(text, first)
		if c.Kind != Flag || first == "" || !ok || !strings.HasPrefix(c.Name, "--") {
			continue
		}
		table, after, _ := strings.Cut(table, "\n\t}\n")
		name, values := strings.TrimSuffix(c.Name, "="), "noValue"
		if name != c.Name {
			values = "oneValue"
		}
		if c.Change == isNew+" "+string(Flag) {
			table += fmt.Sprintf("\n\t\t{%q, nil, %s},", name, values)
		} else {
			table = regexp.MustCompile(`(?m)^\t\t\{"`+regexp.QuoteMeta(name)+`",.*\},\n?`).ReplaceAllString(table, "")
		}
		text = before + flagTables[c.Command] + strings.TrimSuffix(table, "\n") + "\n\t}\n" + after
	}
	return text
}

// Names of the constants in rows.
var (
	sideConstants = map[methods.Side]string{
		methods.ClientRequest: "ClientRequest", methods.ClientNotification: "ClientNotification",
		methods.ServerRequest: "ServerRequest", methods.ServerNotification: "ServerNotification",
	}
	verdictConstants = map[methods.Verdict]string{
		methods.Pass: "Pass", methods.Rewrite: "Rewrite", methods.Gate: "Gate", methods.Deny: "Deny",
	}
	classConstants = map[methods.Class]string{
		methods.Read: "Read", methods.Thread: "Thread", methods.Turn: "Turn", methods.ModelWork: "ModelWork",
		methods.Execute: "Execute", methods.FileWrite: "FileWrite", methods.FileRead: "FileRead",
		methods.Configuration: "Configuration", methods.Extension: "Extension", methods.Account: "Account",
		methods.Remote: "Remote", methods.State: "State",
	}
)

const methodsFolder = "bridge/methods/"

// patchRows adds the source files of the method table, with a row after the most similar one for
// each new method, and without the rows of methods that are gone.
func (p *proposer) patchRows(files map[string][2]string, changes []Change) error {
	sources := make(map[string]string)
	entries, err := fs.ReadDir(methods.Sources, ".")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		text, err := fs.ReadFile(methods.Sources, entry.Name())
		if err != nil {
			return err
		}
		sources[methodsFolder+entry.Name()] = string(text)
	}
	changed := maps.Clone(sources)
	const measured = methodsFolder + "methods.go"
	changed[measured] = strings.Replace(sources[measured], fmt.Sprintf("const Measured = %q", methods.Measured), fmt.Sprintf("const Measured = %q", p.other.Version), 1)
	// In reverse, since each is inserted right after its relative: then they are in order.
	for _, c := range slices.Backward(changes) {
		if c.Change != isNew+" "+string(Method) {
			continue
		}
		row, file := p.proposedRow(*c.Side, c.Method)
		like, ok := nearestRow(*c.Side, c.Method)
		if !ok {
			like = firstRow(*c.Side)
		}
		at := rowAt(changed[file], *c.Side, like.Method)
		if at == nil {
			return fmt.Errorf("%s has no row of %s", file, like.Method)
		}
		text := changed[file]
		changed[file] = text[:at[1]] + goRow(row) + text[at[1]:]
	}
	for _, c := range changes {
		if c.Change != gone+" "+string(Method) {
			continue
		}
		if file := sourceOf(*c.Side, c.Method); file != "" {
			at := rowAt(changed[file], *c.Side, c.Method)
			changed[file] = changed[file][:at[0]] + changed[file][at[1]:]
		}
	}
	for name, text := range changed {
		files[name] = [2]string{sources[name], text}
	}
	return nil
}

// proposedRow returns a row for a new method, and the file for it. Without a similar method the
// method is refused, or passes if it is a notification of Codex.
func (p *proposer) proposedRow(side methods.Side, method string) (methods.Row, string) {
	if like, ok := nearestRow(side, method); ok {
		shape := p.other.Methods[side][method]
		has := shape.Params
		if side == methods.ServerRequest {
			has = shape.Answer
		}
		fields := slices.DeleteFunc(slices.Clone(like.Fields), func(field string) bool { return !slices.Contains(has, field) })
		return methods.Row{Side: side, Method: method, Class: like.Class, Verdict: like.Verdict, Fields: fields, Why: proposedWhy + like.Method},
			sourceOf(side, like.Method)
	}
	row := methods.Row{Side: side, Method: method, Class: methods.Execute, Verdict: methods.Deny, Why: "TODO: judge"}
	if side == methods.ServerNotification {
		row.Class, row.Verdict = methods.Turn, methods.Pass
	}
	return row, sourceOf(side, firstRow(side).Method)
}

// firstRow returns the first row of a side with the class Execute, or the first row if none has it.
func firstRow(side methods.Side) methods.Row {
	rows := slices.DeleteFunc(slices.Collect(methods.Rows()), func(r methods.Row) bool { return r.Side != side })
	return rows[max(0, slices.IndexFunc(rows, func(r methods.Row) bool { return r.Class == methods.Execute }))]
}

// goRow returns the source of a row.
func goRow(r methods.Row) string {
	fields := "nil"
	if len(r.Fields) > 0 {
		fields = fmt.Sprintf("[]string{%s}", quoteAll(r.Fields))
	}
	return fmt.Sprintf("\t{%s, %q, %s, %s, %s, %q},\n", sideConstants[r.Side], r.Method, classConstants[r.Class], verdictConstants[r.Verdict], fields, r.Why)
}

func quoteAll(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = fmt.Sprintf("%q", word)
	}
	return strings.Join(quoted, ", ")
}

// rowAt returns the start and end of a method's row in a source file; nil if it has none.
func rowAt(text string, side methods.Side, method string) []int {
	start := regexp.QuoteMeta(fmt.Sprintf("%s, %q,", sideConstants[side], method))
	return regexp.MustCompile(`(?m)^\t\{(?:` + start + `.*\},|\n\t\t` + start + `(?s:.*?)\n\t\},)\n`).FindStringIndex(text)
}

// sourceOf returns the file with a method's row; "" if there is none.
func sourceOf(side methods.Side, method string) string {
	entries, err := fs.ReadDir(methods.Sources, ".")
	if err != nil {
		return ""
	}
	for _, entry := range entries {
		if text, err := fs.ReadFile(methods.Sources, entry.Name()); err == nil && rowAt(string(text), side, method) != nil {
			return path.Join(methodsFolder, entry.Name())
		}
	}
	return ""
}
