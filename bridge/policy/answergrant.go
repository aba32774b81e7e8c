package policy

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"codex-bridge/rpc"
)

// grant holds the permissions that the client grants: those that were asked for and
// that policy allows, for the turn.
//
// Measured: a grant widens the sandbox, of a read-only thread too, and is written
// down nowhere.
func (a *answer) grant() {
	result := a.m.Result
	granted := result.Get("permissions")
	if result.Kind() != rpc.Object || granted.Kind() != rpc.Object {
		a.replace([]byte(`{"permissions":{},"scope":"turn"}`), "there are no permissions in "+show(result))
		return
	}
	if v := result.Get("scope"); !nothing(v) && !v.Is("turn") {
		a.set(result, "scope", "result.scope", quote("turn"), ruleRemember, "a grant holds for the turn that asked for it")
	}
	a.only("permissions", "scope", "strictAutoReview")
	if !a.reviewed(result) {
		// Without its condition the grant would be more than the client meant.
		if granted.Len() > 0 {
			a.set(result, "permissions", "result.permissions", []byte(`{}`), ruleReviewers, "it was granted on the condition of strictAutoReview")
		}
		return
	}
	g := grantCut{a: a, asked: a.asked.Params.Get("permissions")}
	if a.st.Thread != nil {
		g.roots = a.p.allowed(a.st, a.st.Thread.Workspace)
	} else {
		g.roots = a.p.allowed(a.st, "")
	}
	if to := g.cut(granted); g.why != nil {
		a.set(result, "permissions", "result.permissions", to, g.rule, strings.Join(g.why, "; "))
	}
}

// reviewed holds strictAutoReview; false: it was asked for and is not to be had.
//
// Measured: with it a model decides about the commands of the turn in the person's
// place, those that ask to leave the sandbox among them.
func (a *answer) reviewed(result rpc.Value) bool {
	const key, field = "strictAutoReview", "result.strictAutoReview"
	v := result.Get(key)
	on, ok := v.Bool()
	switch {
	case nothing(v), ok && !on, on && slices.Contains(a.p.reviewers, "auto_review"):
		return true
	case ok:
		a.drop(result, key, field, ruleReviewers, "auto_review is not in policy.reviewers, and would decide in the person's place")
	default:
		a.drop(result, key, field, ruleProtocol, "it is not a boolean")
	}
	return false
}

// grantCut cuts a grant down.
type grantCut struct {
	a     *answer
	asked rpc.Value
	roots []string // what may be written
	kept  []string // paths that the answer lets be written
	why   []string
	rule  string
}

func (g *grantCut) out(rule, reason string) {
	const most = 8
	if len(g.why) < most {
		g.why = append(g.why, reason)
	}
	if g.rule == "" {
		g.rule = rule
	}
}

// cut is what is left of a grant. It is built anew, of what is understood alone.
func (g *grantCut) cut(granted rpc.Value) json.RawMessage {
	kept := make(map[string]any)
	for key, v := range granted.Members() {
		switch {
		case nothing(v):
		case key == "network":
			if g.network(v) {
				kept[key] = map[string]bool{"enabled": true}
			}
		case key == "fileSystem" && v.Kind() == rpc.Object:
			kept[key] = g.files(v)
		default:
			g.out(ruleUnknown, show(v)+" at "+key+" is no permission that is known")
		}
	}
	raw, err := json.Marshal(kept)
	if err != nil {
		panic(err) // it holds texts, booleans and JSON
	}
	return raw
}

func (g *grantCut) network(v rpc.Value) bool {
	enabled, ok := v.Get("enabled").Bool()
	asked, _ := g.asked.Get("network").Get("enabled").Bool()
	switch {
	case !ok && !nothing(v.Get("enabled")), v.Kind() != rpc.Object:
		g.out(ruleProtocol, "network is "+show(v))
	case !enabled:
	case !g.a.p.network:
		g.out(ruleNetwork, "the network is not allowed")
	case !asked:
		g.out(ruleProtocol, "nobody has asked for the network")
	default:
		return true
	}
	return false
}

// files cuts what may be read and written. read and write are the older form.
func (g *grantCut) files(v rpc.Value) map[string]any {
	kept := make(map[string]any)
	for key, m := range v.Members() {
		switch {
		case nothing(m):
		case key == "globScanMaxDepth" && m.Kind() == rpc.Number:
			kept[key] = json.RawMessage(m.Raw())
		case key == "entries" && m.Kind() == rpc.Array:
			entries := []any{}
			for e := range m.Elements() {
				if entry, ok := g.entry(e); ok {
					entries = append(entries, entry)
				}
			}
			kept[key] = entries
		case (key == "read" || key == "write") && m.Kind() == rpc.Array:
			paths := []string{}
			for e := range m.Elements() {
				if path, ok := g.path(e, key); ok {
					paths = append(paths, path)
				}
			}
			kept[key] = paths
		default:
			g.out(ruleUnknown, show(m)+" at fileSystem."+key+" is no permission that is known")
		}
	}
	return kept
}

// entry keeps what restricts, and what names a path that may be granted.
func (g *grantCut) entry(e rpc.Value) (any, bool) {
	access, _ := e.Get("access").Text()
	where := e.Get("path")
	switch {
	case access == "deny" && e.Len() == 2:
		return json.RawMessage(e.Raw()), true
	case (access == "read" || access == "write") && e.Len() == 2 && where.Get("type").Is("path") && where.Len() == 2:
		path, ok := g.path(where.Get("path"), access)
		return map[string]any{"access": access, "path": map[string]string{"type": "path", "path": path}}, ok
	}
	g.out(ruleRoots, "what "+show(e)+" allows can't be seen")
	return nil, false
}

