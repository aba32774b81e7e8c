package policy

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"codex-bridge/bridge/rules"
	"codex-bridge/rpc"
)

// ToolCall is a tool call that Codex is about to run, as it describes it to a hook:
// every call, also one that nobody is asked about.
type ToolCall struct {
	ID    string    // of the call
	Name  string    // Bash, apply_patch, mcp__SERVER__TOOL, a dynamic tool's own
	Input rpc.Value // {"command": …} for Bash and apply_patch
	Cwd   string
	Model string // that makes the call; "" unknown
	// Shell is the shell that runs a command, "bash", "zsh" or "sh"; "" unknown. Flags are
	// its flags where the call gives them. A hook is not told them: the model's call says.
	Shell, Flags string
}

// DecideTool holds a tool call to the rules and to policy.escalation: Deny, or Pass
// with or without Decision.Ask. What the rules want asked is denied where nobody is.
//
// Whether the command will leave the sandbox a hook does not tell (measured). A call
// that does is asked about, and the rules for those are held to then; here counts
// what the thread's sandbox is.
func (p *Policy) DecideTool(t ToolCall, st State) Decision {
	const method = "hook/preToolUse"
	var d Decision
	var m rules.Match
	asks := p.asks(st.Thread)
	if p.rules != nil {
		m = p.toolRuling(t, st)
		switch {
		case m.Decision == rules.Deny:
			d = p.ruledOut(method, m)
		case m.Decision == rules.Ask && !asks:
			m.Why = strings.TrimPrefix(m.Why+"; a rule wants this asked, and nobody is asked in this thread: policy.gate asks where approvalPolicy is not never", "; ")
			d = p.ruledOut(method, m)
		}
	}
	if err := p.modelRefused(t); d.Err == nil && err != nil {
		d = Decision{Verdict: Deny, Err: err}
	}
	if d.Err == nil && st.unverified() {
		d = p.unverifiedCall(method)
	}
	if where := st.turned(); d.Err == nil && where != "" && (t.Name == "Bash" || t.Name == "apply_patch") {
		d = p.letOut(method, leave{ruleRoots, where + " now leads elsewhere, and codex would let that be written; start another thread"})
	}
	if err := p.agentRefused(t, st); d.Err == nil && err != nil {
		d = Decision{Verdict: Deny, Err: err}
	}
	if d.Err == nil {
		line := p.lineLeaves(t, st)
		at := p.toolLeaves(t, st, line)
		if !at.leaves() {
			d = p.ask(t, st, m, line)
			d.Verdict = Pass
			return d
		}
		d = p.letOut(method, at)
	}
	d.Answer = nil
	return d
}

// turned returns a folder that Codex lets the thread's commands write and whose path leads
// elsewhere now, because a link was put into it; "" if there is none.
func (st State) turned() string {
	var folders []string
	if st.Thread != nil {
		folders = slices.Concat([]string{st.Thread.Workspace}, st.Thread.Profile.Roots, st.Thread.Roots, st.Thread.Writable)
	}
	for _, t := range st.Temps {
		folders = append(folders, t.Path)
	}
	for _, folder := range folders {
		if at, err := st.canonical(folder); err != nil || at != folder {
			return folder
		}
	}
	return ""
}

// toolLeaves is why a call leaves the sandbox that must not: where the policy forbids
// it to all, which spares the person a question and tells the model why (of a question
// that is declined it hears no reason: measured), and where Codex would not ask. line is what lineLeaves says.
func (p *Policy) toolLeaves(t ToolCall, st State, line leave) leave {
	text, _ := t.Input.Get("command").Text()
	if line.leaves() && (!p.letsOut || !p.asks(st.Thread)) {
		return line
	}
	switch {
	case t.Name == "apply_patch":
	case t.Name != "Bash" || p.letsOut:
		return leave{}
	case st.Escalation == rules.Escalated:
		return callLeaves(st)
	case !patches(text):
		return leave{}
	}
	if t.Name == "Bash" {
		t.Cwd = patchFolder(text, t.Cwd)
	}
	st.Files = st.patched(text, t.Cwd)
	at := p.filesLeave("item/fileChange/requestApproval", rpc.Value{}, st)
	if !p.letsOut || at.rule == ruleProtected && !p.asks(st.Thread) && !slices.ContainsFunc(st.Files, codexAsks) {
		return at
	}
	return leave{}
}

