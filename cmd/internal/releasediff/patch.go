package releasediff

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"codex-bridge.example/bridge/codex/release"
	"codex-bridge.example/bridge/methods"
)

// Patch returns the changes as a patch to the bridge's source: to the names of the tested release,
// the rows of methods, features, commands, hook events and flags. A proposed row says "TODO: judge", and tests fail
// until a person has judged it. The policy refuses a new flag until there is a rule for it. The other proposals are in the lines before the patch, which `git apply` ignores.
func Patch(tested, other *release.Release, changes []Change) ([]byte, error) {
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
	files[commandsFile] = [2]string{methods.CommandTable, p.patchCommands(changes)}
	files[hooksFile] = [2]string{methods.HookTable, p.patchHooks(changes)}
	files[flagsFile] = [2]string{methods.FlagTable, p.patchFlags(changes)}
	table, err := p.patchMethods(changes)
	if err != nil {
		return nil, err
	}
	files[tableFile] = [2]string{methods.MethodTable, table}
	files[fieldsFile] = [2]string{methods.FieldTable, p.patchFields(changes)}
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

// patchFeatures returns the table of features with the changes. Its rows are sorted by name. One that is gone stays, for
// the supported releases that have it.
func (p *proposer) patchFeatures(changes []Change) string {
	lines := strings.SplitAfter(methods.FeatureTable, "\n")
	for _, c := range changes {
		if c.Kind != Feature {
			continue
		}
		at := slices.IndexFunc(lines, func(line string) bool { return !strings.HasPrefix(line, "#") && (line == "" || line >= c.Name+" ") })
		switch row := p.features[c.Name]; {
		case c.Is == "":
			row.Until = p.tested.Version
			lines[at] = row.String() + "\n"
		case c.Was == "":
			row := p.proposedFeature(c.Name, c.Is)
			row.Since = p.other.Version
			lines = slices.Insert(lines, at, row.String()+"\n")
		default:
			now := p.proposedFeature(c.Name, c.Is)
			row.Stage, row.Default = now.Stage, now.Default
			lines[at] = row.String() + "\n"
		}
	}
	return strings.Join(lines, "")
}

// patchCommands returns the table of commands with the changes. Rows of commands that are gone stay, for the supported
// releases that have them.
func (p *proposer) patchCommands(changes []Change) string {
	lines := strings.SplitAfter(methods.CommandTable, "\n")
	for _, c := range changes {
		if c.Kind != Command {
			continue
		}
		at := slices.IndexFunc(lines, func(line string) bool {
			return !strings.HasPrefix(line, "#") && (line == "" || commandOf(line) >= c.Name)
		})
		isNew, hasRow := c.Change == isNew+" "+string(Command), commandOf(lines[at]) == c.Name
		switch {
		case isNew && !hasRow:
			lines = slices.Insert(lines, at, fmt.Sprintf("%s | door | | %s | | TODO: judge\n", c.Name, p.other.Version))
		case !isNew && hasRow:
			lines[at] = setCell(lines[at], 4, p.tested.Version)
		}
	}
	return strings.Join(lines, "")
}

// commandOf returns the name of the command in a row, without its aliases.
func commandOf(line string) string {
	name, _, _ := strings.Cut(line, " |")
	name, _, _ = strings.Cut(name, ",")
	return name
}

// setCell returns a row with another value in a cell before the last.
func setCell(line string, cell int, value string) string {
	cells := strings.Split(line, "|")
	cells[cell] = " " + value + " "
	return strings.Join(cells, "|")
}

// patchHooks returns the table of hook events with the changes. The bridge does not relay a new event until a person has
// judged it. One that is gone stays, for the supported releases that have it.
func (p *proposer) patchHooks(changes []Change) string {
	lines := strings.SplitAfter(methods.HookTable, "\n")
	for _, c := range changes {
		if c.Kind != HookEvent {
			continue
		}
		if c.Change == isNew+" "+string(HookEvent) {
			row := methods.HookEvent{
				Event: strings.Join(wordsOf(c.Name), "_"), Name: strings.ToUpper(c.Name[:1]) + c.Name[1:],
				Relayed: methods.NotRelayed, Since: p.other.Version, Why: "TODO: judge",
			}
			lines = slices.Insert(lines, len(lines)-1, row.String()+"\n")
			continue
		}
		rows := methods.HookEvents()
		if i := slices.IndexFunc(rows, func(e methods.HookEvent) bool { return e.SchemaName() == c.Name }); i >= 0 {
			row := rows[i]
			at := slices.Index(lines, row.String()+"\n")
			row.Until = p.tested.Version
			lines[at] = row.String() + "\n"
		}
	}
	return strings.Join(lines, "")
}

// patchFlags returns the table of flags with the changes to long flags: a short one is an alias, and Codex does not say
// of which. A new flag of a command has a row without a rule, so the policy refuses it, also if another command has the
// flag: it may mean something else there. One that is gone stays, for the supported releases that have it.
func (p *proposer) patchFlags(changes []Change) string {
	lines := strings.SplitAfter(methods.FlagTable, "\n")
	for _, c := range changes {
		if c.Kind != Flag || !strings.HasPrefix(c.Name, "--") {
			continue
		}
		isNew, name, values := c.Change == isNew+" "+string(Flag), strings.TrimSuffix(c.Name, "="), "none"
		if name != c.Name {
			values = "one"
		}
		command := commandOfFlag(c.Command)
		proposed := func(commands string) string {
			return fmt.Sprintf("%s | %s | %s | | | %s | | |\n", name, commands, values, p.other.Version)
		}
		at, last, known := -1, -1, false // the row to change, the last row of the command, and whether it has one
		for i, line := range lines {
			flag, commands := flagOf(line)
			has := slices.Contains(commands, command)
			if has {
				last = i
			}
			if flag == name && (has && !isNew || isNew && line == proposed(strings.Join(commands, ", "))) {
				at = i
			}
			known = known || flag == name && has
		}
		switch {
		case last < 0, at < 0 && !isNew: // the bridge does not check it
		case !isNew:
			if _, commands := flagOf(lines[at]); !p.hasFlag(commands, name) {
				lines[at] = setCell(lines[at], 6, p.tested.Version)
			}
		case known: // an older release has it, too
		case at >= 0: // proposed for another command
			_, commands := flagOf(lines[at])
			lines[at] = proposed(strings.Join(append(commands, command), ", "))
		default:
			lines = slices.Insert(lines, last+1, proposed(command))
		}
	}
	return strings.Join(lines, "")
}

// flagOf returns the flag of a row, without its aliases, and the commands.
func flagOf(line string) (flag string, commands []string) {
	cells := strings.Split(line, " | ")
	if strings.HasPrefix(line, "#") || len(cells) < 3 {
		return "", nil
	}
	flag, _, _ = strings.Cut(cells[0], ", ")
	return flag, strings.Split(cells[1], ", ")
}

// hasFlag reports whether one of these commands of the other release has a flag.
func (p *proposer) hasFlag(commands []string, name string) bool {
	for command, flags := range p.other.Flags {
		if !slices.Contains(commands, commandOfFlag(command)) && !slices.Contains(commands, "*") {
			continue
		}
		if slices.Contains(flags, name) || slices.Contains(flags, name+"=") {
			return true
		}
	}
	return false
}

// patchMethods returns the table of methods with a row after the most similar one for each new method. A request is
// refused until a person has judged it. Rows of methods that are gone stay, for the supported releases that have them.
func (p *proposer) patchMethods(changes []Change) (string, error) {
	_, rest, _ := strings.Cut(methods.MethodTable, "\n")
	lines := append([]string{"codex " + p.other.Version + "\n"}, strings.SplitAfter(rest, "\n")...)
	// In reverse, since each is inserted right after its relative: then they are in order.
	for _, c := range slices.Backward(changes) {
		if c.Kind != Method {
			continue
		}
		var like methods.Row
		var ok bool
		switch c.Change {
		case gone + " " + string(Method):
			like, ok = methods.Lookup(*c.Side, c.Method)
		case isNew + " " + string(Method):
			if like, ok = nearestRow(*c.Side, c.Method); !ok {
				like, ok = firstRow(*c.Side), true
			}
		}
		if !ok {
			continue
		}
		at := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, like.Side.String()+" | "+like.Method+" |") })
		if at < 0 {
			return "", fmt.Errorf("%s has no row of %s", tableFile, like.Method)
		}
		if c.Change == isNew+" "+string(Method) {
			lines = slices.Insert(lines, at+1, p.proposedRow(*c.Side, c.Method).String()+"\n")
			continue
		}
		like.Until = p.tested.Version
		lines[at] = like.String() + "\n"
	}
	return strings.Join(lines, ""), nil
}

