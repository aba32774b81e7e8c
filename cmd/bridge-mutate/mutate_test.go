package main

import (
	"context"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

const source = `package p

type set[T any] struct{}

func (s *set[T]) less(a, b int) bool {
	return a <= b && !(a < b)
}

func first(n int) int {
	for i := range 9 {
		if i == n {
			break
		}
		n--
	}
	return -n
}
`

func TestApply(t *testing.T) {
	for _, test := range []struct {
		line, column int
		kind         string
		function     string
		before       string
		after        string
	}{
		{6, 11, "CONDITIONALS_BOUNDARY", "set.less", "return a <= b && !(a < b)", "return a < b && !(a < b)"},
		{6, 11, "CONDITIONALS_NEGATION", "set.less", "return a <= b && !(a < b)", "return a > b && !(a < b)"},
		{6, 16, "INVERT_LOGICAL", "set.less", "return a <= b && !(a < b)", "return a <= b || !(a < b)"},
		{11, 8, "CONDITIONALS_NEGATION", "first", "if i == n {", "if i != n {"},
		{12, 4, "INVERT_LOOPCTRL", "first", "break", "continue"},
		{14, 4, "INCREMENT_DECREMENT", "first", "n--", "n++"},
		{16, 9, "INVERT_NEGATIVES", "first", "return -n", "return +n"},
	} {
		m := mutant{File: "p.go", Line: test.line, Column: test.column, Type: test.kind}
		if err := m.apply([]byte(source)); err != nil {
			t.Error(err)
			continue
		}
		if want := (key{"p.go", test.function, test.before, test.after}); m.key() != want {
			t.Errorf("got %+v\nwant %+v", m.key(), want)
		}
		if string(m.content) != strings.Replace(source, test.before, test.after, 1) {
			t.Errorf("%v:\n%s", m, m.content)
		}
	}
	m := mutant{File: "p.go", Line: 3, Column: 1, Type: "INVERT_LOGICAL"}
	if err := m.apply([]byte(source)); err == nil {
		t.Error("a place without an operator is changed")
	}
}

// gremlins lists a minus as an operator and as a sign, wherever it is.
func TestDistinct(t *testing.T) {
	var all []mutant
	for _, m := range []mutant{
		{Line: 14, Column: 4, Type: "INCREMENT_DECREMENT"},
		{Line: 16, Column: 9, Type: "ARITHMETIC_BASE"}, {Line: 16, Column: 9, Type: "INVERT_NEGATIVES"},
		{Line: 6, Column: 11, Type: "CONDITIONALS_BOUNDARY"}, {Line: 6, Column: 11, Type: "CONDITIONALS_NEGATION"},
	} {
		m.File = "p.go"
		if err := m.apply([]byte(source)); err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	var got []string
	for _, m := range distinct(all) {
		got = append(got, m.Type)
	}
	if want := []string{"INCREMENT_DECREMENT", "ARITHMETIC_BASE", "CONDITIONALS_BOUNDARY", "CONDITIONALS_NEGATION"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestReadEquivalents(t *testing.T) {
	all, err := readEquivalents("# a remark\n\nrpc/p.go set.less\n- a <= b\n+ a < b\none line\nand another\n\nrpc/p.go first\n- break\n+ continue\nwhy\n")
	want := map[key]string{{"rpc/p.go", "set.less", "a <= b", "a < b"}: "one line and another", {"rpc/p.go", "first", "break", "continue"}: "why"}
	if err != nil || len(all) != len(want) {
		t.Fatalf("%v %v", all, err)
	}
	for k, reason := range want {
		if all[k] != reason {
			t.Errorf("%+v: %q", k, all[k])
		}
	}
	for text, want := range map[string]string{
		"rpc/p.go f\n- a\n+ b\n":                                  "line 1",
		"\nrpc/p.go f\n+ a\n- b\nwhy\n":                           "line 2",
		"rpc/p.go f\n- a\n+ b\nwhy\n\nrpc/p.go f\n- a\n+ b\nso\n": "line 6: it is listed twice",
	} {
		if _, err := readEquivalents(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestReport(t *testing.T) {
	listed := mutant{File: "rpc/p.go", Func: "f", Old: "a", New: "b"}
	other := mutant{File: "rpc/p.go", Func: "f", Old: "a", New: "c"}
	equivalents := map[key]string{listed.key(): "why"}
	scored := func(outcomes map[outcome]int, more ...outcome) score {
		s := score{pkg: "rpc"}
		for o, n := range outcomes {
			for range n {
				s.count(other, o, equivalents)
			}
		}
		for _, o := range more {
			s.count(listed, o, equivalents)
		}
		return s
	}
	for _, test := range []struct {
		name string
		s    score
		want string // part of the error; "" none
	}{
		{"at the limit", scored(map[outcome]int{killed: 90, timedOut: 7, survived: 3, notViable: 50}), ""},
		{"above it", scored(map[outcome]int{killed: 96, survived: 4}), "4 of 100 mutants survive"},
		{"what does not compile does not count", scored(map[outcome]int{killed: 1, survived: 1, notViable: 98}), "1 of 2"},
		{"an equivalent one does not count", scored(map[outcome]int{killed: 1}, survived), ""},
		{"a test notices one that is listed", scored(map[outcome]int{killed: 100}, killed), "1 entries"},
	} {
		var out strings.Builder
		err := report(&out, []score{test.s}, 3)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v\n%s", test.name, err, out.String())
		}
	}
}

// The tests of a module are run with the mutant, and the module stays as it is.
func TestTry(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":      "module m\n\ngo 1.26\n",
		"p/p.go":      "package p\n\nfunc Less(a, b int) bool { return a < b }\n\nfunc Name(a string) string { return a + \"x\" }\n\nfunc Wait(n int) {\n\tfor i := 0; i < n; i++ {\n\t}\n}\n",
		"p/p_test.go": "package p\n\nimport \"testing\"\n\nfunc TestLess(t *testing.T) {\n\tif !Less(1, 2) || Name(\"\") != \"x\" {\n\t\tt.Fail()\n\t}\n\tWait(2)\n}\n",
		"q/q_test.go": "package q\n\nimport (\n\t\"testing\"\n\n\t\"m/p\"\n)\n\nfunc TestLess(t *testing.T) {\n\tif p.Less(2, 2) {\n\t\tt.Fail()\n\t}\n}\n",
		"r/r_test.go": "package r\n",
	} {
		at := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before, err := os.ReadFile(filepath.Join(root, "p/p.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name         string
		line, column int
		kind         string
		wide         string
		want         outcome
	}{
		{"its own tests notice", 3, 37, "CONDITIONALS_NEGATION", "./r", killed},
		{"no test notices", 3, 37, "CONDITIONALS_BOUNDARY", "./r", survived},
		{"another package's tests notice", 3, 37, "CONDITIONALS_BOUNDARY", "./q", killed},
		{"it does not compile", 5, 39, "ARITHMETIC_BASE", "./r", notViable},
		{"it does not end", 8, 22, "INCREMENT_DECREMENT", "./r", timedOut},
	} {
		m := mutant{File: "p/p.go", Line: test.line, Column: test.column, Type: test.kind}
		if err := m.apply(before); err != nil {
			t.Fatal(err)
		}
		alone := &trial{root: root, target: target{pkg: "p", wide: []string{test.wide}}, depth: wideTests, longest: time.Minute}
		if test.want == timedOut {
			alone.longest = time.Second
		}
		if got, err := alone.try(context.Background(), m); got != test.want || err != nil {
			t.Errorf("%s: %v, want %v (%v)", test.name, got, test.want, err)
		}
		if test.name == "no test notices" || test.want == timedOut {
			continue
		}
		together := &trial{root: root, target: alone.target, depth: wideTests, longest: alone.longest, folder: t.TempDir()}
		if err := together.prepare(context.Background(), []mutant{m}); err != nil {
			t.Fatal(err)
		}
		if viable := len(together.woven.ids) == 1; viable != (test.want != notViable) {
			t.Errorf("%s: woven: %v", test.name, viable)
		}
		if got, err := together.try(context.Background(), m); got != test.want || err != nil {
			t.Errorf("%s, woven: %v, want %v (%v)", test.name, got, test.want, err)
		}
	}
	if after, err := os.ReadFile(filepath.Join(root, "p/p.go")); err != nil || string(after) != string(before) {
		t.Errorf("the source has changed: %s (%v)", after, err)
	}
}

// The end-to-end tests run the program that has the mutants, those that reach the active one. One
// that fails by itself kills none; one that fails without a mutant is named.
func TestTryEndToEnd(t *testing.T) {
	root := t.TempDir()
	flaky, broken := filepath.Join(root, "flaky"), filepath.Join(root, "broken")
	for name, text := range map[string]string{
		"go.mod":                   "module m\n\ngo 1.26\n",
		"p/p.go":                   "package p\n\nfunc Less(a, b int) bool { return a < b }\n\nfunc More(a, b int) bool { return a > b }\n\nfunc Unused(a, b int) bool { return a == b }\n",
		"cmd/codex-bridge/main.go": "package main\n\nimport (\n\t\"fmt\"\n\n\t\"m/p\"\n)\n\nfunc main() { fmt.Print(p.Less(2, 2), p.More(2, 1)) }\n",
		"cmd/codex-bridge/e2e/e2e_test.go": `package e2e

import (
	"os"
	"os/exec"
	"testing"
)

func ` + endToEnd[0] + `(t *testing.T) {
	out, err := exec.Command(os.Getenv("CODEX_BRIDGE_E2E_PROXY")).Output()
	_, fine := os.Stat("` + broken + `")
	if err != nil || string(out) != "false true" || os.Remove("` + flaky + `") == nil || fine == nil {
		t.Fail()
	}
}

func ` + endToEnd[1] + `(t *testing.T) {
	if os.Getenv("BRIDGE_MUTANT") != "" {
		t.Fail()
	}
}

func TestOther(t *testing.T) { t.Fail() }
`,
	} {
		at := filepath.Join(root, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	before, err := os.ReadFile(filepath.Join(root, "p", "p.go"))
	if err != nil {
		t.Fatal(err)
	}
	boundary, negated, unused := mutant{Line: 3, Column: 37, Type: "CONDITIONALS_BOUNDARY"}, mutant{Line: 5, Column: 37, Type: "CONDITIONALS_BOUNDARY"}, mutant{Line: 7, Column: 39, Type: "CONDITIONALS_NEGATION"}
	for _, m := range []*mutant{&boundary, &negated, &unused} {
		m.File = "p/p.go"
		if err := m.apply(before); err != nil {
			t.Fatal(err)
		}
	}
	tried := &trial{root: root, target: target{pkg: "p"}, depth: allTests, longest: time.Minute, folder: t.TempDir()}
	if err := tried.prepare(t.Context(), []mutant{boundary, negated, unused}); err != nil {
		t.Fatal(err)
	}
	fails := func(file string) {
		t.Helper()
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	fails(broken)
	if _, err := tried.try(t.Context(), boundary); err == nil || !strings.HasSuffix(err.Error(), "without an active mutant: "+endToEnd[0]) {
		t.Errorf("a test fails without a mutant: %v", err)
	}
	if err := os.Remove(broken); err != nil {
		t.Fatal(err)
	}
	fails(flaky)
	for _, test := range []struct {
		name string
		m    mutant
		want outcome
	}{
		{"a test notices", boundary, killed},
		{"a test fails once", negated, survived},
		{"no test reaches it", unused, survived},
	} {
		if test.want == survived {
			fails(flaky)
		}
		if got, err := tried.try(t.Context(), test.m); got != test.want || err != nil {
			t.Errorf("%s: %v, want %v (%v)", test.name, got, test.want, err)
		}
	}
	overlay := filepath.Join(t.TempDir(), "overlay.json")
	changed := filepath.Join(t.TempDir(), "p.go")
	text := fmt.Sprintf(`{"Replace":{%q:%q}}`, filepath.Join(root, "p", "p.go"), changed)
	if err := errors.Join(os.Remove(flaky), os.WriteFile(changed, boundary.content, 0o600), os.WriteFile(overlay, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	if got, err := tried.tryEndToEnd(t.Context(), 0, overlay); got != killed || err != nil {
		t.Errorf("a mutant that is built alone: %v (%v)", got, err)
	}
}

const operators = `package p

func And(a, b, c bool) bool   { return a && b && c }
func Or(a, b, c bool) bool    { return a || b || c }
func Mixed(a, b, c bool) bool { return a && !(b || c) || c && b }

func Compare(a, b int) [4]bool { return [4]bool{a < b, a <= b, a > b, a >= b} }

func Compute(a, b int) []int {
	return []int{a + b, a - b, a * b, a / b, a % b, a & b, a | b, a ^ b, a &^ b, a << b, a >> b, -a + a*b}
}

func Assign(a, b int) [5]int {
	all := [5]int{a, a, a, a, a}
	all[0] += b
	all[1] -= b
	all[2] |= b
	all[3]++
	all[4]--
	return all
}

func Loop(n int) (seen []int) {
outer:
	for i := 0; i < 6; i++ {
		switch {
		case i == n:
			continue outer
		case i == n+2:
			break outer
		}
		seen = append(seen, i)
	}
	return seen
}
`

// showOperators returns what the functions of operators return.
const showOperators = `package show

import "fmt"

func All(and, or, mixed func(a, b, c bool) bool, compare func(a, b int) [4]bool, compute func(a, b int) []int, assign func(a, b int) [5]int, loop func(int) []int) string {
	text := ""
	for i := range 8 {
		a, b, c := i&1 != 0, i&2 != 0, i&4 != 0
		text += fmt.Sprint(and(a, b, c), or(a, b, c), mixed(a, b, c), " ")
	}
	return text + fmt.Sprint(compare(1, 2), compare(2, 2), compare(3, 2), compute(13, 2), assign(5, 3), loop(1), loop(9))
}
`

// A woven mutant does what the source with that one change does.
func TestWeave(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(root, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	run := func(env, name string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir, cmd.Env = root, append(os.Environ(), env)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	var mutants []mutant
	for line, text := range strings.Split(operators, "\n") {
		for column := range len(text) {
			for kind := range changes {
				m := mutant{File: "p/p.go", Line: line + 1, Column: column + 1, Type: kind}
				// A loop that does not end, and a token in the middle of another, are left out.
				if strings.Contains(text, "for ") || column > 0 && strings.ContainsAny(text[column-1:column], "+-<>&|^=:") || m.apply([]byte(operators)) != nil {
					continue
				}
				if _, err := parser.ParseFile(token.NewFileSet(), "", m.content, 0); err == nil {
					mutants = append(mutants, m)
				}
			}
		}
	}
	write("go.mod", "module m\n\ngo 1.26\n")
	write("p/p.go", operators)
	write("show/show.go", showOperators)
	w, err := weavePackage(t.Context(), root, t.TempDir(), "p", mutants)
	if err != nil {
		t.Fatal(err)
	}
	const call = "fmt.Println(show.All(%[1]s.And, %[1]s.Or, %[1]s.Mixed, %[1]s.Compare, %[1]s.Compute, %[1]s.Assign, %[1]s.Loop))\n"
	write("woven/main.go", "package main\n\nimport (\n\"fmt\"\n\"m/p\"\n\"m/show\"\n)\n\nfunc main() {\n"+fmt.Sprintf(call, "p")+"}\n")
	imports, calls := "\"m/p\"\n", fmt.Sprintf(call, "p")
	tried := []int{0}
	for _, m := range mutants {
		if id := w.ids[m.place()]; id != 0 {
			name := fmt.Sprintf("p%d", id)
			write(name+"/p.go", string(m.content))
			imports += fmt.Sprintf("%s \"m/%s\"\n", name, name)
			calls += fmt.Sprintf(call, name)
			tried = append(tried, id)
		}
	}
	write("each/main.go", "package main\n\nimport (\n\"fmt\"\n\"m/show\"\n"+imports+")\n\nfunc main() {\n"+calls+"}\n")
	program := filepath.Join(root, "woven.out")
	run("A=", "go", "build", "-overlay="+w.overlay, "-o", program, "./woven")
	each := strings.Split(run("A=", "go", "run", "./each"), "\n")
	for i, id := range tried {
		if got := strings.TrimSpace(run("BRIDGE_MUTANT="+strconv.Itoa(id), program)); got != each[i] {
			t.Errorf("%d: got %s, want %s, as in\n%s", id, got, each[i], mutants[max(0, id-1)])
		}
	}
	if len(tried) < 40 {
		t.Errorf("only %d of %d mutants are woven", len(tried)-1, len(mutants))
	}
}

// A mutant is tried with more tests, and with -survivors again, if it survived; what fewer tests
// noticed stays so.
func TestKnownResults(t *testing.T) {
	results := func(at depth, got outcome) map[result]outcome {
		return map[result]outcome{{"sources", string(at), key{}, 0, 0, "", ""}: got}
	}
	for _, test := range []struct {
		at        depth // of the result
		got       outcome
		now       depth
		survivors bool
		want      bool
	}{
		{ownTests, killed, ownTests, false, true},
		{ownTests, timedOut, allTests, false, true},
		{ownTests, survived, ownTests, false, true},
		{ownTests, survived, ownTests, true, false},
		{ownTests, survived, wideTests, false, false},
		{allTests, killed, ownTests, false, false},
		{allTests, survived, allTests, false, true},
	} {
		got, ok := known(results(test.at, test.got), "sources", options{depth: string(test.now), survivors: test.survivors}, mutant{})
		if ok != test.want || ok && got != test.got {
			t.Errorf("%+v: %q, %v", test, got, ok)
		}
	}
	if _, ok := known(results(ownTests, killed), "other", options{depth: string(ownTests)}, mutant{}); ok {
		t.Error("a result of other sources counts")
	}
}
