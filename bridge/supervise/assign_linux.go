//go:build !portable && (amd64 || arm64)

package supervise

import (
	"path"
	"slices"
	"strings"

	"codex-bridge.example/bridge/supervise/enter"
)

// assign returns the tree of a program that is about to start, with the calls that it may belong to, and
// whether its start must be decided.
// at is where the process pid was found; isChild is false if it may be another's child.
//
// The first process is Codex or becomes it, or starts it: npm's codex is a script. Then the process that
// starts the bridge's hooks is Codex.
func (s *Supervisor) assign(at place, pid int, isChild bool, c candidate) (to *tree, of []Call, judged bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := at.tree
	if was != nil && was.kind != command && !isChild {
		was = nil
	}
	to, judged = s.assignLocked(was, pid, at.pid, c)
	return to, to.calls, judged
}

func (s *Supervisor) assignLocked(was *tree, pid, starter int, c candidate) (to *tree, judged bool) {
	words := c.words()
	switch {
	case was == nil && pid == s.first:
		s.first = 0 // its id may be used again when it has ended
		return s.codex, false
	case was == s.codex && pid == starter:
		return s.codex, false
	case was == nil:
		return &tree{kind: command}, true
	case was.kind == command:
		return was, !was.becomesShell(pid, c)
	case was.kind == sandbox:
		if found := s.calls.find(c); found != nil {
			was.open(found, pid, c)
			s.processes.begin(pid, was)
			return was, false
		}
		if isSandbox(c) {
			return was, false
		}
		return &tree{kind: command}, true
	case was.kind == own && !s.runsHook(words):
		return was, false
	case was.kind == own:
		s.processes.move(starter, s.codex)
	}
	// Codex itself starts it.
	if found := s.calls.find(c); found != nil {
		to := new(tree)
		to.open(found, pid, c)
		s.processes.begin(pid, to)
		return to, false
	}
	switch {
	case c.unreadable != "":
		return &tree{kind: command}, true
	case s.runsHook(words):
		s.holds = true
		return &tree{kind: own}, false
	case isSandbox(c) && (!isBubblewrap(c) || isOfCommand(c)): // an MCP server may have a bwrap of its own
		return &tree{kind: sandbox}, false
	case runsLine(c) && isOfCommand(c):
		return &tree{kind: command}, false
	}
	return &tree{kind: own}, false
}

// open makes t the tree of calls that the process pid begins with the program c.
func (t *tree) open(of []Call, pid int, c candidate) {
	words := c.words()
	t.kind, t.calls, t.shell = command, of, pid
	t.becomes = !hasLine(of, words[len(words)-1])
}

// becomesShell reports whether the first process of t becomes the shell with the line of the call, once. Codex starts
// the user's shell with a text of its own before that one, if it keeps a snapshot of the user's settings.
func (t *tree) becomesShell(pid int, c candidate) bool {
	words := c.words()
	if pid != t.shell || !t.becomes || len(words) != 3 || words[1] != "-c" || !hasLine(t.calls, words[2]) {
		return false
	}
	p := c.programs[0]
	t.becomes = p.File == "" || !isShell(p.Path) || !isShell(p.File) || !isShell(words[0])
	return !t.becomes
}

// hasLine reports whether a line is that of one of the calls.
func hasLine(of []Call, line string) bool {
	return slices.ContainsFunc(of, func(one Call) bool { return one.Line == line })
}

