package config

import (
	"errors"
	"io/fs"
	"strings"
)

// tableKey names a newer table of Codex's methods, which package methods parses.
const tableKey = "codex.table"

// NewerTable is the newer table that counts; the zero value is none.
type NewerTable struct {
	Name string // of the file, or in messages
	Text string
}

// tableFile is a newer table: the file that a file's codex.table names, or the one in a bundle.
type tableFile struct {
	name string // in messages
	text string
	err  *Error // it can't be read
}

// addTables reads the newer tables that files name. Workspace files can't name any.
func addTables(list []source, home string) {
	for i, s := range list {
		if s.layer == Workspace || s.err != nil || !strings.ContainsAny(s.text, `\`) && !strings.Contains(s.text, "table") { // an escape may be in the key
			continue
		}
		l, _ := decode(s, home, true)
		if l == nil {
			continue
		}
		for _, f := range l.leaves {
			if f.pattern == tableKey && f.value.String() != "" {
				name := f.value.String()
				text, err := readFile(name, true)
				list[i].table = &tableFile{name, text, tableError(name, err)}
			}
		}
	}
}

// tableError returns the error of reading a table, or nil.
func tableError(name string, err error) *Error {
	e := readError(name, err)
	if e != nil && errors.Is(err, fs.ErrNotExist) {
		e = newError("no such file", "")
	}
	if e != nil {
		e.File = name
	}
	return e
}

// digestOfTables returns a digest of the newer tables that files name.
func digestOfTables(sources []source) (digest string) {
	for _, s := range sources {
		if s.table != nil {
			digest += digestOfFile(s.table.name)
		}
	}
	return digest
}

// TableFile returns the file of the newer table that counts; "" for none, and for one of a bundle.
func (c *Config) TableFile() string {
	if c.Policy.Newer.Name == "" || c.origins[tableKey].Layer.IsBundle() {
		return ""
	}
	return c.Policy.Newer.Name
}

// ignoresTable reports whether a layer's newer table does not count: it makes more pass, so under a policy of the
// machine only the machine's files can name one.
func (m *merger) ignoresTable(l *layer) bool { return !l.layer.isMachines() && m.governed }

// setTable makes the newer table of a layer count, unless an earlier one does.
func (m *merger) setTable(l *layer) {
	if l.table == nil {
		return
	}
	if l.layer.IsBundle() && !m.isSet(tableKey) && !m.ignoresTable(l) {
		m.cfg.Codex.Table = l.table.name
		m.cfg.origins[tableKey] = Origin{Layer: l.layer, File: l.table.name, Line: 1, Column: 1}
	}
	if m.cfg.Codex.Table == l.table.name && m.cfg.Policy.Newer.Name == "" {
		m.cfg.Policy.Newer = NewerTable{l.table.name, l.table.text}
	}
}
