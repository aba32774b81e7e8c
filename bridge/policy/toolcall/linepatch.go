package toolcall

import (
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/rules"
)

const (
	// maxPatchPlaces bounds the pairs of folder and file that patchPlaces returns.
	maxPatchPlaces = 4096
	// maxLineWork bounds the work to resolve the paths of a command line: the sum of the squares of
	// the numbers of names. 4,096 paths of 30 names need less, and 2^22 take a few seconds.
	maxLineWork = 1 << 22
	// maxLinePath bounds the paths that are resolved. A longer one may lead to any file.
	maxLinePath = 8192
)

// LineLeaveReason returns the reason if a shell command names a protected path to change it. The
// sandbox protects such paths only at the top of a workspace.
func LineLeaveReason(p *policy.Policy, t Call, st policy.State) policy.LeaveReason {
	if t.Name != "Bash" || st.Thread == nil || st.EscalationRequested && st.Thread.Sandbox != policy.FullAccess.String() {
		return policy.LeaveReason{} // Codex asks about a command that certainly runs outside the sandbox
	}
	text, _ := t.Input.Get("command").Text()
	resolver := lineResolver{State: st}
	dirs := rules.Dirs{Home: st.Home, Follow: resolver.followFolder, Lines: st.Lines}
	dirs.Cwd, _ = st.Canonical(t.Cwd)
	roots := p.Allowed(st, st.Thread.Workspace)
	files, tooLong := rules.ChangedFiles(text, t.Shell, dirs)
	for _, file := range files {
		resolver.spend(file.Path)
	}
	protectsMore := p.ProtectsMore()
	if (tooLong || resolver.work > maxLineWork) && protectsMore {
		return policy.LeaveReason{Rule: policy.RuleProtected, Reason: "the command line is too long for the check of policy.protected_paths, or has a patch that can't be read"}
	}
	for _, file := range files {
		if p.ChangesProtected(file.Path, file.Computed, roots, st) {
			return policy.LeaveReason{Rule: policy.RuleProtected, Reason: "it changes " + file.Path + ", which is in one of policy.protected_paths"}
		}
		if resolver.work > maxLineWork {
			continue
		}
		targets, err := targets(st, file)
		if err != nil && protectsMore {
			return policy.LeaveReason{Rule: policy.RuleProtected, Reason: "the bridge can't find out whether it changes a path of policy.protected_paths: " + policy.ArgText(file.Path) + ": " + err.Error()}
		}
		if link := policy.LinkedFile(targets); link != "" {
			return policy.LeaveReason{Rule: policy.RuleProtected, Reason: "it changes " + link + ", which leads to a policy file by a link"}
		}
		for _, at := range targets {
			if p.ChangesProtected(at, file.Computed, roots, st) {
				return policy.LeaveReason{Rule: policy.RuleProtected, Reason: "it changes " + at + ", which is in one of policy.protected_paths"}
			}
		}
	}
	return linePatchLeaveReason(p, text, dirs.Cwd, roots, st)
}

// lineResolver resolves the paths of a command line, with bounded work.
type lineResolver struct {
	policy.State
	work int // at most a little more than maxLineWork
}

// spend records the work to resolve a path, and reports whether the bound is kept.
func (r *lineResolver) spend(path string) bool {
	if names := strings.Count(path, "/"); len(path) <= maxLinePath && r.work <= maxLineWork {
		r.work += names * names
	}
	return r.work <= maxLineWork
}

// followFolder is State.follow within the bound.
func (r *lineResolver) followFolder(path string) (string, error) {
	if !r.spend(path) {
		return "", policy.PathError("there is too much to resolve")
	}
	at, err := r.Follow(path)
	if err != nil && !errors.As(err, new(policy.PathError)) {
		return path, nil // no shell can change to it
	}
	return at, err
}

