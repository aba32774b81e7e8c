package methods

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// harmless are the classes whose requests a newer table can let pass. Others need rules of the program.
var harmless = []Class{Read, State, Account}

var classes = []Class{Read, Thread, Turn, ModelWork, Execute, FileWrite, FileRead, Configuration, Extension, Account, Remote, State}

var methodForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_/.$-]{0,127}$`)

// admission decides which rows of a newer table count.
type admission struct {
	table   *table
	checked map[string]bool     // folded names of fields that a rule of the program checks
	methods map[string]Row      // those that the newer table has added
	fields  map[string][]string // the folded names of all fields of a method, also those that were added
	flags   map[string]bool     // names and aliases
	feature map[string]bool
	keys    [][]string // folded
}

func newAdmission() *admission {
	t, err := parseRows(MethodTable, FieldTable)
	if err != nil {
		panic(err) // a test parses them
	}
	a := &admission{
		table: t, checked: make(map[string]bool), methods: make(map[string]Row), fields: make(map[string][]string),
		flags: make(map[string]bool), feature: make(map[string]bool),
	}
	for _, row := range t.rows {
		for _, field := range row.Params {
			a.addField(row.Method, field.Name)
		}
		for _, name := range row.Fields {
			a.checked[FoldName(name)] = true
		}
	}
	for _, t := range builtinTables[2:] {
		err := EachRow(t.file, *t.text, t.columns, func(cells []string) error {
			a.admit(t.file, cells)
			return nil
		})
		if err != nil {
			panic(err) // a test parses them
		}
	}
	return a
}

func (a *admission) addField(method, field string) {
	a.fields[method] = append(a.fields[method], FoldName(field))
}

// own returns the program's own table.
func (a *admission) own(file string) string {
	for _, t := range builtinTables {
		if t.file == file {
			return *t.text
		}
	}
	return ""
}

// admit records a row that counts, and the names that it has.
func (a *admission) admit(file string, cells []string) {
	switch file {
	case methodsFile:
		a.methods[cells[1]] = Row{Method: cells[1], Verdict: Verdict(cells[3])}
	case fieldsFile:
		a.addField(cells[0], cells[1])
	case flagsFile:
		for name := range strings.SplitSeq(cells[0], ", ") {
			a.flags[name] = true
		}
	case featuresFile:
		a.feature[FoldName(cells[0])] = true
	case keysFile:
		a.keys = append(a.keys, foldedKey(cells[0]))
	}
}

// judge reports whether the program knows the name of a row, and otherwise why the row does not count; "" if it does.
// An error means that the row is not valid.
func (a *admission) judge(file string, cells []string) (known bool, why string, err error) {
	since, until := cells[len(cells)-3], cells[len(cells)-2]
	switch file {
	case fieldsFile:
		since, until = cells[3], cells[4]
	case flagsFile, keysFile:
		since, until = cells[len(cells)-4], cells[len(cells)-3]
	}
	for _, version := range []string{since, until} {
		if version != "" && !isRelease(version) {
			return false, "", fmt.Errorf("%q is not a version", version)
		}
	}
	switch file {
	case methodsFile:
		return a.judgeMethod(cells)
	case fieldsFile:
		known, why = a.judgeField(cells)
	case flagsFile:
		known, why = a.judgeFlag(cells)
	case featuresFile:
		known = a.feature[FoldName(cells[0])]
		if !slices.Contains([]string{"judged", "user", "none"}, cells[3]) {
			why = "its control " + cells[3] + " needs a newer codex-bridge"
		}
	case keysFile:
		known, why = a.judgeKey(cells)
	}
	return known, why, nil
}

func (a *admission) judgeMethod(cells []string) (known bool, why string, err error) {
	var side Side
	if err := side.UnmarshalText([]byte(cells[0])); err != nil {
		return false, "", err
	}
	name, class, verdict := cells[1], Class(cells[2]), Verdict(cells[3])
	if !methodForm.MatchString(name) || !slices.Contains(classes, class) {
		return false, "", errors.New("it needs the name of a method, and a class")
	}
	for _, index := range a.table.indexes {
		if _, ok := index[name]; ok {
			return true, "", nil
		}
	}
	_, twice := a.methods[name]
	switch {
	case twice, strings.HasPrefix(name, "bridge/"):
		return false, "the name has another meaning", nil
	case cells[4] != "", verdict == Rewrite, verdict == Gate:
		return false, "the verdict " + string(verdict) + " needs rules of a newer codex-bridge", nil
	case verdict == Deny && side != ServerNotification:
	case verdict != Pass:
		return false, "", fmt.Errorf("the verdict %q is not valid here", verdict)
	case side != ServerNotification && !slices.Contains(harmless, class):
		return false, "to let pass what has the class " + string(class) + " needs rules of a newer codex-bridge", nil
	}
	return false, "", nil
}

// judgeField judges a field. The schema that the program knows may have a field that the bridge removes.
func (a *admission) judgeField(cells []string) (known bool, why string) {
	method, field := cells[0], cells[1]
	folded := FoldName(field)
	_, added := a.methods[method]
	_, request := a.table.indexes[ClientRequest][method]
	_, notification := a.table.indexes[ClientNotification][method]
	switch {
	case slices.Contains(a.fields[method], folded), schemaHasParam(method, field):
		return true, ""
	case !added && !request && !notification:
		return false, "there is no such method, or a client does not send it"
	case a.checked[folded], folded == "bridge":
		return false, "the bridge checks a field of this name elsewhere"
	case cells[2] != AnyValue:
		return false, "the rule " + cells[2] + " needs a newer codex-bridge"
	}
	return false, ""
}

// judgeFlag judges a flag. One that passes with a wrong number of values would make Codex read a line in another way.
func (a *admission) judgeFlag(cells []string) (known bool, why string) {
	for name := range strings.SplitSeq(cells[0], ", ") {
		if !strings.HasPrefix(name, "-") {
			return false, "it is not the name of a flag"
		}
		known = known || a.flags[name]
	}
	switch {
	case known:
	case slices.Contains(strings.Split(cells[1], ", "), "*"):
		return false, "a flag of each command needs a newer codex-bridge"
	case cells[4] != "", !slices.Contains([]string{"drop", "refuse"}, cells[3]):
		return false, "to let pass a flag needs a newer codex-bridge"
	}
	return known, ""
}

// judgeKey judges a key. A key above or below one that the program knows is known, too: its value has that of the
// other.
func (a *admission) judgeKey(cells []string) (known bool, why string) {
	key := foldedKey(cells[0])
	switch {
	case slices.ContainsFunc(a.keys, func(own []string) bool { return overlaps(own, key) }):
		return true, ""
	case strings.Contains(cells[0], "*"):
		return false, "a pattern needs a newer codex-bridge"
	case cells[3] != "" && cells[3] != AnyValue:
		return false, "the rule " + cells[3] + " for writing needs a newer codex-bridge"
	}
	return false, ""
}

func foldedKey(key string) (path []string) {
	for name := range strings.SplitSeq(key, ".") {
		if !strings.HasPrefix(name, "*") {
			name = FoldName(name)
		}
		path = append(path, name)
	}
	return path
}

// overlaps reports whether one of two keys, which may have wildcards, is the other or above it.
func overlaps(a, b []string) bool {
	for i := range min(len(a), len(b)) {
		switch {
		case a[i] == "**", b[i] == "**":
			return true
		case a[i] != b[i] && a[i] != "*" && b[i] != "*":
			return false
		}
	}
	return true
}
