package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// mutators are the kinds of change that are asked of gremlins, beside those that it makes by
// default.
var mutators = []string{"--invert-logical", "--invert-loopctrl", "--invert-assignments", "--invert-bitwise", "--invert-bwassign", "--remove-self-assignments"}

// mutant is one change of one token.
type mutant struct {
	File    string // slash-separated, from the root of the module
	Func    string // "func" or "Type.func"; "" outside of functions
	Old     string // the line, without white space around it
	New     string // the same line with the change
	Line    int
	Column  int
	Type    string // as gremlins calls it
	offset  int    // of the token in the file
	content []byte // of the file, changed
}

// key names a mutant in the list of equivalent ones. It holds no line number, so that it
// survives changes elsewhere in the file.
type key struct{ File, Func, Old, New string }

func (m mutant) key() key { return key{m.File, m.Func, m.Old, m.New} }

func (m mutant) String() string {
	return fmt.Sprintf("%s:%d:%d %s\n    - %s\n    + %s", m.File, m.Line, m.Column, m.Func, m.Old, m.New)
}

// listMutants has gremlins find the mutants of a package of the module in root.
func listMutants(gremlins, root, pkg string) ([]mutant, error) {
	out, err := os.CreateTemp("", "gremlins-*.json")
	if err != nil {
		return nil, err
	}
	out.Close()
	defer os.Remove(out.Name())
	cmd := exec.Command(gremlins, append([]string{"unleash", "--dry-run", "--silent", "--output", out.Name()}, append(mutators, "./"+pkg)...)...)
	cmd.Dir = root
	// The coverage that gremlins gathers first is not used; one test that fits nothing makes it quick.
	cmd.Env = append(os.Environ(), "GOFLAGS=-run=^$")
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("gremlins: %w\n%s", err, text)
	}
	text, err := os.ReadFile(out.Name())
	if err != nil {
		return nil, err
	}
	var found struct {
		Files []struct {
			Name      string `json:"file_name"`
			Mutations []struct {
				Type         string
				Line, Column int
			}
		}
	}
	if err := json.Unmarshal(text, &found); err != nil {
		return nil, fmt.Errorf("gremlins: %w", err)
	}
	var all []mutant
	for _, f := range found.Files {
		file := path.Join(pkg, filepath.Base(f.Name))
		source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			return nil, err
		}
		for _, at := range f.Mutations {
			m := mutant{File: file, Line: at.Line, Column: at.Column, Type: at.Type}
			if err := m.apply(source); err != nil {
				return nil, err
			}
			all = append(all, m)
		}
	}
	slices.SortFunc(all, func(a, b mutant) int {
		if c := strings.Compare(a.File, b.File); c != 0 {
			return c
		}
		if c := a.Line - b.Line; c != 0 {
			return c
		}
		if c := a.Column - b.Column; c != 0 {
			return c
		}
		return strings.Compare(a.Type, b.Type)
	})
	return distinct(all), nil
}

// distinct leaves out mutants that are the same as the one before. gremlins lists each minus twice.
func distinct(all []mutant) []mutant {
	return slices.CompactFunc(all, func(a, b mutant) bool {
		return a.File == b.File && a.offset == b.offset && bytes.Equal(a.content, b.content)
	})
}

