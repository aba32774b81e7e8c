package rules

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// walker visits the syntax of one text. It finds commands in substitutions, bodies and
// here-documents, too.
type walker struct {
	*reader
	readContext
	lang   syntax.LangVariant
	source string
	nodes  []*node
}

// flatten returns a word after quote removal; a nil word is empty.
func (w *walker) flatten(word *syntax.Word) word {
	if word == nil {
		return literal("")
	}
	return flatten(word.Parts, w.lang, slices.Contains(w.shell.langs, syntax.LangZsh))
}

// sourceText returns the text between two positions, or the whole text if they are invalid.
func (w *walker) sourceText(from, to syntax.Pos) string {
	a, b := int(from.Offset()), int(to.Offset())
	if a > b || b > len(w.source) {
		return w.source
	}
	return w.source[a:b]
}

// add adds a command, with the text of the syntax if it has none.
func (w *walker) add(n *node, at syntax.Node) {
	if w.line.nodeCount > maxNodes+1 {
		return // the first command over the limit is opaque
	}
	if n.text == "" {
		n.text = w.sourceText(at.Pos(), at.End())
	}
	w.nodes = append(w.nodes, n)
}

// visit handles one syntax node and reports whether to visit its children.
func (w *walker) visit(at syntax.Node) bool {
	switch x := at.(type) {
	case *syntax.Stmt:
		for _, redirect := range x.Redirs {
			w.visitRedirect(redirect)
		}
		switch cmd := x.Cmd.(type) {
		case *syntax.CallExpr:
			w.visitCall(cmd, x.Redirs)
		case nil:
			w.add(&node{}, x) // only redirections
		}
	case *syntax.DeclClause:
		w.visitDeclaration(x)
	case *syntax.WordIter:
		w.line.noteVariable(x.Name.Value)
		for _, item := range x.Items {
			w.addUnseen(w.flatten(item), x)
		}
	case *syntax.TimeClause:
		w.add(&node{words: []word{literal("time"), {kind: unknownWords}}}, x)
	case *syntax.CoprocClause:
		w.add(&node{words: []word{literal("coproc"), {kind: unknownWords}}}, x)
	case *syntax.LetClause:
		w.line.noteEvaluation(arithmetic)
		w.line.noteCommandText(w.sourceText(x.Pos(), x.End()), "`")
	case *syntax.CStyleLoop:
		w.line.noteEvaluation(arithmetic)
	case *syntax.ArithmCmd:
		w.visitArithmetic(x.X)
	case *syntax.ArithmExp:
		w.visitArithmetic(x.X)
	case *syntax.Assign:
		w.visitArithmetic(x.Index)
		if x.Name != nil && startsSomething(x.Name.Value) {
			w.add(w.line.opaqueNode("", startReason(x.Name.Value)), x)
		}
	case *syntax.ArrayElem:
		w.visitArithmetic(x.Index)
		w.addUnseen(w.flatten(x.Value), x)
	case *syntax.BinaryTest:
		if x.Op >= syntax.TsEql && x.Op <= syntax.TsGtr {
			w.line.noteEvaluation(arithmetic)
			w.line.noteCommandText(w.sourceText(x.Pos(), x.End()), "`")
		}
	case *syntax.UnaryTest:
		if x.Op == syntax.TsVarSet || x.Op == syntax.TsRefVar {
			w.line.noteEvaluation(arithmetic)
			w.line.noteCommandText(w.sourceText(x.Pos(), x.End()), "`")
		}
	case *syntax.ParamExp:
		w.visitParameter(x)
	}
	return true
}

// addUnseen adds an opaque command if a shell may run something for a word. Words of commands are
// handled with the command.
func (w *walker) addUnseen(word word, at syntax.Node) {
	if word.runsUnseen != "" {
		w.add(w.line.opaqueNode("", word.runsUnseen), at)
	}
}

// A shell evaluates variables in arithmetic and in subscripts, including command substitutions:
// x='a[$(id)]'; echo $((x)).
const arithmetic = "arithmetic may run what a variable holds"

// visitArithmetic forbids allow rules if an expression uses a variable.
func (w *walker) visitArithmetic(x syntax.ArithmExpr) {
	if x == nil {
		return
	}
	syntax.Walk(x, func(n syntax.Node) bool {
		if word, ok := n.(*syntax.Word); ok && strings.Trim(word.Lit(), "0123456789") != "" && word.Lit() != "@" && word.Lit() != "*" || ok && word.Lit() == "" {
			w.line.noteEvaluation(arithmetic)
		}
		return true
	})
}

// visitParameter handles a parameter expansion, which may evaluate or set variables.
func (w *walker) visitParameter(x *syntax.ParamExp) {
	w.visitArithmetic(x.Index)
	if x.Slice != nil {
		w.visitArithmetic(x.Slice.Offset)
		w.visitArithmetic(x.Slice.Length)
	}
	if x.Excl && x.Names == 0 || x.Flags != nil {
		w.line.noteEvaluation("a variable is read through another one")
	}
	if x.Exp == nil {
		return
	}
	switch x.Exp.Op {
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		if x.Param != nil {
			w.line.noteVariable(x.Param.Value)
		}
	case syntax.OtherParamOps:
		w.line.noteEvaluation("a variable's value is expanded again")
	}
}