// patchFields returns the table of fields with rows for new fields of methods whose fields the policy judges.
func (p *proposer) patchFields(changes []Change) string {
	lines := strings.SplitAfter(methods.FieldTable, "\n")
	for _, c := range changes {
		if c.Change != isNew+" "+string(Field) || c.Side == nil || *c.Side != methods.ClientRequest {
			continue
		}
		row, _ := methods.Lookup(*c.Side, c.Method)
		if row.Verdict != methods.Rewrite && row.Verdict != methods.Gate {
			continue
		}
		at := slices.IndexFunc(lines, func(line string) bool {
			method, rest, _ := strings.Cut(line, " | ")
			name, _, _ := strings.Cut(rest, " | ")
			return method == c.Method && name > c.Field
		})
		if at < 0 { // after the last field of the method
			for i, line := range lines {
				if strings.HasPrefix(line, c.Method+" | ") {
					at = i + 1
				}
			}
		}
		if at < 0 {
			at = len(lines) - 1
		}
		lines = slices.Insert(lines, at, fmt.Sprintf("%s | %s | %s | %s |\n", c.Method, c.Field, methods.Unjudged, p.other.Version))
	}
	return strings.Join(lines, "")
}

// proposedRow returns a row for a new method. A request is refused, and its reason names the verdict of the most
// similar one.
func (p *proposer) proposedRow(side methods.Side, method string) methods.Row {
	row := methods.Row{Side: side, Method: method, Class: methods.Execute, Verdict: methods.Deny, Since: p.other.Version, Why: "TODO: judge"}
	like, ok := nearestRow(side, method)
	if ok {
		row.Class, row.Why = like.Class, fmt.Sprintf("%s%s: %s", proposedWhy, like.Method, like.Verdict)
	}
	if side == methods.ServerNotification {
		row.Verdict = methods.Pass
		if !ok {
			row.Class = methods.Turn
		}
	}
	return row
}

// firstRow returns the first row of a side with the class Execute, or the first row if none has it.
func firstRow(side methods.Side) methods.Row {
	rows := slices.DeleteFunc(slices.Collect(methods.Rows()), func(r methods.Row) bool { return r.Side != side })
	return rows[max(0, slices.IndexFunc(rows, func(r methods.Row) bool { return r.Class == methods.Execute }))]
}
