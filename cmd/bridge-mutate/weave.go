package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// weave returns the source of a file with many of its mutants in it, and the numbers of the mutants
// that it holds. A variable of the environment chooses the active one: see switchSource. Operands
// are evaluated as often and in the same order as in the mutant itself, and every line keeps its
// number. mutants has the numbers of the mutants, by the offset of the token and by type.
//
// The result may not compile: the mutant of a string addition, for example, has no generic form.
// The caller takes such mutants out and weaves again.
func weave(name string, source []byte, mutants map[int]map[string]int) ([]byte, []int, error) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, name, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, nil, err
	}
	w := weaver{mutants: mutants, file: files.File(parsed.Pos()), inner: make(map[*ast.BinaryExpr]bool)}
	ast.Inspect(parsed, func(n ast.Node) bool {
		w.node++
		switch n := n.(type) {
		case *ast.BinaryExpr:
			w.binary(n)
		case *ast.UnaryExpr:
			w.negation(n)
		case *ast.IncDecStmt:
			w.increment(n)
		case *ast.BranchStmt:
			w.branch(n)
		case *ast.AssignStmt:
			w.assignment(n)
		}
		return true
	})
	slices.SortStableFunc(w.edits, func(a, b edit) int {
		return cmp.Or(a.offset-b.offset, a.order-b.order, a.rank-b.rank)
	})
	var out strings.Builder
	at := 0
	for _, e := range w.edits {
		out.Write(source[at:e.offset])
		out.WriteString(e.text)
		at = e.offset + e.length
	}
	out.Write(source[at:])
	return []byte(out.String()), w.woven, nil
}

// weaver collects the edits of one file.
type weaver struct {
	mutants map[int]map[string]int
	file    *token.File
	node    int                      // of the syntax tree, counted from the outside to the inside
	inner   map[*ast.BinaryExpr]bool // that logical has woven with others
	edits   []edit
	woven   []int
}

// edit replaces length bytes of the source. Of those at one offset, text that closes the nodes
// before it comes first, of the inner nodes first; then text that opens nodes, of the outer ones
// first.
type edit struct {
	offset, length int
	order, rank    int
	text           string
}

// take returns the number of the mutant of a type at a place, or 0.
func (w *weaver) take(pos token.Pos, kind string) int {
	n := w.mutants[w.file.Offset(pos)][kind]
	if n != 0 {
		w.woven = append(w.woven, n)
	}
	return n
}

func (w *weaver) close(pos token.Pos, text string) {
	w.edits = append(w.edits, edit{w.file.Offset(pos), 0, 0, -w.node, text})
}

func (w *weaver) open(pos token.Pos, text string) {
	w.edits = append(w.edits, edit{w.file.Offset(pos), 0, 1, w.node, text})
}

func (w *weaver) replace(pos token.Pos, old token.Token, text string) {
	w.edits = append(w.edits, edit{w.file.Offset(pos), len(old.String()), 2, 0, text})
}

// generic are the functions of switchSource that evaluate an operator, or its mutant.
var generic = map[token.Token]string{
	token.LSS: "Less", token.LEQ: "LessEqual", token.GTR: "Greater", token.GEQ: "GreaterEqual",
	token.ADD: "Add", token.SUB: "Subtract", token.MUL: "Multiply", token.QUO: "Divide", token.REM: "Remainder",
	token.AND: "And", token.OR: "Or", token.XOR: "Xor", token.AND_NOT: "AndNot", token.SHL: "Left", token.SHR: "Right",
	token.ADD_ASSIGN: "AddTo", token.SUB_ASSIGN: "SubtractFrom", token.OR_ASSIGN: "OrTo",
}