// visitCall adds a simple command.
func (w *walker) visitCall(x *syntax.CallExpr, redirects []*syntax.Redirect) {
	assigns := make([]assignment, 0, len(x.Assigns))
	for _, a := range x.Assigns {
		name, value := w.assignment(a)
		w.addUnseen(value, a)
		assigns = append(assigns, assignment{name, value})
	}
	if len(x.Args) == 0 {
		n := w.readCommand(nil, assigns, w.readContext)
		for _, a := range assigns {
			w.line.noteVariable(a.name)
		}
		w.add(n, x)
		return
	}
	words := make([]word, len(x.Args))
	for i, arg := range x.Args {
		words[i] = w.flatten(arg)
	}
	c := w.readContext
	c.stdin = w.hereDocument(redirects)
	w.add(w.readCommand(words, assigns, c), x)
}

// assignment returns the name of an assignment and its word, NAME=value.
func (w *walker) assignment(a *syntax.Assign) (string, word) {
	if a.Name == nil {
		return "", w.flatten(a.Value)
	}
	name := a.Name.Value
	if a.Array != nil {
		return name, word{kind: single, prefix: name + "="}
	}
	value := w.flatten(a.Value)
	if value.kind == known {
		return name, literal(name + "=" + value.text)
	}
	return name, word{kind: single, prefix: name + "=" + value.prefix, suffix: value.suffix, runsUnseen: value.runsUnseen}
}

// hereDocument returns the text of a here-document or here-string; nil if it is not fully known.
func (w *walker) hereDocument(redirects []*syntax.Redirect) *string {
	var text *string
	for _, x := range redirects {
		if x.N != nil && x.N.Value != "0" {
			continue // another descriptor than the input
		}
		var value word
		switch x.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			if x.Hdoc == nil {
				break // an empty here-document
			}
			if !isLiteralHereDoc(x) {
				return nil
			}
			value = literal(x.Hdoc.Lit())
			if x.Op == syntax.DashHdoc {
				lines := strings.Split(value.text, "\n")
				for i := range lines {
					lines[i] = strings.TrimLeft(lines[i], "\t")
				}
				value.text = strings.Join(lines, "\n")
			}
		case syntax.WordHdoc:
			value = w.flatten(x.Word)
		case syntax.RdrIn, syntax.DplIn, syntax.RdrInOut:
			return nil
		default:
			continue
		}
		if value.kind != known {
			return nil
		}
		text = &value.text
	}
	return text
}

// isLiteralHereDoc reports whether the text of a here-document is known. With a quoted delimiter, no
// shell changes the text. shellDifference checks that all shells see the same delimiter.
func isLiteralHereDoc(x *syntax.Redirect) bool {
	quoted := false
	for _, part := range x.Word.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			continue
		case *syntax.SglQuoted:
			quoted = !p.Dollar
		case *syntax.DblQuoted:
			quoted = !p.Dollar
		default:
			quoted = false
		}
		if !quoted {
			return false
		}
	}
	for _, part := range x.Hdoc.Parts {
		if lit, ok := part.(*syntax.Lit); !ok || !quoted && strings.ContainsAny(lit.Value, "\\$`") {
			return false
		}
	}
	return true
}

// sinks are the files for which a redirection is not recorded.
var sinks = setOf(devNull)

// visitRedirect records the file of a redirection.
func (w *walker) visitRedirect(x *syntax.Redirect) {
	if x.N != nil && strings.HasPrefix(x.N.Value, "{") {
		w.line.noteVariable(strings.Trim(x.N.Value, "{}"))
	}
	target := w.flatten(x.Word)
	w.addUnseen(target, x)
	switch x.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		if x.Hdoc != nil {
			w.line.noteCommandText(x.Hdoc.Lit(), "`")
		}
		return
	case syntax.WordHdoc:
		w.line.noteCommandText(target.knownPrefix(), "`")
		return
	case syntax.RdrIn, syntax.DplIn:
		w.line.opensDescriptor = w.line.opensDescriptor || x.N != nil && x.N.Value != "0"
		if x.Op == syntax.RdrIn && !target.processSubst {
			w.line.addAccess(fileAccess{text: w.sourceText(x.Pos(), x.Word.End()), target: target, read: true})
		}
		// bash opens a connection for some names below /dev.
		if target.kind != known && !target.processSubst || strings.HasPrefix(target.text, "/dev/") && !sinks[target.text] && !outputs[target.text] {
			w.line.forbidAllow("it reads from what may be a connection")
		}
		return
	case syntax.DplOut:
		w.line.opensDescriptor = w.line.opensDescriptor || target.text != "1" && target.text != "2"
		if target.kind == known && strings.Trim(target.text, "0123456789-") == "" {
			return
		}
	}
	if target.kind == known && sinks[target.text] || target.processSubst {
		return
	}
	w.line.addAccess(fileAccess{text: w.sourceText(x.Pos(), x.Word.End()), target: target})
}

// visitDeclaration adds export, declare, local and similar commands.
func (w *walker) visitDeclaration(x *syntax.DeclClause) {
	words := []word{literal(x.Variant.Value)}
	for _, a := range x.Args {
		switch {
		case a.Name == nil:
			words = append(words, w.flatten(a.Value))
		case a.Naked:
			words = append(words, literal(a.Name.Value))
		default:
			_, value := w.assignment(a)
			words = append(words, value)
		}
	}
	w.add(w.readCommand(words, nil, w.readContext), x)
}