// path is one that may be granted, in the spelling that was judged.
func (g *grantCut) path(v rpc.Value, access string) (string, bool) {
	text, ok := v.Text()
	path, err := g.a.st.canonical(text)
	switch {
	case !ok || err != nil:
		g.out(ruleRoots, show(v)+" can't be judged")
	case !g.wasAsked(path, access):
		g.out(ruleProtocol, "nobody has asked to "+access+" "+path)
	case access == "write" && g.a.p.limit == readOnly:
		g.out(ruleSandbox, "to write "+path+" is more than read-only")
	case access == "write" && g.a.p.limit == workspaceWrite && !withinAny(g.roots, path):
		g.out(ruleRoots, path+" lies outside policy.writable_roots")
	case access == "write" && g.a.p.limit == workspaceWrite && (!belowAny(g.roots, path) || g.a.st.exposes(path)):
		g.out(ruleSandbox, path+" is kept from being written under workspace-write, where policy.writable_roots does not name it")
	case access == "write" && g.a.p.limit == workspaceWrite && g.a.p.guards(g.a.st, g.roots, path):
		g.out(ruleProtected, path+" is, holds or is in something that governs the thread, or a program that runs outside of the sandbox")
	case access == "write" && g.swappable(path) != "":
		g.out(ruleRoots, path+" is in "+g.swappable(path)+" or holds it, and a command could replace the inner folder by a link")
	default:
		if path != text {
			g.out(ruleRoots, show(v)+" is fixed to "+path)
		}
		if access == "write" {
			g.kept = append(g.kept, path)
		}
		return path, true
	}
	return "", false
}

// swappable returns a folder that commands can write, could write before, or could with this answer, and
// that the path is in or holds; "" if there is none.
//
// Measured with Codex 0.169: with a grant of WORKSPACE/a/sub, a command replaced a and made a/sub a link,
// and the next command of the turn could write where it led.
func (g *grantCut) swappable(path string) string {
	st := g.a.st
	folders := slices.Concat(g.kept, st.Writable)
	if t := st.Thread; t != nil && t.Sandbox == workspaceWrite.String() {
		folders = append(folders, t.WritableFolders()...)
		for _, temp := range st.Temps {
			folders = append(folders, temp.Path)
		}
	}
	return nested(folders, path)
}

// GrantedPaths returns the paths that an answer to item/permissions/requestApproval lets be written.
func GrantedPaths(result rpc.Value) []string {
	var out []string
	files := result.Get("permissions").Get("fileSystem")
	for path := range files.Get("write").Elements() {
		out = append(out, textOf(path))
	}
	for entry := range files.Get("entries").Elements() {
		if entry.Get("access").Is("write") {
			out = append(out, textOf(entry.Get("path").Get("path")))
		}
	}
	return out
}

// wasAsked tells whether codex has asked for the path, or for a folder above it, in
// that way. Who asks to write asks to read.
func (g *grantCut) wasAsked(path, access string) bool {
	files := g.asked.Get("fileSystem")
	covers := func(v rpc.Value, way string) bool {
		text, _ := v.Text()
		folder, err := g.a.st.canonical(text)
		return err == nil && within(folder, path) && (way == access || way == "write" && access == "read")
	}
	for e := range files.Get("entries").Elements() {
		way, _ := e.Get("access").Text()
		if e.Get("path").Get("type").Is("path") && covers(e.Get("path").Get("path"), way) {
			return true
		}
	}
	for _, way := range [...]string{"read", "write"} {
		for e := range files.Get(way).Elements() {
			if covers(e, way) {
				return true
			}
		}
	}
	return false
}

// guards reports whether a canonical path overlaps what the sandbox of a thread protects: the
// policy files of its folders, policy.protected_paths, and programs that run outside of the sandbox.
//
// Measured with Codex 0.169: a grant of a folder makes writable what a profile has "read" below it.
func (p *Policy) guards(st State, roots []string, path string) bool {
	if st.holdsProgram(path) || p.protects(roots, path) || p.leadsToProtected(path) {
		return true
	}
	folders := append(slices.Clone(roots), st.StartFolder)
	if st.Thread != nil {
		folders = append(folders, st.Thread.Workspace)
	}
	for _, folder := range append(folders, st.Workspaces...) {
		if folder != "" && folder != path && within(path, folder) {
			return true // Codex protects .git and its like at the top of what it grants alone
		}
	}
	var protected []string
	for _, folder := range folders {
		for _, segments := range p.protected {
			if folder != "" && !governs(segments[0]) { // Codex keeps those from a grant that does not name them
				protected = append(protected, filepath.Join(append([]string{folder}, segments...)...))
			}
		}
	}
	if st.PolicyFiles != nil {
		for _, folder := range folders {
			if folder != "" {
				protected = append(protected, st.PolicyFiles.PolicyFiles(folder)...)
			}
		}
		if st.foreignFile(path, "") != "" {
			return true
		}
	}
	return slices.ContainsFunc(protected, func(at string) bool { return overlap(strings.ToLower(path), strings.ToLower(at)) })
}