// maxPatchPlaces bounds the places that patchLeaves looks at.
const maxPatchPlaces = 4096

// lineLeaves is why a shell command leaves the sandbox that names a file in policy.protected_paths to
// change it. The sandbox itself protects those at the top of a workspace alone.
func (p *Policy) lineLeaves(t ToolCall, st State) leave {
	if t.Name != "Bash" || st.Thread == nil || st.EscalationRequested && st.Thread.Sandbox != fullAccess.String() {
		return leave{} // Codex asks about what surely runs outside of the sandbox
	}
	text, _ := t.Input.Get("command").Text()
	dirs := rules.Dirs{Home: st.Home}
	dirs.Cwd, _ = st.canonical(t.Cwd)
	roots := p.allowed(st, st.Thread.Workspace)
	files, tooLong := rules.ChangedFiles(text, t.Shell, dirs)
	if tooLong && slices.ContainsFunc(p.protected, func(names []string) bool { return !governs(names[0]) }) {
		return leave{ruleProtected, "it is too long, or names too much, to tell what it changes in policy.protected_paths"}
	}
	for _, file := range files {
		if p.reachesProtected(file.Path, file.Computed, roots, st) {
			return leave{ruleProtected, "it changes " + file.Path + ", which is in one of policy.protected_paths"}
		}
		if at, err := st.canonical(file.Path); file.Whole && err == nil && p.reachesProtected(at, false, roots, st) {
			return leave{ruleProtected, "it changes " + at + ", which is in one of policy.protected_paths"}
		}
	}
	return p.patchLeaves(text, dirs.Cwd, roots, st)
}

// patchLeaves is why a patch in a shell command leaves the sandbox, in any folder that Codex could
// take from the command.
//
// Measured with Codex 0.169: its own parser reads cd where a shell does not, or reads another folder.
// A vertical tab or a continued line may be between cd and its word; of "sub$(true)" only sub counts,
// and a command may begin with assignments.
func (p *Policy) patchLeaves(command, cwd string, roots []string, st State) leave {
	head := command[:max(strings.LastIndex(command, "*** Begin Patch"), 0)]
	if !patches(command) || !strings.Contains(head, "cd") {
		return leave{}
	}
	words := strings.FieldsFunc(head, func(c rune) bool { return unicode.IsSpace(c) || strings.ContainsRune("\\'\"`$(){};&|<>=", c) })
	files := rules.PatchedFiles(command)
	if len(words)*len(files) > maxPatchPlaces {
		return leave{ruleProtected, "in which folder codex would apply the patch can't be told"}
	}
	for _, file := range files {
		for _, folder := range words {
			if !filepath.IsAbs(folder) {
				folder = filepath.Join(cwd, folder)
			}
			if at := st.canonicalIn(file, folder); p.reachesProtected(at, false, roots, st) {
				return leave{ruleProtected, "it changes " + at + ", which is in one of policy.protected_paths"}
			}
		}
	}
	return leave{}
}

// reachesProtected reports whether path leads into a protected path of a root, which Codex does not
// mount read-only. A relative path is a part of one. A computed one counts for the protected paths that
// are not Codex's own: ordinary scripts remove "$tmp/.git".
func (p *Policy) reachesProtected(path string, computed bool, roots []string, st State) bool {
	seen, top := path, "" // in its root, and in the workspace, at whose top Codex mounts them
	if filepath.IsAbs(path) {
		if path = filepath.Clean(path); !withinAny(roots, path) {
			return false
		}
		seen = inRoot(roots, path)
		if within(st.Thread.Workspace, path) {
			top = path[len(st.Thread.Workspace):]
		}
	}
	topNames := namesOf(top)
	return p.leadsIntoAny(namesOf(seen), func(kept []string) bool {
		return !(computed && governs(kept[0])) && !(beginWith(topNames, kept) && st.Thread.protects(kept))
	})
}

