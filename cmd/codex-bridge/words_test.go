package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const root = "../../"

// eachFile calls f for each Go file of the program, without tests.
func eachFile(t *testing.T, f func(path string, file *ast.File)) {
	t.Helper()
	files := 0
	for _, folder := range []string{"bridge", "cmd", "lifecycle", "relay", "rpc", "serve"} {
		err := filepath.WalkDir(root+folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err == nil {
				files++
				f(path, file)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 300 {
		t.Fatalf("only %d files", files)
	}
}

// glossaryTerms returns the terms of the glossary.
func glossaryTerms(t *testing.T) (terms []string) {
	t.Helper()
	text, err := os.ReadFile(root + "docs/glossary.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if term, _, isRow := strings.Cut(line, " | "); isRow && term != "term" {
			terms = append(terms, term)
		}
	}
	return terms
}

// productWords are words of texts for people that a reader can't know from elsewhere.
var productWords = []string{
	"binding", "bundle", "conversation", "desk", "elicitation", "fence", "fingerprint", "gate", "generation", "grant", "hello", "hub",
	"lease", "ledger", "mirror", "narrow", "overlay", "pin", "rollout", "session", "subagent", "thread", "turn",
}

// The glossary has at most 40 terms in order, among them each product word that a text for people uses.
func TestGlossaryHasTheWordsOfErrors(t *testing.T) {
	terms := glossaryTerms(t)
	if len(terms) > 40 || len(terms) < 20 || !slices.IsSorted(terms) {
		t.Errorf("%d terms, sorted: %v", len(terms), slices.IsSorted(terms))
	}
	all := strings.Join(terms, " ")
	word := regexp.MustCompile(`\b(` + strings.Join(productWords, "|") + `)(s|ed|d|ned)?\b`)
	missing := make(map[string]string)
	eachFile(t, func(path string, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			text, _ := strconv.Unquote(literal.Value)
			if !strings.Contains(text, " ") {
				return true
			}
			for _, found := range word.FindAllStringSubmatch(text, -1) {
				if !strings.Contains(all, found[1]) {
					missing[found[1]] = path
				}
			}
			return true
		})
	})
	for found, path := range missing {
		t.Errorf("%s uses %q, which docs/glossary.md does not define", path, found)
	}
}

// The names in the tour exist: functions in the linked files, the others anywhere.
func TestTourNamesCode(t *testing.T) {
	text, err := os.ReadFile(root + "docs/internals/tour.md")
	if err != nil {
		t.Fatal(err)
	}
	declared := make(map[string][]string) // the files by name
	eachFile(t, func(path string, file *ast.File) {
		path = filepath.Clean(path)
		for _, d := range file.Decls {
			for _, name := range namesOf(d) {
				declared[name] = append(declared[name], path)
				declared[file.Name.Name+"."+name] = append(declared[file.Name.Name+"."+name], path)
			}
		}
	})
	span := regexp.MustCompile("`([^`]+)`(?: in \\[[^\\]]*\\]\\(([^)]+)\\))?")
	symbol := regexp.MustCompile(`^[A-Za-z]+(\.[A-Za-z]+)?$`)
	checked := 0
	for _, found := range span.FindAllStringSubmatch(string(text), -1) {
		name, link := found[1], found[2]
		if !symbol.MatchString(name) || name == "TestTourNamesCode" || name == "execve" {
			continue
		}
		checked++
		files := declared[name]
		if len(files) == 0 {
			t.Errorf("the tour names %s, which is not declared", name)
		}
		if at := filepath.Join(root+"docs/internals", link); link != "" && !slices.Contains(files, at) {
			t.Errorf("the tour looks for %s in %s; it is in %v", name, at, files)
		}
	}
	if checked < 60 {
		t.Errorf("only %d names", checked)
	}
}

// namesOf returns the names that a declaration declares; methods and fields with and without their type.
func namesOf(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		names = append(names, d.Name.Name)
		if d.Recv != nil {
			of := d.Recv.List[0].Type
			if star, ok := of.(*ast.StarExpr); ok {
				of = star.X
			}
			if generic, ok := of.(*ast.IndexExpr); ok {
				of = generic.X
			}
			if ident, ok := of.(*ast.Ident); ok {
				names = append(names, ident.Name+"."+d.Name.Name)
			}
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					names = append(names, name.Name)
				}
			case *ast.TypeSpec:
				names = append(names, spec.Name.Name)
				if s, ok := spec.Type.(*ast.StructType); ok {
					for _, f := range s.Fields.List {
						for _, name := range f.Names {
							names = append(names, name.Name, spec.Name.Name+"."+name.Name)
						}
					}
				}
				if i, ok := spec.Type.(*ast.InterfaceType); ok {
					for _, f := range i.Methods.List {
						for _, name := range f.Names {
							names = append(names, name.Name, spec.Name.Name+"."+name.Name)
						}
					}
				}
			}
		}
	}
	return names
}
