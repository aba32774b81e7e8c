package methods

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"codex-bridge.example/bridge/setting"
)

// Newer is the table of a later release of Codex than the program's own. It adds methods and fields for names that the
// program's own tables lack, and only those that need no rule of the program. Its methods may be called on nil, which
// adds nothing, and concurrently.
type Newer struct {
	Name    string // of its file, for messages
	Release string // the release of Codex that it covers
	// LeftOut are the rows for names that the program's own tables lack, and that do not count.
	LeftOut []LeftOut

	text    string
	methods map[Side]map[string]Row
	fields  map[string][]string // by method, also of those that the program's own tables have

	// While it is parsed: what fieldsOf returns for methods, and the names that have had a row.
	known map[string]map[string]bool
	seen  map[string]bool
}

// LeftOut is a row of a newer table that does not count.
type LeftOut struct {
	Row    string
	Method string // "" for the row of a field
	Why    string
}

// newerHead is the first line of a newer table.
const newerHead = "codex-bridge table 1"

// Export returns the program's own tables of methods and fields as the file of a newer table, for older programs. It
// also has the fields of the methods that pass, which the program's own tables leave to Codex's schema.
func Export() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n-- %s --\n%s-- %s --\n%s", newerHead, methodsFile, MethodTable, fieldsFile, FieldTable)
	shapes := Shapes()
	for row := range Rows() {
		if row.Verdict != Pass || !row.Side.IsFromClient() {
			continue
		}
		shape := shapes.Requests[row.Method]
		if row.Side == ClientNotification {
			shape = shapes.Notifications[row.Method]
		}
		names := make(map[string]bool)
		shape.addMembers(shapes.Definitions, names)
		for _, field := range row.Params {
			delete(names, field.Name)
		}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			b.WriteString(joinCells(row.Method, name, AnyValue, "", "") + "\n")
		}
	}
	return b.String()
}

// lastNewer is the last table that ParseNewer has parsed: each policy of a process has the same.
var lastNewer atomic.Pointer[Newer]

