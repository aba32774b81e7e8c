package rules

import (
	"cmp"
	"iter"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Shell decides a command line for a shell: "bash", "sh", "zsh" and so on, or "" if the shell is
// unknown. The strictest decision of all parts counts. The line is allowed only if it is in the
// grammar of plain.go, the shell is known to read the grammar, and rules allow each part.
func (s *Set) Shell(command, shell string, e Escalation, dirs Dirs) Match {
	l := readLine(command, shell, dirs)
	l.changesFolder = l.changesFolder || changesFolderOfPatch(command)
	l.programStarts = dirs.ProgramStarts
	return s.decideLine(l, e, dirs)
}

// Argv decides an argument vector, which no shell reads. A shell in it is read as in a line.
func (s *Set) Argv(argv []string, e Escalation, dirs Dirs) Match {
	r := reader{line: newLine(dirs)}
	text := strings.Join(argv, " ")
	var n *node
	if problem := unreadableReason(text); problem != "" {
		n = r.line.opaqueNode(text, problem)
	} else {
		n = r.readCommand(literals(argv), nil, readContext{shell: shellDialects["bash"]})
		n.text = text
	}
	r.line.nodes, r.line.programStarts = []*node{n}, dirs.ProgramStarts
	r.line.finish(text)
	return s.decideLine(r.line, e, dirs)
}

// newLine returns an empty line that starts in dirs.Cwd.
func newLine(dirs Dirs) *line {
	l := &line{cwd: filepath.ToSlash(dirs.Cwd), home: filepath.ToSlash(dirs.Home)}
	if workspace := filepath.ToSlash(dirs.Workspace); workspace != "" {
		if rest, ok := relativeTo(workspace, l.cwd); ok {
			l.relFolder = path.Clean("./" + rest)
		}
	}
	return l
}

// outsideReason returns why no command is allowed in the folder of a line; "" if some may be. In
// another folder, a program such as make uses the files of that folder.
func (d Dirs) outsideReason() string {
	cwd := filepath.ToSlash(d.Cwd)
	if cwd == "" {
		return "the folder that it runs in is not known"
	}
	if _, ok := relativeTo(filepath.ToSlash(d.Workspace), cwd); ok && d.Workspace != "" {
		return ""
	}
	for _, root := range d.Roots {
		if _, ok := relativeTo(filepath.ToSlash(root), cwd); ok {
			return ""
		}
	}
	return "it runs in " + cwd + ", outside the workspace and the writable roots"
}

// decideLine decides a line from its nodes and file accesses.
func (s *Set) decideLine(l *line, e Escalation, dirs Dirs) Match {
	var best, allowed Match
	refused := cmp.Or(l.outsideGrammar, l.noAllow, dirs.outsideReason())
	all := refused == ""
	for _, n := range l.nodes {
		v := s.decideNode(l, n, n.text, e)
		all = all && v.allowed
		if v.Decision == Allow {
			if allowed.Rule == nil {
				allowed = v.Match
			}
			best.addExceptions(v.Exceptions)
			continue
		}
		best.tighten(v.Match)
		if best.Decision == Deny {
			return best
		}
	}
	unwritable := ""
	for _, w := range l.accesses {
		if !w.read {
			best.tighten(s.decideWrite(l, w, e, dirs))
		}
		if unwritable == "" && all {
			m := s.matchAccess(l, w, e, dirs)
			if best.addExceptions(m.Exceptions); m.Decision != Allow {
				unwritable = w.text
			}
		}
	}
	switch {
	case best.Decision != None:
	case refused != "":
		best.Why = "nothing here can be allowed: " + refused
	case all && unwritable != "":
		best.Part, best.Why = unwritable, "no rule allows this file"
	case all && allowed.Rule != nil:
		allowed.Exceptions = best.Exceptions
		return allowed
	}
	return best
}

// matchAccess returns the rule that allows the file of a redirection. Outside the sandbox no rule
// does, because a link could replace the file.
func (s *Set) matchAccess(l *line, w fileAccess, e Escalation, dirs Dirs) Match {
	if e != Sandboxed || w.target.kind != known || hasParent(w.target.text) || dirs.Readings == nil {
		return Match{}
	}
	file := w.target.text
	if !filepath.IsAbs(file) {
		if l.changesFolder || dirs.Cwd == "" {
			return Match{}
		}
		file = filepath.Join(dirs.Cwd, file)
	}
	found, err := dirs.Readings(file)
	if err != nil {
		return Match{}
	}
	changes := make([]Change, len(found))
	for i := range found {
		changes[i].Path = found[i]
	}
	return s.Files(changes, e, dirs)
}

// verdict is the decision on a command and the commands that it runs.
type verdict struct {
	Match
	allowed bool // rules allow all of it
	opaque  bool // a part of it is unknown
}

// decideNode decides a command and the commands that it runs. text is shown for commands without a
// text of their own.
func (s *Set) decideNode(l *line, n *node, text string, e Escalation) verdict {
	if n.text != "" {
		text = n.text
	}
	v := verdict{Match: s.decideOwnWords(l, n, e), opaque: n.opaque != ""}
	v.setPart(text)
	if v.Decision > Allow {
		v.Why = matchReason(n)
	}
	own, first := v.Match, Match{}
	all := len(n.children) > 0
	for _, kid := range n.children {
		if v.Decision == Deny {
			return v
		}
		k := s.decideNode(l, kid, text, e)
		all = all && k.allowed
		v.opaque = v.opaque || k.opaque
		if k.Decision > Allow {
			v.tighten(k.Match)
			continue
		}
		v.addExceptions(k.Exceptions)
		if k.Decision == Allow && first.Rule == nil {
			first = k.Match
		}
	}
	if v.Decision > Allow {
		return v
	}
	used := v.Exceptions
	v.Match = Match{}
	switch {
	case v.opaque:
	case own.Decision == Allow && (!n.needsBoth || all):
		v.Match, v.allowed = own, true
	case n.transparent && all && n.unsafeAssignment == "":
		v.Match, v.allowed = first, true
	}
	v.Exceptions = used
	return v
}

// decideOwnWords decides a command by its own words.
func (s *Set) decideOwnWords(l *line, n *node, e Escalation) Match {
	known, key := n.opaque == "" && len(n.words) > 0 && n.words[0].kind == known, ""
	if known {
		key = n.words[0].key()
	}
	var asking []*rule
	m := s.decide(e, func(l *layer) iter.Seq[int] {
		return l.shell.forName(key, known)
	}, func(r *rule) certainty {
		switch {
		case r.decision == Allow && r.allows(l, n):
			return certainMatch
		case r.decision == Allow:
			return noMatch
		case !l.programStarts:
			return r.restricts(n)
		}
		c := r.restrictsStarting(n)
		if r.decision == Ask && c != noMatch {
			asking = append(asking, r)
		}
		return c
	})
	for _, r := range asking {
		if slices.Contains(m.Asking, r.source) {
			m.addAsked([]AskedCommand{{Words: r.askedWords(n), Rule: r.source}})
		}
	}
	return m
}

// restricts reports how surely a deny or ask rule matches a command.
func (r *rule) restricts(n *node) certainty {
	if n.opaque != "" || len(r.assignments) == 0 {
		return r.matchWords(n)
	}
	for i := range r.assignments {
		if !slices.ContainsFunc(n.assignments, func(a assignment) bool { return r.assignments[i].possible(&a.word) }) {
			return noMatch
		}
	}
	if len(r.words) == 0 || r.possible(n) {
		return possibleMatch
	}
	return noMatch
}

// allows reports whether an allow rule matches a command.
func (r *rule) allows(l *line, n *node) bool {
	if n.opaque != "" || l.noAllow != "" || l.outsideGrammar != "" || len(n.words) == 0 || len(r.words) == 0 {
		return false
	}
	if len(r.assignments) > 0 {
		if len(r.assignments) != len(n.assignments) {
			return false
		}
		for i := range r.assignments {
			if !r.assignments[i].certain(&n.assignments[i].word) {
				return false
			}
		}
	} else if n.unsafeAssignment != "" {
		return false
	}
	head, name := &r.words[0], &n.words[0]
	switch {
	case n.script != "" && !filepath.IsAbs(n.script) && (l.changesFolder || l.relFolder != "."):
		return false // a rule's script is relative to the workspace
	case n.wrapper && head.kind != literalWord:
		return false
	case head.kind == restOfWords:
		return !strings.ContainsAny(name.text, `/\`) && r.certain(n)
	case !strings.Contains(name.text, "/") || filepath.IsAbs(name.text) || strings.HasPrefix(name.text, "/"):
		return head.matchesAllowedName(name) && r.certain(n)
	}
	// The relative path of a rule is relative to the workspace.
	return !l.changesFolder && l.relFolder != "" && head.matchesRelativePath(l.relFolder, name.text) && matchSequence(r.words[1:], n.words[1:], false)
}

// couldMatch follows the reason for a possible match.
const couldMatch = ", so a rule that could match decides"

// matchReason returns why a rule matches a command whose words differ; "" if they do not differ.
func matchReason(n *node) string {
	switch {
	case n.opaque != "":
		return n.opaque + couldMatch
	case !n.allKnown:
		return "a part of it is only known when it runs" + couldMatch
	}
	return ""
}

// hasParentBehindName reports whether a path has ".." behind a name. If the name is a link, such a
// path leads to another folder than its text says.
func hasParentBehindName(file string) bool {
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

// decideWrite decides a redirection or a patch by the path rules, with the path as written and by each
// of its readings. The target is known only if it is literal and its folder is known.
func (s *Set) decideWrite(l *line, w fileAccess, e Escalation, dirs Dirs) Match {
	target, isKnown, last := "", true, ""
	switch t := w.target; {
	case hasParentBehindName(t.text + t.suffix):
		isKnown, last = false, path.Base(filepath.ToSlash(t.text+t.suffix))
	case t.kind == known && path.IsAbs(filepath.ToSlash(t.text)):
		target = t.text
	case t.underHome && dirs.Home != "":
		target = dirs.Home + t.suffix
	case t.kind == known && dirs.Cwd != "" && !l.changesFolder:
		target = dirs.Cwd + "/" + t.text
	default:
		isKnown = false
		if last = t.text; t.kind != known {
			last = t.suffix
		}
		last = last[strings.LastIndexByte(last, '/')+1:]
	}
	if isInputName(last) {
		last = "" // in /proc, it may lead to a file with any name
	}
	var found []string
	if isKnown {
		spelled := target
		target = path.Clean(filepath.ToSlash(target))
		switch {
		case l.isOtherFile(target):
			isKnown = false
		case outputs[target] && w.target.kind == known:
			return Match{}
		case dirs.Readings != nil && !isOutput(target): // an output of the bridge is another one
			var err error
			found, err = dirs.Readings(spelled)
			isKnown = err == nil
		}
	}
	m := s.decide(e, func(l *layer) iter.Seq[int] { return slices.Values(l.paths) }, func(r *rule) certainty {
		if !r.redirections {
			return noMatch
		}
		if !isKnown {
			return r.path.mayEndWith(last)
		}
		matches := r.path.match(target, dirs)
		for _, at := range found {
			matches = max(matches, r.path.match(filepath.ToSlash(at), dirs))
		}
		return min(matches, possibleMatch)
	})
	if m.Decision != None {
		m.Part = w.text
		if !isKnown {
			m.Why = cmp.Or(w.why, "the file that it writes is only known when it runs") + couldMatch
		}
	}
	return m
}
