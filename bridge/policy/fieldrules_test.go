package policy_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"codex-bridge.example/bridge/methods"
)

// tableRule is one row of fieldRules: what its function reads of the findings, and what it gives.
type tableRule struct {
	name         string
	function     string // "" for a method of the request
	method       string
	reads, gives []string
}

// parseRules reads fieldRules. Each row has one call of a function with findings as arguments, or of a method of the
// request.
func parseRules(t *testing.T) (rules []tableRule) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "fieldrules.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		row, ok := n.(*ast.CompositeLit)
		if !ok || len(row.Elts) != 2 {
			return true
		}
		label, isText := row.Elts[0].(*ast.BasicLit)
		body, isFunc := row.Elts[1].(*ast.FuncLit)
		if !isText || !isFunc {
			return true
		}
		name, _ := strconv.Unquote(label.Value)
		if len(body.Body.List) != 1 {
			t.Fatalf("%s has more than one statement", name)
		}
		rule := tableRule{name: name}
		rule.parse(t, body.Body.List[0])
		rules = append(rules, rule)
		return false
	})
	return rules
}

func (r *tableRule) parse(t *testing.T, s ast.Stmt) {
	t.Helper()
	var call ast.Expr
	switch s := s.(type) {
	case *ast.ExprStmt:
		call = s.X
	case *ast.AssignStmt:
		call = s.Rhs[0]
		for _, to := range s.Lhs {
			r.gives = append(r.gives, findingOf(t, r.name, to))
		}
	}
	c, ok := call.(*ast.CallExpr)
	if !ok {
		t.Fatalf("%s: the statement is no call", r.name)
	}
	switch f := c.Fun.(type) {
	case *ast.Ident:
		r.function = f.Name
	case *ast.SelectorExpr:
		r.method = f.Sel.Name
	}
	for _, arg := range c.Args {
		if id, ok := arg.(*ast.Ident); ok && id.Name == "fields" {
			continue
		}
		r.reads = append(r.reads, findingOf(t, r.name, arg))
	}
}

// findingOf returns X of an expression f.X.
func findingOf(t *testing.T, rule string, e ast.Expr) string {
	t.Helper()
	s, ok := e.(*ast.SelectorExpr)
	if ok {
		var f *ast.Ident
		if f, ok = s.X.(*ast.Ident); ok && f.Name == "f" {
			return s.Sel.Name
		}
	}
	t.Fatalf("%s: an argument or a result is not a field of the findings", rule)
	return ""
}

// initialFindings are known before the first rule.
var initialFindings = []string{"request", "folders"}

func TestRulesReadWhatEarlierRulesGive(t *testing.T) {
	given := slices.Clone(initialFindings)
	byName := map[string]tableRule{}
	for _, r := range parseRules(t) {
		for _, one := range r.reads {
			if !slices.Contains(given, one) {
				t.Errorf("the rule %s reads %s, which no rule above it gives", r.name, one)
			}
		}
		given = append(given, r.gives...)
		byName[r.name] = r
	}
	if len(byName) < 30 {
		t.Fatalf("fieldRules has %d rules", len(byName))
	}
	for row := range methods.Rows() {
		names := slices.Clone(row.Rules)
		for _, field := range row.Params {
			names = append(names, field.Rule)
		}
		checkGivenOnce(t, row.Method, names)
	}
}

// checkGivenOnce checks that no rule of a method replaces what an earlier one gives without reading it.
func checkGivenOnce(t *testing.T, method string, names []string) {
	t.Helper()
	by := map[string]string{}
	for _, r := range parseRules(t) {
		if !slices.Contains(names, r.name) {
			continue
		}
		for _, one := range r.gives {
			if by[one] != "" && !slices.Contains(r.reads, one) {
				t.Errorf("%s: the rule %s loses what %s gives: %s", method, r.name, by[one], one)
			}
			by[one] = r.name
		}
	}
}

// A rule gets what the table says and nothing else: its function takes no findings, and its method is one of the request.
func TestRulesGetNoOtherFindings(t *testing.T) {
	functions, ofRequest := map[string]*ast.FuncDecl{}, map[string]bool{}
	for _, d := range packageFunctions(t) {
		switch {
		case d.Recv == nil:
			functions[d.Name.Name] = d
		case receiver(d) == "request":
			ofRequest[d.Name.Name] = true
		case receiver(d) == "findings" && !slices.Contains([]string{"result", "sentSettings"}, d.Name.Name):
			t.Errorf("findings have the method %s, which a rule could use to read all of them", d.Name.Name)
		}
	}
	for _, r := range parseRules(t) {
		if r.method != "" && !ofRequest[r.method] {
			t.Errorf("%s: %s is no method of the request", r.name, r.method)
		}
		if d := functions[r.function]; r.function != "" && (d == nil || strings.Contains(signature(d), "findings")) {
			t.Errorf("%s: %s is no function, or takes all findings", r.name, r.function)
		}
	}
}

// No rule has so much state of its own that its functions talk through it.
func TestRulesHaveFewFields(t *testing.T) {
	const most = 15
	for name, n := range structFields(t) {
		if n > most && !slices.Contains(factStructs, name) {
			t.Errorf("%s has %d fields, more than %d", name, n, most)
		}
	}
}

// factStructs are facts about Codex, the machine and a policy, and results for callers. The verifier has what Codex
// echoes.
var factStructs = []string{"Decision", "Defaults", "Facts", "Policy", "Profile", "SentSettings", "State", "Thread", "verifier"}

func packageFiles(t *testing.T) (files []*ast.File) {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, file)
		}
	}
	return files
}

func packageFunctions(t *testing.T) (all []*ast.FuncDecl) {
	t.Helper()
	for _, file := range packageFiles(t) {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				all = append(all, f)
			}
		}
	}
	return all
}

func structFields(t *testing.T) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, file := range packageFiles(t) {
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok {
				for _, f := range s.Fields.List {
					counts[spec.Name.Name] += max(1, len(f.Names))
				}
			}
			return true
		})
	}
	return counts
}

func receiver(d *ast.FuncDecl) string {
	e := d.Recv.List[0].Type
	if star, ok := e.(*ast.StarExpr); ok {
		e = star.X
	}
	return fmt.Sprint(e)
}

func signature(d *ast.FuncDecl) string {
	var types []string
	ast.Inspect(d.Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			types = append(types, id.Name)
		}
		return true
	})
	return strings.Join(types, " ")
}