// logical weaves && and || that stand beside each other. A mutant may bind its operands in another
// way than the original does: a && b && c becomes a || b && c. mutantLogical evaluates both.
func (w *weaver) logical(n *ast.BinaryExpr) {
	if w.inner[n] {
		return
	}
	var operands []ast.Expr
	var operators []*ast.BinaryExpr
	var flatten func(x ast.Expr)
	flatten = func(x ast.Expr) {
		b, ok := x.(*ast.BinaryExpr)
		if !ok || b.Op != token.LAND && b.Op != token.LOR {
			operands = append(operands, x)
			return
		}
		w.inner[b] = true
		flatten(b.X)
		operators = append(operators, b)
		flatten(b.Y)
	}
	flatten(n)
	var ids []string
	var text strings.Builder
	any := 0
	for _, b := range operators {
		id := w.take(b.OpPos, "INVERT_LOGICAL")
		any += id
		ids = append(ids, strconv.Itoa(id))
		text.WriteByte(b.Op.String()[0])
	}
	if any == 0 {
		return
	}
	w.open(n.Pos(), fmt.Sprintf("mutantLogical(%q, []int{%s}, ", text.String(), strings.Join(ids, ", ")))
	for i, x := range operands {
		w.open(x.Pos(), "func() bool { return ")
		w.close(x.End(), " }")
		if i < len(operators) {
			w.replace(operators[i].OpPos, operators[i].Op, ",")
		}
	}
	w.close(n.End(), ")")
}

func (w *weaver) binary(n *ast.BinaryExpr) {
	if n.Op == token.LAND || n.Op == token.LOR {
		w.logical(n)
		return
	}
	if id := w.take(n.OpPos, "CONDITIONALS_NEGATION"); id != 0 {
		w.open(n.X.Pos(), "((")
		defer w.close(n.Y.End(), fmt.Sprintf(") != mutantActive(%d))", id))
	}
	for _, kind := range []string{"CONDITIONALS_BOUNDARY", "ARITHMETIC_BASE", "INVERT_BITWISE"} {
		if id := w.take(n.OpPos, kind); id != 0 {
			w.open(n.X.Pos(), fmt.Sprintf("mutant%s(%d, ", generic[n.Op], id))
			w.replace(n.OpPos, n.Op, ",")
			w.close(n.Y.End(), ")")
		}
	}
}

func (w *weaver) negation(n *ast.UnaryExpr) {
	for _, kind := range []string{"INVERT_NEGATIVES", "ARITHMETIC_BASE"} { // the same here
		if id := w.take(n.OpPos, kind); id != 0 {
			w.replace(n.OpPos, n.Op, fmt.Sprintf("mutantNegate(%d, ", id))
			w.close(n.X.End(), ")")
			return
		}
	}
}

func (w *weaver) increment(n *ast.IncDecStmt) {
	if id := w.take(n.TokPos, "INCREMENT_DECREMENT"); id != 0 {
		name := "Increment"
		if n.Tok == token.DEC {
			name = "Decrement"
		}
		w.open(n.Pos(), fmt.Sprintf("mutant%s(%d, &", name, id))
		w.replace(n.TokPos, n.Tok, ")")
	}
}

func (w *weaver) branch(n *ast.BranchStmt) {
	if id := w.take(n.TokPos, "INVERT_LOOPCTRL"); id != 0 {
		label := ""
		if n.Label != nil {
			label = " " + n.Label.Name
		}
		w.open(n.Pos(), fmt.Sprintf("{ if mutantActive(%d) { %s%s }; ", id, changes["INVERT_LOOPCTRL"][n.Tok], label))
		w.close(n.End(), " }")
	}
}

func (w *weaver) assignment(n *ast.AssignStmt) {
	if generic[n.Tok] == "" {
		return
	}
	invert, remove := w.take(n.TokPos, "INVERT_ASSIGNMENTS"), w.take(n.TokPos, "REMOVE_SELF_ASSIGNMENTS")
	if n.Tok == token.OR_ASSIGN {
		invert = w.take(n.TokPos, "INVERT_BWASSIGN")
	}
	if invert == 0 && remove == 0 {
		return
	}
	w.open(n.Pos(), fmt.Sprintf("mutant%s(%d, %d, &", generic[n.Tok], invert, remove))
	w.replace(n.TokPos, n.Tok, ",")
	w.close(n.End(), ")")
}