// kindOf returns the kind of a tree; false if t is nil. A tree of kind command or own keeps it.
func (s *Supervisor) kindOf(t *tree) (k kind, ok bool) {
	if t == nil {
		return 0, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return t.kind, true
}

// runsHook reports whether words are the bridge's own hook, which only Codex starts.
func (s *Supervisor) runsHook(words []string) bool {
	return s.options.IsHook != nil && len(words) > 0 && s.options.IsHook(words[len(words)-1])
}

// isSandbox reports whether a program is one with which Codex makes a sandbox.
func isSandbox(c candidate) bool {
	if len(c.programs) == 0 {
		return false
	}
	p := c.programs[0]
	return isBubblewrap(c) || path.Base(p.Path) == "codex-linux-sandbox" || len(p.Args) > 0 && path.Base(p.Args[0]) == "codex-linux-sandbox" ||
		slices.ContainsFunc(p.Args, func(arg string) bool { return strings.HasPrefix(arg, "--codex-run-as-") })
}

// isBubblewrap reports whether a program is bwrap. Codex starts one of its own by a descriptor (measured with Codex
// 0.171).
func isBubblewrap(c candidate) bool {
	return len(c.programs) > 0 && (path.Base(c.programs[0].Path) == "bwrap" || path.Base(c.programs[0].File) == "bwrap")
}

// isOfCommand reports whether a program has the environment of a command.
func isOfCommand(c candidate) bool { return slices.ContainsFunc(c.env, isCommandVariable) }

// minCommand is the least number of words of a command, such as sh -c LINE.
const minCommand = 3

// shells are the names of programs that Codex gives a line.
var shells = []string{"bash", "sh", "zsh", "dash", "ash", "ksh", "mksh", "fish", "pwsh", "csh", "tcsh", "nu", "elvish", "busybox"}

// runsLine reports whether a program is a shell that gets a line.
func runsLine(c candidate) bool {
	return len(c.words()) >= minCommand && slices.ContainsFunc(c.programs, func(p Program) bool {
		return slices.ContainsFunc([]string{p.Path, p.File, p.Args[0]}, isShell)
	})
}

// isShell reports whether a program with a name is a shell.
func isShell(name string) bool {
	return slices.Contains(shells, strings.TrimPrefix(path.Base(name), "-"))
}

// calls are the announced calls, the latest last.
type calls struct{ all []Call }

// maxCalls is how many calls are kept: Codex may start a line again, outside of its sandbox.
const maxCalls = 4096

// Announce tells the Supervisor of a call that Codex is about to run.
func (s *Supervisor) Announce(c Call) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.calls.all) == maxCalls {
		s.calls.all = slices.Delete(s.calls.all, 0, maxCalls/2)
	}
	s.calls.all = append(s.calls.all, c)
}

// callVariable is the variable in which Codex gives a command the id of its call (measured with Codex
// 0.171). The programs of a command may change it, so it counts only where Codex itself starts the program.
const callVariable = "CODEX_TOOL_CALL_ID="

// commandVariables are set by Codex for each command, after the filters of its configuration, and not for hooks of the
// user or for the shell that it takes a snapshot of (measured with Codex 0.166 and 0.171).
var commandVariables = []string{callVariable, "CODEX_THREAD_ID=", "CODEX_SESSION_ID=", "CODEX_CI="}

// isCommandVariable reports whether a variable is one of a command.
func isCommandVariable(variable string) bool {
	return slices.ContainsFunc(commandVariables, func(name string) bool { return strings.HasPrefix(variable, name) })
}

// find returns the latest call of each thread that starts a program by Codex, and nil if there is none: the
// call with the id in its environment, or else one with the line of a shell.
func (c *calls) find(of candidate) (found []Call) {
	words, id := of.words(), ""
	for _, variable := range of.env {
		if value, ok := strings.CutPrefix(variable, callVariable); ok {
			id = value
		}
	}
	if len(words) < minCommand || isSandbox(of) {
		return nil
	}
	line := words[len(words)-1]
	for _, one := range slices.Backward(c.all) {
		if (one.Line == line || id != "") && (id == "" || one.ID == id) && !slices.ContainsFunc(found, func(other Call) bool { return other.Thread == one.Thread }) {
			found = append(found, one)
		}
	}
	return found
}

// abiOf returns the interface of a call, and whether it is execveat.
func abiOf(n *notification) (abi enter.ABI, isAt, ok bool) {
	for _, one := range enter.ABIs {
		if one.Arch == n.arch && (one.Exec == n.call || one.ExecAt == n.call) {
			return one, one.ExecAt == n.call, true
		}
	}
	return enter.ABI{}, false, false
}