// patches tells whether a shell command holds a patch, which Codex takes out of it and
// asks about by itself. Where it does not look like one here it is judged then.
//
// Measured with Codex 0.169: applypatch is another name of apply_patch.
func patches(command string) bool {
	return (strings.Contains(command, "apply_patch") || strings.Contains(command, "applypatch")) && strings.Contains(command, "*** Begin Patch")
}

// patchFolder returns the folder that the paths of a patch in a shell command start from.
// Measured with Codex 0.169: it takes a patch out of a command that consists of nothing
// else, or of one cd with one word and the patch.
func patchFolder(command, cwd string) string {
	m := patchCd.FindStringSubmatch(command)
	if m == nil {
		return cwd
	}
	folder := m[1] + m[2] + m[3]
	if filepath.IsAbs(folder) {
		return folder
	}
	return filepath.Join(cwd, folder)
}

var patchCd = regexp.MustCompile(`^\s*cd\s+(?:'([^']*)'|"([^"]*)"|([^\s'"]+))\s*&&`)

// codexAsks tells whether Codex asks about a change by itself where it asks about
// those outside its sandbox (measured).
func codexAsks(path string) bool {
	for name := range strings.FieldsFuncSeq(path, func(c rune) bool { return c == '/' || c == '\\' }) {
		if slices.Contains([]string{".git", ".codex", ".agents"}, name) {
			return true
		}
	}
	return false
}

// asks tells whether a person can be asked about any call: Codex does by itself, or the
// bridge in its place.
func (p *Policy) asks(t *Thread) bool {
	return t != nil && (string(t.Approval) == `"untrusted"` || p.gate && string(t.Approval) != `"never"`)
}

func (p *Policy) toolRuling(t ToolCall, st State) rules.Match {
	dirs := rules.Dirs{Home: st.Home, Resolve: st.canonical}
	escalation := rules.Sandboxed
	if st.Thread == nil {
		escalation = rules.EscalationUnknown
	} else {
		dirs.Workspace = st.Thread.Workspace
		if st.Thread.Sandbox == fullAccess.String() {
			escalation = rules.Escalated // there is none
		}
	}
	dirs.Cwd, _ = st.canonical(t.Cwd)
	p.addRoots(&dirs, st)
	text, ok := t.Input.Get("command").Text()
	switch {
	case t.Name == "Bash" && ok:
		return p.rules.Shell(text, t.Shell, escalation, dirs)
	case t.Name == "Bash":
		return p.rules.Shell(unread, "", escalation, dirs)
	case t.Name == "apply_patch":
		var changes []rules.Change
		for _, path := range st.patched(text, t.Cwd) {
			changes = append(changes, rules.Change{Path: path})
		}
		return p.rules.Files(changes, escalation, dirs)
	}
	if rest, ok := strings.CutPrefix(t.Name, "mcp__"); ok {
		server, tool, _ := strings.Cut(rest, "__")
		return p.rules.MCP(server, tool)
	}
	return p.rules.Tool(t.Name)
}

// patched are the canonical paths that a patch names; one that is not known where
// there are none.
func (st State) patched(patch, cwd string) []string {
	var paths []string
	for _, path := range rules.PatchedFiles(patch) {
		paths = append(paths, st.canonicalIn(path, cwd))
	}
	if len(paths) == 0 {
		return []string{""}
	}
	return paths
}

// canonicalIn returns the canonical path of a file whose name is relative to cwd, or the joined path
// if it has no canonical one.
func (st State) canonicalIn(path, cwd string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(cwd, path)
	}
	if at, err := st.canonical(path); err == nil {
		return at
	}
	return path
}