// targets returns the files to which the path of a file may lead, by each of its readings. Of a
// computed path only the folder before the first unknown part is resolved. A path that can't be opened
// leads nowhere. The error is a PathError: the path may lead to any file.
func targets(st policy.State, file rules.ChangedFile) (targets []string, err error) {
	path, rest := file.Path, ""
	if file.Computed {
		known, _, _ := strings.Cut(path, "*")
		path = known[:strings.LastIndexByte(known, '/')+1]
		rest = file.Path[len(path):]
	}
	switch {
	case !filepath.IsAbs(path):
		return nil, nil
	case len(path) > maxLinePath:
		return nil, policy.PathError("it is too long")
	}
	var unknown policy.PathError
	found, err := st.Readings(path)
	for _, at := range found {
		targets = append(targets, filepath.Join(at, rest))
	}
	switch {
	case errors.As(err, &unknown):
		return nil, unknown
	case err != nil:
		followed, err := st.Follow(path)
		switch {
		case err == nil:
			targets = append(targets, filepath.Join(followed, rest))
		case errors.As(err, &unknown):
			return nil, unknown
		}
	}
	return targets, nil
}

// linePatchLeaveReason returns the reason if a patch in a shell command changes a protected path,
// in any folder that Codex could read from the command.
func linePatchLeaveReason(p *policy.Policy, command, cwd string, roots []string, st policy.State) policy.LeaveReason {
	places, ok := patchPlaces(command, cwd)
	if !ok {
		return policy.LeaveReason{Rule: policy.RuleProtected, Reason: "the bridge can't find out the folder of the patch"}
	}
	for _, name := range places {
		found, err := st.Readings(name)
		if err != nil {
			found = append(found, filepath.Clean(name)) // Codex removes ".." as text
		}
		for _, at := range found {
			if p.ChangesProtected(at, false, roots, st) {
				return policy.LeaveReason{Rule: policy.RuleProtected, Reason: "it changes " + at + ", which is in one of policy.protected_paths"}
			}
		}
	}
	return policy.LeaveReason{}
}

// patchPlaces returns the absolute names of the files of a patch in a shell command, in any folder that
// Codex could read from the command. It returns false if there are too many.
//
// Measured with Codex 0.169: its parser finds cd where a shell does not, or another folder. A
// vertical tab or a continued line may be between cd and its word; of "sub$(true)" it reads sub;
// assignments may precede a command.
func patchPlaces(command, cwd string) (places []string, ok bool) {
	head := command[:max(strings.LastIndex(command, "*** Begin Patch"), 0)]
	if !rules.AppliesPatch(command) || !strings.Contains(head, "cd") {
		return nil, true
	}
	words := strings.FieldsFunc(head, func(c rune) bool { return unicode.IsSpace(c) || strings.ContainsRune("\\'\"`$(){};&|<>=", c) })
	files := rules.PatchedFiles(command)
	if len(words)*len(files) > maxPatchPlaces {
		return nil, false
	}
	for _, file := range files {
		for _, folder := range words {
			places = append(places, policy.NameIn(policy.NameIn(cwd, folder), file))
		}
	}
	return places, true
}

// AppliesPatch reports whether the call is a shell command out of which Codex may take a patch.
func (t Call) AppliesPatch() bool {
	text, _ := t.Input.Get("command").Text()
	return t.Name == "Bash" && rules.AppliesPatch(text)
}

// patchFolder returns the base folder of the paths of a patch in a shell command. Measured with
// Codex 0.169: it extracts a patch from a command that consists only of the patch, or of one cd
// with one word and the patch.
func patchFolder(command, cwd string) string {
	m := patchCd().FindStringSubmatch(command)
	if m == nil {
		return cwd
	}
	folder := m[1] + m[2] + m[3]
	return policy.NameIn(cwd, folder)
}

var patchCd = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*cd\s+(?:'([^']*)'|"([^"]*)"|([^\s'"]+))\s*&&`) })

// RedirectedFolder returns a writable folder of the thread whose path now leads elsewhere by a
// link; "" if there is none.
func RedirectedFolder(st policy.State) string {
	var folders []string
	if st.Thread != nil {
		folders = slices.Concat([]string{st.Thread.Workspace}, st.Thread.Profile.Roots, st.Thread.Roots, st.Thread.Writable)
	}
	for _, t := range st.Temps {
		folders = append(folders, t.Path)
	}
	for _, folder := range folders {
		if at, err := st.Canonical(folder); err != nil || at != folder {
			return folder
		}
	}
	return ""
}
