package rules

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// walker goes through the syntax of one text. Commands in substitutions,
// bodies and here-documents are met on the way, wherever they stand.
type walker struct {
	*reader
	context
	lang   syntax.LangVariant
	source string
	nodes  []*node
}

func (w *walker) flat(word *syntax.Word) word {
	if word == nil {
		return literal("")
	}
	return flatten(word.Parts, w.lang)
}

func (w *walker) slice(from, to syntax.Pos) string {
	a, b := int(from.Offset()), int(to.Offset())
	if a > b || b > len(w.source) {
		return w.source
	}
	return w.source[a:b]
}

func (w *walker) add(n *node, at syntax.Node) {
	if w.line.size > maxNodes+1 {
		return // the first one too many says all
	}
	if n.text == "" {
		n.text = w.slice(at.Pos(), at.End())
	}
	w.nodes = append(w.nodes, n)
}

func (w *walker) visit(at syntax.Node) bool {
	switch x := at.(type) {
	case *syntax.Stmt:
		for _, redirect := range x.Redirs {
			w.redirect(redirect)
		}
		switch cmd := x.Cmd.(type) {
		case *syntax.CallExpr:
			w.call(cmd, x.Redirs)
		case nil:
			w.add(&node{}, x) // redirections alone
		}
	case *syntax.DeclClause:
		w.declare(x)
	case *syntax.WordIter:
		w.line.set(x.Name.Value)
		for _, item := range x.Items {
			w.foreign(w.flat(item), x)
		}
	case *syntax.TimeClause:
		w.add(&node{words: []word{literal("time"), {kind: many}}}, x)
	case *syntax.CoprocClause:
		w.add(&node{words: []word{literal("coproc"), {kind: many}}}, x)
	case *syntax.LetClause:
		w.line.bar(arithmetic)
		w.line.holds(w.slice(x.Pos(), x.End()), "`")
	case *syntax.CStyleLoop:
		w.line.bar(arithmetic)
	case *syntax.ArithmCmd:
		w.numeric(x.X)
	case *syntax.ArithmExp:
		w.numeric(x.X)
	case *syntax.Assign:
		w.numeric(x.Index)
		if x.Name != nil && (tables[x.Name.Value] || runs(x.Name.Value, "")) {
			w.add(opaqueNode("", "it sets "+x.Name.Value+", which makes a shell run something"), x)
		}
	case *syntax.ArrayElem:
		w.numeric(x.Index)
		w.foreign(w.flat(x.Value), x)
	case *syntax.BinaryTest:
		if x.Op >= syntax.TsEql && x.Op <= syntax.TsGtr {
			w.line.bar(arithmetic)
			w.line.holds(w.slice(x.Pos(), x.End()), "`")
		}
	case *syntax.UnaryTest:
		if x.Op == syntax.TsVarSet || x.Op == syntax.TsRefVar {
			w.line.bar(arithmetic)
			w.line.holds(w.slice(x.Pos(), x.End()), "`")
		}
	case *syntax.ParamExp:
		w.parameter(x)
	}
	return true
}

// foreign notes a word that makes a shell run what can't be seen. Those of
// commands are noted with the command.
func (w *walker) foreign(word word, at syntax.Node) {
	if word.foreign != "" {
		w.add(opaqueNode("", word.foreign), at)
	}
}

// A shell evaluates the values of variables in arithmetic and in subscripts,
// command substitutions in them included: x='a[$(id)]'; echo $((x)).
const arithmetic = "arithmetic may run what a variable holds"

func (w *walker) numeric(x syntax.ArithmExpr) {
	if x == nil {
		return
	}
	syntax.Walk(x, func(n syntax.Node) bool {
		if word, ok := n.(*syntax.Word); ok && strings.Trim(word.Lit(), "0123456789") != "" && word.Lit() != "@" && word.Lit() != "*" || ok && word.Lit() == "" {
			w.line.bar(arithmetic)
		}
		return true
	})
}

