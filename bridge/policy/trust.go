package policy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/rpc"
)

const ruleTrust = "policy.project_trust"

// These are the values of policy.project_trust.
const (
	trustNever = "never"
	trustUser  = "user"
	trustCodex = "codex"
)

// trustValues are these values, the loosest first.
var trustValues = []string{trustCodex, trustUser, trustNever}

// ProjectTrust returns the value of policy.project_trust.
func (p *Policy) ProjectTrust() string { return p.trust }

// TrustsAsCodex reports whether the policy leaves it to Codex which projects are trusted.
func (p *Policy) TrustsAsCodex() bool { return p.trust == trustCodex }

// TrustKey returns the spelling by which Codex looks up the trust in a folder.
func TrustKey(folder string) string { return trustKey(folder) }

// Repositories finds the project of a folder as Codex does.
type Repositories interface {
	// Roots returns the folders whose trust Codex also applies to folder: the root of its
	// repository, and the root of the main worktree if that differs. A folder that only claims to
	// belong to a repository has no roots. All paths are canonical.
	Roots(folder string) ([]string, error)
}

func (p *Policy) compileTrust(cfg config.Policy) error {
	switch cfg.ProjectTrust {
	case trustNever, trustUser, trustCodex:
		p.trust = cfg.ProjectTrust
		return nil
	}
	return fmt.Errorf("policy.project_trust: %q is not never, user or codex", cfg.ProjectTrust)
}

// decideTrust prevents Codex from trusting the folder in which a thread opens.
//
// Measured with Codex 0.169: thread/start with a cwd and more than read-only stores the repository
// as trusted and loads its .codex at once, with servers. Resume and fork store no trust, but load
// trusted projects. Codex looks for entries of the folder, of each folder with a .codex, of the
// repository's root and of the main worktree's root, in this order and in canonical spelling. The
// first entry counts, and the overlay wins over the user's file and over -c.
//
// So the overlay has entries for the folder and all folders above it. One of them is the root, even
// if that changes a moment later, and with the folder's own entry Codex stores nothing.
func decideTrust(c folders, in openedIn) (found project, keys requiredKeys) {
	folder, ok := c.projectFolder(in)
	if !ok {
		return found, nil
	}
	found.trust = c.userTrust(folder)
	if c.p.trust == trustCodex {
		found.configCwd = folder
		return found, nil
	}
	if c.p.trust == trustUser && found.trust == trusted {
		found.configCwd = folder
	}
	// A project's configuration counts only if Codex loads the project.
	d := c.st.Defaults
	c.wantIf(c.spec.startsThread && d == nil || d != nil && d.Cwd != found.configCwd, WantConfiguration)
	levels, reason := c.requiredTrust(folder, &found)
	if c.err == nil && !levels.empty() {
		keys.add(requiredKey{key: projectsKey, raw: levels.json(), rule: ruleTrust, reason: reason})
	}
	return found, keys
}

// project is the project in which a thread opens.
type project struct {
	trust           trustLevel // in the user's own configuration
	untrustedFolder string     // the folder that the overlay distrusts
	configCwd       string     // whose configuration Codex loads; "" for none
}

// trustedLevel returns the level up to asked that a thread gets for which Codex comes to trust the project.
//
// Measured with Codex 0.169: it loads the project's configuration before it opens the thread, so the sandbox in it counts.
// config/read does not show it as effective, since Codex does not trust the project yet.
func (c *sandboxRule) trustedLevel(asked Level) Level {
	d := c.st.Defaults
	if d.Disabled == nil || c.p.trust != trustCodex || asked == ReadOnly || !c.wouldTrust() || c.project.trust == untrusted {
		return asked
	}
	l, _, ok := d.Disabled.level()
	if !ok {
		return ReadOnly // a profile of the project
	}
	return min(asked, l)
}

// projectFolder returns the folder in which the thread opens, or "" for an unknown thread; false if
// it can't be determined.
func (c *folders) projectFolder(in openedIn) (folder string, ok bool) {
	cwd, named := c.params.Get("cwd").Text()
	switch {
	case c.err != nil:
		return "", false
	case named && in.within != "": // see keepsCwd
		cwd, err := c.st.ResolveCwd(cwd)
		return cwd, err == nil
	case named, c.m.Method == "thread/fork" && c.st.Thread != nil: // see decideOmittedWorkspace
		return c.workspace, true
	case !c.spec.startsThread:
		unknown := c.st.ThreadFolder == "" && !c.st.UnknownThread && c.p.trust != trustCodex
		c.wantIf(unknown, WantThreadFolder)
		return c.st.ThreadFolder, !unknown
	case c.workspace == "" && c.p.trust != trustCodex:
		c.refuse(rpc.CodeRefused, "params.cwd", ruleTrust, "Codex's start folder is unknown", "send a cwd")
		return "", false
	}
	return c.workspace, true
}

