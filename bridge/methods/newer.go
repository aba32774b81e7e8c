package methods

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"codex-bridge.example/bridge/setting"
)

// Newer is the table of a later release of Codex than the program's own. It only adds rows: for names that the program's
// own tables lack, and only rows that need no rule of the program.
type Newer struct {
	Name    string // of its file, for messages
	Release string // the release of Codex that it covers
	Counted int    // rows that count
	// Left are the rows for names that the program's own tables lack, and that do not count.
	Left []LeftOut
	// Other is the number of rows that differ from the program's own of the same name, which count.
	Other int

	text  string
	added map[string]string // the rows that count, by file
}

// IsNewer reports whether the table covers a later release than the program's own. Otherwise none of its rows counts.
func (n *Newer) IsNewer() bool { return setting.CompareVersions(n.Release, Measured) > 0 }

// Equal reports whether two tables, which may be nil, have the same name and text.
func (n *Newer) Equal(o *Newer) bool {
	return n == o || n != nil && o != nil && n.Name == o.Name && n.text == o.text
}

// Text says for people which rows count.
func (n *Newer) Text() string {
	if !n.IsNewer() {
		return n.Name + " adds nothing, because the program's own table covers codex " + Measured
	}
	text := fmt.Sprintf("%d rows of %s count beside those of codex %s", n.Counted, n.Name, Measured)
	if len(n.Left) > 0 {
		first := n.Left[0]
		text += fmt.Sprintf("; %d do not, such as %q of %s: %s", len(n.Left), first.Row, first.File, first.Why)
	}
	if n.Other > 0 {
		text += fmt.Sprintf("; for %d more the program's own rows count", n.Other)
	}
	return text
}

// LeftOut is a row of a newer table that does not count.
type LeftOut struct{ File, Row, Why string }

// newerHead is the first line of a newer table.
const newerHead = "codex-bridge table 1"

// builtinTables are the program's own tables that a newer one adds to, in the order in which a file has them: the rows
// of fields need those of methods.
var builtinTables = []struct {
	file    string
	text    *string
	columns int
}{
	{methodsFile, &MethodTable, 8},
	{fieldsFile, &FieldTable, 5},
	{flagsFile, &FlagTable, 9},
	{featuresFile, &FeatureTable, 7},
	{keysFile, &KeyTable, 8},
}

// Export returns the program's own tables as the file of a newer table, for older programs. It also has the fields of
// the methods that pass, which the program's own tables leave to Codex's schema.
func Export() string {
	var b strings.Builder
	b.WriteString(newerHead + "\n")
	for _, t := range builtinTables {
		fmt.Fprintf(&b, "-- %s --\n%s", t.file, *t.text)
		if t.file == fieldsFile {
			exportFields(&b)
		}
	}
	return b.String()
}

func exportFields(b *strings.Builder) {
	shapes := Shapes()
	for _, row := range newAdmission().table.rows {
		if row.Verdict != Pass || !row.Side.IsFromClient() {
			continue
		}
		shape := shapes.Requests[row.Method]
		if row.Side == ClientNotification {
			shape = shapes.Notifications[row.Method]
		}
		names := make(map[string]bool)
		shape.addMembers(shapes.Definitions, names)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			b.WriteString(joinCells(row.Method, name, AnyValue, "", "") + "\n")
		}
	}
}

// ParseNewer parses the file of a newer table. Its rows count after UseNewer. The errors name the line.
func ParseNewer(name, text string) (*Newer, error) {
	sections, err := newerSections(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	n := &Newer{Name: name, Release: releaseOf(sections[methodsFile]), text: text, added: make(map[string]string)}
	if !isRelease(n.Release) {
		return nil, fmt.Errorf("%s: %s has no first line %q with a version", name, methodsFile, releasePrefix+"0.171.0")
	}
	a := newAdmission()
	for _, t := range builtinTables {
		err := EachRow(t.file, sections[t.file], t.columns, func(cells []string) error {
			row := joinCells(cells[0], cells[1:]...)
			known, why, err := a.judge(t.file, cells)
			switch {
			case err != nil:
				return err
			case !n.IsNewer():
			case known:
				if !strings.Contains("\n"+a.own(t.file), "\n"+row+"\n") {
					n.Other++
				}
			case why != "":
				n.Left = append(n.Left, LeftOut{t.file, row, why})
			default:
				a.admit(t.file, cells)
				n.added[t.file] += row + "\n"
				n.Counted++
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return n, nil
}

// newerSections returns the tables of a file by their names. Tables that a newer one can't add to are skipped.
func newerSections(text string) (map[string]string, error) {
	head, rest, _ := strings.Cut(text, "\n")
	if strings.TrimSpace(head) != newerHead {
		return nil, fmt.Errorf("line 1 is not %q; \"codex-bridge methods --table\" of a newer codex-bridge prints such a file", newerHead)
	}
	sections := make(map[string]string)
	file := ""
	for line := range strings.Lines(rest) {
		name, ok := strings.CutPrefix(strings.TrimSpace(line), "-- ")
		if name, isName := strings.CutSuffix(name, " --"); ok && isName {
			if _, twice := sections[name]; twice {
				return nil, fmt.Errorf("there are two tables %s", name)
			}
			file, sections[name] = name, ""
			continue
		}
		if file == "" {
			return nil, errors.New("line 2 does not begin a table: \"-- methods.txt --\"")
		}
		sections[file] += strings.TrimRight(line, "\r\n") + "\n"
	}
	return sections, nil
}

var releaseForm = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+$`)

func isRelease(s string) bool { return releaseForm.MatchString(s) }

// inForce is the newer table that counts; nil: none.
var inForce atomic.Pointer[Newer]

// UseNewer makes a newer table count from now on, in place of one before; nil: none. A policy that was compiled before
// does not know its fields.
func UseNewer(n *Newer) { inForce.Store(n) }

// NewerInForce returns the newer table that counts; nil: none.
func NewerInForce() *Newer { return inForce.Load() }

// Covered returns the newest release of Codex that the tables cover: Measured, or that of a newer table.
func Covered() string {
	if n := inForce.Load(); n != nil && n.IsNewer() {
		return n.Release
	}
	return Measured
}

// WhyLeftOut returns why the row that the newer table has for a method does not count; "" for no such row.
func WhyLeftOut(method string) string {
	n := inForce.Load()
	if n == nil {
		return ""
	}
	for _, one := range n.Left {
		if cells := strings.Split(one.Row, " | "); one.File == methodsFile && cells[1] == method {
			return one.Why
		}
	}
	return ""
}

// Added returns the rows that the table adds to a file.
func (n *Newer) Added(file string) string {
	if n == nil {
		return ""
	}
	return n.added[file]
}

// Cached returns a function that returns what parse makes of the tables. It calls parse at the first use, and again
// after UseNewer. added returns the rows that the newer table adds to a file, which follow the program's own.
func Cached[T any](parse func(added func(file string) string) T) func() T {
	type entry struct {
		of    *Newer
		value T
	}
	var last atomic.Pointer[entry]
	var mu sync.Mutex
	return func() T {
		n := inForce.Load()
		if e := last.Load(); e != nil && e.of == n {
			return e.value
		}
		mu.Lock()
		defer mu.Unlock()
		if e := last.Load(); e != nil && e.of == n {
			return e.value
		}
		e := &entry{n, parse(n.Added)}
		last.Store(e)
		return e.value
	}
}