// switchSource is what a package that holds mutants has in addition. mutantActive notes in the file
// BRIDGE_MUTANT_TRACE which mutants the program comes by.
const switchSource = `package %s

import (
	"cmp"
	"os"
	"strconv"
	"sync/atomic"
)

var (
	mutantChosen, _ = strconv.Atoi(os.Getenv("BRIDGE_MUTANT"))
	mutantTrace     = os.Getenv("BRIDGE_MUTANT_TRACE")
	mutantSeen      [%d]atomic.Bool
)

func mutantActive(id int) bool {
	if mutantTrace != "" {
		mutantNote(id)
	}
	return id != 0 && id == mutantChosen
}

func mutantNote(id int) {
	if mutantSeen[id].Swap(true) {
		return
	}
	f, err := os.OpenFile(mutantTrace, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	if _, err := f.WriteString(strconv.Itoa(id) + "\n"); err != nil {
		panic(err)
	}
}

type mutantInteger interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr
}

type mutantNumber interface{ mutantInteger | ~float32 | ~float64 }

func mutantPick[T any](id int, is, mutant T) T {
	if mutantActive(id) {
		return mutant
	}
	return is
}

// mutantLogical evaluates operands that && and || join, with the operator of the active mutant
// replaced by the other.
func mutantLogical(operators string, ids []int, operands ...func() bool) bool {
	group := true // what the operands since the last || come to
	for i, operand := range operands {
		group = group && operand()
		if i == len(ids) {
			return group
		}
		or := operators[i] == '|'
		if mutantActive(ids[i]) {
			or = !or
		}
		if or {
			if group {
				return true
			}
			group = true
		}
	}
	return group
}

func mutantLess[T cmp.Ordered](id int, x, y T) bool         { return mutantPick(id, x < y, x <= y) }
func mutantLessEqual[T cmp.Ordered](id int, x, y T) bool    { return mutantPick(id, x <= y, x < y) }
func mutantGreater[T cmp.Ordered](id int, x, y T) bool      { return mutantPick(id, x > y, x >= y) }
func mutantGreaterEqual[T cmp.Ordered](id int, x, y T) bool { return mutantPick(id, x >= y, x > y) }

func mutantAdd[T mutantNumber](id int, x, y T) T      { return mutantPick(id, x+y, x-y) }
func mutantSubtract[T mutantNumber](id int, x, y T) T { return mutantPick(id, x-y, x+y) }
func mutantMultiply[T mutantNumber](id int, x, y T) T {
	if mutantActive(id) {
		return x / y
	}
	return x * y
}
func mutantDivide[T mutantNumber](id int, x, y T) T {
	if mutantActive(id) {
		return x * y
	}
	return x / y
}
func mutantRemainder[T mutantInteger](id int, x, y T) T {
	if mutantActive(id) {
		return x * y
	}
	return x %% y
}

func mutantAnd[T mutantInteger](id int, x, y T) T    { return mutantPick(id, x&y, x|y) }
func mutantOr[T mutantInteger](id int, x, y T) T     { return mutantPick(id, x|y, x&y) }
func mutantXor[T mutantInteger](id int, x, y T) T    { return mutantPick(id, x^y, x&y) }
func mutantAndNot[T mutantInteger](id int, x, y T) T { return mutantPick(id, x&^y, x&y) }

func mutantLeft[T, U mutantInteger](id int, x T, y U) T  { return mutantPick(id, x<<y, x>>y) }
func mutantRight[T, U mutantInteger](id int, x T, y U) T { return mutantPick(id, x>>y, x<<y) }

func mutantNegate[T mutantNumber](id int, x T) T { return mutantPick(id, -x, +x) }

func mutantIncrement[T mutantNumber](id int, x *T) { *x += mutantPick(id, T(1), -T(1)) }
func mutantDecrement[T mutantNumber](id int, x *T) { *x -= mutantPick(id, T(1), -T(1)) }

func mutantAddTo[T mutantNumber](invert, remove int, x *T, y T) {
	*x = mutantPick(remove, mutantPick(invert, *x+y, *x-y), y)
}
func mutantSubtractFrom[T mutantNumber](invert, remove int, x *T, y T) {
	*x = mutantPick(remove, mutantPick(invert, *x-y, *x+y), y)
}
func mutantOrTo[T mutantInteger](invert, remove int, x *T, y T) {
	*x = mutantPick(remove, mutantPick(invert, *x|y, *x&y), y)
}
`