// requiredTrust returns the entries that the overlay must have. It sets the folder that they distrust.
func (c *request) requiredTrust(folder string, found *project) (levels trustTable, reason string) {
	projects := c.projects()
	if c.p.trust == trustUser && found.trust == trusted {
		reason = "the user's own configuration trusts the project"
		if c.spec.startsThread && !projects.Own[trustKey(folder)] {
			// Measured with Codex 0.169: in a subfolder of a linked worktree that is itself
			// trusted, Codex would still store the main worktree as trusted.
			levels.add(folder, trusted)
			reason += "; the overlay repeats it for this folder, so that Codex stores nothing"
		}
	} else if folder != "" {
		found.untrustedFolder = folder
		reason = `under policy.project_trust "never", its .codex configuration never counts`
		if c.p.trust == trustUser {
			reason = "the user's own configuration does not trust " + folder + ", and a new thread must not trust it"
		}
		c.addUntrusted(&levels, folder)
	}
	if c.p.trust == trustNever {
		for _, key := range projects.trustedKeys() {
			// A thread can move, and a fork may be in another folder.
			levels.add(key, untrusted)
		}
	}
	for _, key := range projects.Others {
		levels.add(key, untrusted) // the client may have set it by -c
	}
	if reason == "" {
		reason = "only the user's own configuration may trust projects"
	}
	return levels, reason
}

// addUntrusted adds folder and every folder above it.
func (c *request) addUntrusted(levels *trustTable, folder string) {
	if !levels.addUntrusted(folder) {
		c.refuse(rpc.CodeRefused, "params.cwd", ruleTrust, tooDeep, "open a folder further up")
	}
}

// userTrust returns the trust that the user's own configuration gives folder: trusted if it trusts
// the folder, its repository or its main worktree, and distrusts none of them.
func (c *request) userTrust(folder string) trustLevel {
	projects := c.projects()
	if folder == "" || len(projects.Own) == 0 {
		return trustUnset
	}
	keys, err := c.projectKeys(folder)
	if err != nil && c.p.trust == trustUser {
		c.refuse(rpc.CodeRefused, "params.cwd", ruleTrust, "the bridge can't find the repository of "+folder+": "+err.Error(),
			"make its .git readable, or open another folder")
		return trustUnset
	}
	level := trustUnset
	for _, key := range keys {
		switch is, said := projects.Own[trustKey(key)]; {
		case said && !is:
			return untrusted
		case said:
			level = trusted
		}
	}
	return level
}

// projectKeys returns the folders whose entries Codex applies to folder: itself, its repository and the main
// worktree.
func (c *request) projectKeys(folder string) ([]string, error) {
	if c.st.Repositories == nil {
		return []string{folder}, nil
	}
	roots, err := c.st.Repositories.Roots(folder)
	return append([]string{folder}, roots...), err
}

func (c *request) projects() Projects { return projectsOf(c.st) }

func projectsOf(st State) Projects {
	if st.Defaults == nil {
		return Projects{}
	}
	return st.Defaults.Projects
}

// addsDistrust reports whether the overlay makes Codex distrust a folder that the user's own
// configuration does not distrust.
func (p project) addsDistrust() bool { return p.untrustedFolder != "" && p.trust != untrusted }

// trustLevel is the trust in a project.
type trustLevel string

const (
	trustUnset trustLevel = ""
	trusted    trustLevel = "trusted"
	untrusted  trustLevel = "untrusted"
)

// trustKey returns the spelling by which Codex looks up a folder. In Codex's source, that is lower
// case on Windows.
func trustKey(folder string) string {
	if filepath.Separator == '\\' {
		return strings.ToLower(folder)
	}
	return folder
}

// trustTable builds a `projects` table. It must be nested. Measured with Codex 0.169: in a dotted
// key it would split a folder's name at its dots.
type trustTable struct {
	keys   []string
	levels []trustLevel
}

// add adds an entry unless the folder has one.
func (t *trustTable) add(folder string, level trustLevel) {
	if key := trustKey(folder); !slices.Contains(t.keys, key) {
		t.keys, t.levels = append(t.keys, key), append(t.levels, level)
	}
}

// Level returns the level of a folder's entry; trustUnset if it has none.
func (t *trustTable) level(key string) trustLevel {
	if i := slices.Index(t.keys, key); i >= 0 {
		return t.levels[i]
	}
	return trustUnset
}

// addUntrusted adds folder and every folder above it. It returns false if these are too many.
func (t *trustTable) addUntrusted(folder string) bool {
	for range maxFolders {
		t.add(folder, untrusted)
		parent := filepath.Dir(folder)
		if parent == folder {
			return true
		}
		folder = parent
	}
	return false
}

// maxFolders bounds the entries for a folder and those above it.
const maxFolders = 256

var tooDeep = fmt.Sprintf("the folder is deeper than %d folders, which is too deep", maxFolders)

func (t *trustTable) empty() bool { return len(t.keys) == 0 }

func (t *trustTable) json() json.RawMessage {
	out := []byte{'{'}
	for i, key := range t.keys {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(out, JSONString(key)...), `:{"trust_level":`...)
		out = append(append(out, JSONString(string(t.levels[i]))...), '}')
	}
	return append(out, '}')
}

// TrustHint returns how the user can have Codex load the configuration of project.
func (p *Policy) TrustHint(project string, st State) string {
	if p.trust == trustNever {
		return `policy.project_trust is "never" in the configuration of codex-bridge: Codex loads no project's configuration.  ` +
			`With "user", it loads those of projects that your Codex configuration trusts.`
	}
	file := cmp.Or(projectsOf(st).File, "codex's config.toml")
	if list := projectsOf(st).List; list != "" {
		return "If you trust the project, add " + string(JSONString(project)) + " to the list in " + list + ", and these lines to " + file +
			" unless it has them:\n\n[projects." + string(JSONString(project)) + "]\ntrust_level = \"trusted\"\n"
	}
	return "If you trust the project, add these lines to " + file + ":\n\n[projects." + string(JSONString(project)) + "]\ntrust_level = \"trusted\"\n"
}
