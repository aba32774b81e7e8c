package rules

import (
	"cmp"
	"iter"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Shell decides a command line that the shell of that name is given: "bash", "sh", "zsh"
// …, "" if it is not known. The line is denied if any part of it is, and asked about if
// any part is. It is allowed only if it is in the grammar of plain.go, the shell is one
// that is known to read the grammar so, and rules allow each part.
func (s *Set) Shell(command, shell string, e Escalation, dirs Dirs) Match {
	r := reader{line: newLine(dirs)}
	r.line.nodes = r.text(command, context{shell: dialectOf(shell)})
	return s.line(r.line, command, e, dirs)
}

// Argv decides an argument vector, which no shell has to read. One that starts
// a shell is opened as it would be in a line.
func (s *Set) Argv(argv []string, e Escalation, dirs Dirs) Match {
	r := reader{line: newLine(dirs)}
	text := strings.Join(argv, " ")
	var n *node
	if fault := legible(text); fault != "" {
		n = opaqueNode(text, fault)
	} else {
		n = r.command(literals(argv), nil, context{shell: shells["bash"]})
		n.text = text
	}
	r.line.nodes = []*node{n}
	return s.line(r.line, text, e, dirs)
}

func newLine(dirs Dirs) *line {
	l := new(line)
	if workspace := filepath.ToSlash(dirs.Workspace); workspace != "" {
		if rest, ok := below(workspace, filepath.ToSlash(dirs.Cwd)); ok {
			l.folder = path.Clean("./" + rest)
		}
	}
	return l
}

// elsewhere is why no command is allowed in the folder of a line; "" some may be. A plain
// program does in another folder what the files there say, as make does.
func (d Dirs) elsewhere() string {
	cwd := filepath.ToSlash(d.Cwd)
	if cwd == "" {
		return "the folder that it runs in is not known"
	}
	if _, ok := below(filepath.ToSlash(d.Workspace), cwd); ok && d.Workspace != "" {
		return ""
	}
	for _, root := range d.Roots {
		if _, ok := below(filepath.ToSlash(root), cwd); ok {
			return ""
		}
	}
	return "it runs in " + cwd + ", outside of the workspace and the writable roots"
}

func (s *Set) line(l *line, text string, e Escalation, dirs Dirs) Match {
	if l.barrier != "" && l.hidden {
		l.nodes = append(l.nodes, opaqueNode(text, l.barrier+", and the line holds a command as a text"))
	}
	if len(l.nodes) == 0 {
		l.nodes = []*node{{text: text, literal: true}}
	}
	var best, allowed Match
	refused := cmp.Or(l.outside, l.barrier, dirs.elsewhere())
	all := refused == ""
	for _, n := range l.nodes {
		v := s.node(l, n, n.text, e)
		all = all && v.allowed
		if v.Decision == Allow {
			if allowed.Rule == nil {
				allowed = v.Match
			}
			continue
		}
		best.stricter(v.Match)
		if best.Decision == Deny {
			return best
		}
	}
	unwritable := ""
	for _, w := range l.writes {
		if !w.read {
			best.stricter(s.write(l, w, e, dirs))
		}
		if unwritable == "" && all && !s.redirects(l, w, e, dirs) {
			unwritable = w.text
		}
	}
	switch {
	case best.Decision != None:
		return best
	case refused != "":
		return Match{Why: "nothing here can be allowed: " + refused}
	case all && unwritable != "":
		return Match{Part: unwritable, Why: "no rule allows this file"}
	case all && allowed.Rule != nil:
		return allowed
	}
	return Match{}
}

// redirects reports whether rules allow the file of a redirection. Outside of the
// sandbox none does: a link could be put in its place.
func (s *Set) redirects(l *line, w write, e Escalation, dirs Dirs) bool {
	if e != Sandboxed || w.target.kind != known || climbs(w.target.text) || dirs.Resolve == nil {
		return false
	}
	file := w.target.text
	if !filepath.IsAbs(file) {
		if l.moved || dirs.Cwd == "" {
			return false
		}
		file = filepath.Join(dirs.Cwd, file)
	}
	file, err := dirs.Resolve(file)
	return err == nil && s.Files([]Change{{Path: file}}, e, dirs).Decision == Allow
}

// verdict is what the rules say of a command and of what it runs.
type verdict struct {
	Match
	allowed bool // all of it
	opaque  bool // some of it is not known
}

func (s *Set) node(l *line, n *node, text string, e Escalation) verdict {
	if n.text != "" {
		text = n.text
	}
	v := verdict{Match: s.own(l, n, e), opaque: n.opaque != ""}
	v.Part = text
	if v.Decision > Allow {
		v.Why = why(n)
	}
	own, first := v.Match, Match{}
	all := len(n.kids) > 0
	for _, kid := range n.kids {
		if v.Decision == Deny {
			return v
		}
		k := s.node(l, kid, text, e)
		all = all && k.allowed
		v.opaque = v.opaque || k.opaque
		if k.Decision > Allow {
			v.stricter(k.Match)
		} else if k.Decision == Allow && first.Rule == nil {
			first = k.Match
		}
	}
	if v.Decision > Allow {
		return v
	}
	v.Match = Match{}
	switch {
	case v.opaque:
	case own.Decision == Allow && (!n.both || all):
		v.Match, v.allowed = own, true
	case n.clear && all && n.unsafe == "":
		v.Match, v.allowed = first, true
	}
	return v
}

// own is what the rules say of a command's own words.
func (s *Set) own(l *line, n *node, e Escalation) Match {
	known, key := n.opaque == "" && len(n.words) > 0 && n.words[0].kind == known, ""
	if known {
		key = n.words[0].key()
	}
	return s.decide(e, func(l *layer) iter.Seq[int] {
		return l.shell.of(key, known)
	}, func(r *rule) certainty {
		if r.decision == Allow {
			if r.allows(l, n) {
				return sure
			}
			return no
		}
		return r.speaks(n)
	})
}

// speaks is for deny and ask rules.
func (r *rule) speaks(n *node) certainty {
	if n.opaque != "" || len(r.assigns) == 0 {
		return r.matchWords(n)
	}
	for i := range r.assigns {
		if !slices.ContainsFunc(n.assigns, func(a assign) bool { return r.assigns[i].possible(&a.word) }) {
			return no
		}
	}
	if len(r.words) == 0 || r.possible(n) {
		return could
	}
	return no
}

// allows is for allow rules.
func (r *rule) allows(l *line, n *node) bool {
	if n.opaque != "" || l.barrier != "" || l.outside != "" || len(n.words) == 0 || len(r.words) == 0 {
		return false
	}
	if len(r.assigns) > 0 {
		if len(r.assigns) != len(n.assigns) {
			return false
		}
		for i := range r.assigns {
			if !r.assigns[i].certain(&n.assigns[i].word) {
				return false
			}
		}
	} else if n.unsafe != "" {
		return false
	}
	head, name := &r.words[0], &n.words[0]
	switch {
	case n.script != "" && !filepath.IsAbs(n.script) && (l.moved || l.folder != "."):
		return false // a rule's script is one of the workspace
	case n.wrapper && head.kind != literalWord:
		return false
	case head.kind == restOfWords:
		return !strings.ContainsAny(name.text, `/\`) && r.certain(n)
	case !strings.Contains(name.text, "/") || filepath.IsAbs(name.text) || strings.HasPrefix(name.text, "/"):
		return head.command(name) && r.certain(n)
	}
	// A rule's relative path is one of the workspace.
	return !l.moved && l.folder != "" && head.below(l.folder, name.text) && lead(r.words[1:], n.words[1:], false)
}

// why tells what made a rule match that does not match word by word.
func why(n *node) string {
	says := "a rule that could match decides"
	switch {
	case n.opaque != "":
		return n.opaque + ", so " + says
	case !n.literal:
		return "a part of it is only known when it runs, so " + says
	}
	return ""
}

// climbsBack reports whether a path goes up again behind a name. If the name is
// a link, such a path leads to another folder than its spelling says.
func climbsBack(file string) bool {
	named := false
	for part := range strings.SplitSeq(filepath.ToSlash(file), "/") {
		switch {
		case part == ".." && named:
			return true
		case part != "" && part != "." && part != "..":
			named = true
		}
	}
	return false
}

// write is what the path rules say of a redirection or a patch: only a target that is written
// out is known, and that only as long as the folder is. It counts as it is spelled, and with its
// links resolved.
func (s *Set) write(l *line, w write, e Escalation, dirs Dirs) Match {
	target, clear, last := "", true, ""
	switch t := w.target; {
	case climbsBack(t.text + t.suf):
		clear, last = false, path.Base(filepath.ToSlash(t.text+t.suf))
	case t.kind == known && path.IsAbs(filepath.ToSlash(t.text)):
		target = t.text
	case t.home && dirs.Home != "":
		target = dirs.Home + t.suf
	case t.kind == known && dirs.Cwd != "" && !l.moved:
		target = dirs.Cwd + "/" + t.text
	default:
		clear = false
		if last = t.text; t.kind != known {
			last = t.suf
		}
		last = last[strings.LastIndexByte(last, '/')+1:]
	}
	if last == "." || last == ".." {
		last = ""
	}
	leads := ""
	if clear {
		spelled := target
		target = path.Clean(filepath.ToSlash(target))
		leads = target
		if dirs.Resolve != nil {
			at, err := dirs.Resolve(spelled)
			leads, clear = filepath.ToSlash(at), err == nil
		}
	}
	m := s.decide(e, func(l *layer) iter.Seq[int] { return slices.Values(l.paths) }, func(r *rule) certainty {
		if !r.writes {
			return no
		}
		if !clear {
			return r.path.ends(last)
		}
		found := r.path.match(target, dirs)
		if leads != target {
			found = max(found, r.path.match(leads, dirs))
		}
		return min(found, could)
	})
	if m.Decision != None {
		m.Part = w.text
		if !clear {
			m.Why = "where it writes is only known when it runs, so a rule that could match decides"
		}
	}
	return m
}