func (w *walker) parameter(x *syntax.ParamExp) {
	w.numeric(x.Index)
	if x.Slice != nil {
		w.numeric(x.Slice.Offset)
		w.numeric(x.Slice.Length)
	}
	if x.Excl && x.Names == 0 || x.Flags != nil {
		w.line.bar("a variable is read by way of another")
	}
	if x.Exp == nil {
		return
	}
	switch x.Exp.Op {
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		if x.Param != nil {
			w.line.set(x.Param.Value)
		}
	case syntax.OtherParamOps:
		w.line.bar("a variable's value is expanded again")
	}
}

func (w *walker) call(x *syntax.CallExpr, redirects []*syntax.Redirect) {
	assigns := make([]assign, 0, len(x.Assigns))
	for _, a := range x.Assigns {
		name, value := w.assignment(a)
		w.foreign(value, a)
		assigns = append(assigns, assign{name, value})
	}
	if len(x.Args) == 0 {
		n := w.command(nil, assigns, w.context)
		for _, a := range assigns {
			w.line.set(a.name)
		}
		w.add(n, x)
		return
	}
	words := make([]word, len(x.Args))
	for i, arg := range x.Args {
		words[i] = w.flat(arg)
	}
	c := w.context
	c.stdin = w.stdin(redirects)
	w.add(w.command(words, assigns, c), x)
}

func (w *walker) assignment(a *syntax.Assign) (string, word) {
	if a.Name == nil {
		return "", w.flat(a.Value)
	}
	name := a.Name.Value
	if a.Array != nil {
		return name, word{kind: single, pre: name + "="}
	}
	value := w.flat(a.Value)
	if value.kind == known {
		return name, literal(name + "=" + value.text)
	}
	return name, word{kind: single, pre: name + "=" + value.pre, suf: value.suf, foreign: value.foreign}
}

// stdin is the text of a here-document, when all of it is known.
func (w *walker) stdin(redirects []*syntax.Redirect) *string {
	var text *string
	for _, x := range redirects {
		var value word
		switch x.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			if x.Hdoc == nil {
				break // it is empty
			}
			if !plainText(x.Hdoc) || w.flat(x.Word).kind != known {
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
			value = w.flat(x.Word)
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

// plainText says whether a here-document holds nothing that the shell changes:
// whether it would depends on how its end is written.
func plainText(hdoc *syntax.Word) bool {
	for _, part := range hdoc.Parts {
		if lit, ok := part.(*syntax.Lit); !ok || strings.Contains(lit.Value, `\`) {
			return false
		}
	}
	return true
}

// sinks are where output goes without being kept.
var sinks = setOf("/dev/null", "/dev/stdout", "/dev/stderr")

func (w *walker) redirect(x *syntax.Redirect) {
	if x.N != nil && strings.HasPrefix(x.N.Value, "{") {
		w.line.set(strings.Trim(x.N.Value, "{}"))
	}
	target := w.flat(x.Word)
	w.foreign(target, x)
	switch x.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		if x.Hdoc != nil {
			w.line.holds(x.Hdoc.Lit(), "`")
		}
		return
	case syntax.WordHdoc:
		w.line.holds(target.begin(), "`")
		return
	case syntax.RdrIn, syntax.DplIn:
		// bash opens a connection for these, and any name may be one of them.
		if target.kind != known && !target.source || strings.HasPrefix(target.text, "/dev/") && !sinks[target.text] {
			w.line.bar("it reads from what may be a connection")
		}
		return
	case syntax.DplOut:
		if target.kind == known && strings.Trim(target.text, "0123456789-") == "" {
			return
		}
	}
	if target.kind == known && sinks[target.text] || target.source {
		return
	}
	w.line.write(write{text: w.slice(x.Pos(), x.Word.End()), target: target})
}

// declare is export, declare, local and the like.
func (w *walker) declare(x *syntax.DeclClause) {
	words := []word{literal(x.Variant.Value)}
	for _, a := range x.Args {
		switch {
		case a.Name == nil:
			words = append(words, w.flat(a.Value))
		case a.Naked:
			words = append(words, literal(a.Name.Value))
		default:
			_, value := w.assignment(a)
			words = append(words, value)
		}
	}
	w.add(w.command(words, nil, w.context), x)
}