// changes are what gremlins puts in place of a token, by the type of the mutation.
var changes = map[string]map[token.Token]token.Token{
	"ARITHMETIC_BASE":       {token.ADD: token.SUB, token.MUL: token.QUO, token.QUO: token.MUL, token.REM: token.MUL, token.SUB: token.ADD},
	"CONDITIONALS_BOUNDARY": {token.GEQ: token.GTR, token.GTR: token.GEQ, token.LEQ: token.LSS, token.LSS: token.LEQ},
	"CONDITIONALS_NEGATION": {
		token.EQL: token.NEQ, token.GEQ: token.LSS, token.GTR: token.LEQ, token.LEQ: token.GTR, token.LSS: token.GEQ, token.NEQ: token.EQL,
	},
	"INCREMENT_DECREMENT": {token.DEC: token.INC, token.INC: token.DEC},
	"INVERT_ASSIGNMENTS":  {token.ADD_ASSIGN: token.SUB_ASSIGN, token.MUL_ASSIGN: token.QUO_ASSIGN, token.QUO_ASSIGN: token.MUL_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN},
	"INVERT_BITWISE": {
		token.AND: token.OR, token.OR: token.AND, token.XOR: token.AND, token.AND_NOT: token.AND, token.SHL: token.SHR, token.SHR: token.SHL,
	},
	"INVERT_BWASSIGN": {
		token.AND_ASSIGN: token.OR_ASSIGN, token.OR_ASSIGN: token.AND_ASSIGN, token.XOR_ASSIGN: token.AND_ASSIGN,
		token.AND_NOT_ASSIGN: token.AND_ASSIGN, token.SHL_ASSIGN: token.SHR_ASSIGN, token.SHR_ASSIGN: token.SHL_ASSIGN,
	},
	"INVERT_LOGICAL":   {token.LAND: token.LOR, token.LOR: token.LAND},
	"INVERT_LOOPCTRL":  {token.BREAK: token.CONTINUE, token.CONTINUE: token.BREAK},
	"INVERT_NEGATIVES": {token.SUB: token.ADD},
	"REMOVE_SELF_ASSIGNMENTS": {
		token.ADD_ASSIGN: token.ASSIGN, token.SUB_ASSIGN: token.ASSIGN, token.MUL_ASSIGN: token.ASSIGN, token.QUO_ASSIGN: token.ASSIGN,
		token.REM_ASSIGN: token.ASSIGN, token.AND_ASSIGN: token.ASSIGN, token.OR_ASSIGN: token.ASSIGN, token.XOR_ASSIGN: token.ASSIGN,
		token.SHL_ASSIGN: token.ASSIGN, token.SHR_ASSIGN: token.ASSIGN, token.AND_NOT_ASSIGN: token.ASSIGN,
	},
}

// apply changes the token at the mutant's place, and finds the function around it.
func (m *mutant) apply(source []byte) error {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, m.File, source, parser.ParseComments)
	if err != nil {
		return err
	}
	file := files.File(parsed.Pos())
	if m.Line > file.LineCount() {
		return fmt.Errorf("%s has no line %d", m.File, m.Line)
	}
	offset := file.Offset(file.LineStart(m.Line)) + m.Column - 1
	// The longest operator that stands there is the token.
	var from, to token.Token
	for old, new := range changes[m.Type] {
		if bytes.HasPrefix(source[offset:], []byte(old.String())) && (from == token.ILLEGAL || len(old.String()) > len(from.String())) {
			from, to = old, new
		}
	}
	if from == token.ILLEGAL {
		return fmt.Errorf("%s:%d:%d: gremlins' %s does not apply to %.10q", m.File, m.Line, m.Column, m.Type, source[offset:])
	}
	m.offset = offset
	m.content = slices.Concat(source[:offset], []byte(to.String()), source[offset+len(from.String()):])
	m.Old = strings.TrimSpace(lineOf(source, m.Line))
	m.New = strings.TrimSpace(lineOf(m.content, m.Line))
	pos := file.Pos(offset)
	for _, d := range parsed.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || pos < f.Pos() || pos > f.End() {
			continue
		}
		m.Func = f.Name.Name
		if f.Recv != nil && len(f.Recv.List) > 0 {
			typ := f.Recv.List[0].Type
			if star, ok := typ.(*ast.StarExpr); ok {
				typ = star.X
			}
			if index, ok := typ.(*ast.IndexExpr); ok {
				typ = index.X
			}
			if name, ok := typ.(*ast.Ident); ok {
				m.Func = name.Name + "." + m.Func
			}
		}
	}
	return nil
}

func lineOf(text []byte, n int) string {
	return strings.Split(string(text), "\n")[n-1]
}