// ParseNewer parses the file of a newer table. An error means that it has another form; a row with words that the
// program does not know is left out.
func ParseNewer(name, text string) (*Newer, error) {
	if last := lastNewer.Load(); last != nil && last.Name == name && last.text == text {
		return last, nil
	}
	sections, err := newerSections(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	n := &Newer{Name: name, Release: releaseOf(sections[methodsFile]), text: text, methods: make(map[Side]map[string]Row), fields: make(map[string][]string), known: make(map[string]map[string]bool), seen: make(map[string]bool)}
	if !releaseForm.MatchString(n.Release) {
		return nil, fmt.Errorf("%s: %s has no first line %q with a version", name, methodsFile, releasePrefix+Measured)
	}
	err = errors.Join(
		EachRow(methodsFile, sections[methodsFile], 8, n.addMethod),
		EachRow(fieldsFile, sections[fieldsFile], 5, n.addField),
	)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	n.known, n.seen = nil, nil
	if !n.IsNewer() {
		n.LeftOut, n.methods, n.fields = nil, nil, nil
	}
	lastNewer.Store(n)
	return n, nil
}

// newerSections returns the tables of a file by their names.
func newerSections(text string) (map[string]string, error) {
	head, rest, _ := strings.Cut(text, "\n")
	if strings.TrimSpace(head) != newerHead {
		return nil, fmt.Errorf("line 1 is not %q; \"codex-bridge methods --table\" of a newer codex-bridge prints such a file", newerHead)
	}
	sections := make(map[string]string)
	file, begin, at := "", 0, 0
	for line := range strings.Lines(rest) {
		name, ok := strings.CutPrefix(strings.TrimSpace(line), "-- ")
		if name, isName := strings.CutSuffix(name, " --"); ok && isName {
			if _, twice := sections[name]; twice {
				return nil, fmt.Errorf("there are two tables %s", name)
			}
			file, begin, sections[name] = name, at+len(line), ""
		} else if file == "" {
			return nil, fmt.Errorf("line 2 does not begin a table: %q", "-- "+methodsFile+" --")
		}
		at += len(line)
		if file != "" {
			sections[file] = rest[begin:max(at, begin)]
		}
	}
	return sections, nil
}

var (
	releaseForm = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+$`)
	methodForm  = regexp.MustCompile(`^[a-z][A-Za-z0-9_/.$-]{0,127}$`)
	fieldForm   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)
)

// harmless are the classes whose requests a newer table can let pass. Others need rules of the program.
var harmless = []string{string(Read), string(State)}

// addMethod adds a row of methods.txt. Codex's notifications need none.
func (n *Newer) addMethod(cells []string) error {
	method, verdict := cells[1], Verdict(cells[3])
	if isKnownMethod(method) || cells[0] == ServerNotification.String() {
		return nil
	}
	var side Side
	why := ""
	switch err := side.UnmarshalText([]byte(cells[0])); {
	case err != nil:
		why = "this codex-bridge does not know the side " + cells[0]
	case !methodForm.MatchString(method), strings.HasPrefix(method, "bridge/"):
		why = "it is no name of a method, or one with another meaning"
	case n.seen[FoldName(method)]:
		why = "the table has it twice"
		for _, side := range n.methods {
			delete(side, method)
		}
	case verdict == Deny:
	case verdict != Pass || cells[4] != "":
		why = "the verdict " + strings.TrimSpace(string(verdict)+" "+cells[4]) + " needs rules of a newer codex-bridge"
	case !slices.Contains(harmless, cells[2]):
		why = "to let pass what has the class " + cells[2] + " needs rules of a newer codex-bridge"
	}
	n.seen[FoldName(method)] = true
	if why != "" {
		n.leaveOut(method, cells, why)
		return nil
	}
	if n.methods[side] == nil {
		n.methods[side] = make(map[string]Row)
	}
	n.methods[side][method] = Row{Side: side, Method: method, Class: Class(cells[2]), Verdict: verdict, Since: cells[5], Until: cells[6], Why: cells[7]}
	return nil
}

// addField adds a row of fields.txt, which follow those of methods.txt.
func (n *Newer) addField(cells []string) error {
	method, field := cells[0], cells[1]
	known, ok := n.known[method]
	if !ok {
		known = fieldsOf(method)
		n.known[method] = known
	}
	if known[FoldName(field)] {
		return nil
	}
	added := n.Adds(method)
	why := ""
	switch {
	case !added && known == nil:
		return nil // the method is left out, or a client does not send it
	case !fieldForm.MatchString(field), field == "bridge":
		why = "it is no name of a field, or one with another meaning"
	case n.seen[method+" "+FoldName(field)]:
		why = "the table has it twice"
		n.fields[method] = slices.DeleteFunc(n.fields[method], func(other string) bool { return FoldName(other) == FoldName(field) })
	case ruledFields()[FoldName(field)]:
		why = "this codex-bridge checks a field of this name in other methods"
	case cells[2] != AnyValue && (!added || cells[2] != KnownThread):
		why = "the rule " + cells[2] + " needs a newer codex-bridge"
	}
	n.seen[method+" "+FoldName(field)] = true
	if why != "" {
		n.leaveOut("", cells, why)
		return nil
	}
	n.fields[method] = append(n.fields[method], field)
	return nil
}

func (n *Newer) leaveOut(method string, cells []string, why string) {
	n.LeftOut = append(n.LeftOut, LeftOut{joinCells(cells[0], cells[1:]...), method, why})
}

// IsNewer reports whether the table covers a later release than the program's own. Otherwise it adds nothing.
func (n *Newer) IsNewer() bool { return n != nil && setting.CompareVersions(n.Release, Measured) > 0 }

// Covered returns the newest release of Codex whose methods are known: Measured, or that of the table.
func (n *Newer) Covered() string {
	if n.IsNewer() {
		return n.Release
	}
	return Measured
}

// Lookup returns the row of a method in the program's own table or in this one, or false if there is none.
func (n *Newer) Lookup(side Side, method string) (Row, bool) {
	row, ok := Lookup(side, method)
	if !ok && n != nil {
		row, ok = n.methods[side][method]
	}
	return row, ok
}

// Rows returns the methods that the table adds, sorted by side and name.
func (n *Newer) Rows() (rows []Row) {
	if n == nil {
		return nil
	}
	for _, side := range Sides() {
		for _, method := range slices.Sorted(maps.Keys(n.methods[side])) {
			rows = append(rows, n.methods[side][method])
		}
	}
	return rows
}

// Adds reports whether the table adds a method that a client sends.
func (n *Newer) Adds(method string) bool {
	if n == nil {
		return false
	}
	_, request := n.methods[ClientRequest][method]
	_, notification := n.methods[ClientNotification][method]
	return request || notification
}

// Fields returns the fields that the table adds to a method.
func (n *Newer) Fields(method string) []string {
	if n == nil {
		return nil
	}
	return n.fields[method]
}

// Counted returns the number of rows that count.
func (n *Newer) Counted() (count int) {
	if n == nil {
		return 0
	}
	for _, side := range n.methods {
		count += len(side)
	}
	for _, fields := range n.fields {
		count += len(fields)
	}
	return count
}

// WhyLeftOut returns why the row of a method does not count; "" for no such row.
func (n *Newer) WhyLeftOut(method string) string {
	if n == nil {
		return ""
	}
	for _, one := range n.LeftOut {
		if one.Method == method {
			return one.Why
		}
	}
	return ""
}
