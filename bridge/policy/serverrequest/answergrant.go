package serverrequest

import (
	"encoding/json"
	"slices"
	"strings"

	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// decideGrant limits granted permissions to those that Codex requested and the policy allows, for
// one turn.
//
// Measured with Codex 0.169: a grant widens the sandbox, even of a read-only thread, and no rollout
// file has it.
func (a *answerDecider) decideGrant() {
	result := a.m.Result
	granted := result.Get("permissions")
	if result.Kind() != rpc.Object || granted.Kind() != rpc.Object {
		a.replace([]byte(`{"permissions":{},"scope":"turn"}`), "the response has no permissions: "+policy.FormatValue(result))
		return
	}
	if v := result.Get("scope"); !policy.IsUnset(v) && !v.Is("turn") {
		a.set(result, "scope", "result.scope", policy.JSONString("turn"), ruleRemember, "a grant holds for one turn")
	}
	a.dropUnknownMembers("permissions", "scope", "strictAutoReview")
	if !a.decideAutoReview(result) {
		// A grant without its condition would be more than the client meant.
		if granted.Len() > 0 {
			a.set(result, "permissions", "result.permissions", []byte(`{}`), policy.RuleReviewers, "the client granted it only with strictAutoReview")
		}
		return
	}
	g := grantFilter{a: a, requested: a.request.Params.Get("permissions")}
	if a.st.Thread != nil {
		g.roots = a.p.Allowed(a.st, a.st.Thread.Workspace)
	} else {
		g.roots = a.p.Allowed(a.st, "")
	}
	if to := g.filter(granted); g.reasons != nil {
		a.set(result, "permissions", "result.permissions", to, g.rule, strings.Join(g.reasons, "; "))
	}
}

// decideAutoReview checks strictAutoReview. It returns false if the client set it and the policy
// does not allow it.
//
// Measured with Codex 0.169: with it, a model answers the turn's approvals in the person's place,
// also those of commands that leave the sandbox.
func (a *answerDecider) decideAutoReview(result rpc.Value) bool {
	const key, field = "strictAutoReview", "result.strictAutoReview"
	v := result.Get(key)
	on, ok := v.Bool()
	switch {
	case policy.IsUnset(v), ok && !on, on && a.p.AllowsModelReview():
		return true
	case ok:
		a.drop(result, key, field, policy.RuleReviewers, "auto_review is not in policy.reviewers")
	default:
		a.drop(result, key, field, policy.RuleProtocol, "it is not a boolean")
	}
	return false
}

// grantFilter removes permissions from a grant.
type grantFilter struct {
	a         *answerDecider
	requested rpc.Value
	roots     []string // writable folders
	written   []string // paths that the response makes writable
	reasons   []string
	rule      string
}

func (g *grantFilter) reject(rule, reason string) {
	const most = 8
	if len(g.reasons) < most {
		g.reasons = append(g.reasons, reason)
	}
	if g.rule == "" {
		g.rule = rule
	}
}

// filter returns the allowed part of a grant. It builds a new value from known members only.
func (g *grantFilter) filter(granted rpc.Value) json.RawMessage {
	kept := make(map[string]any)
	for key, v := range granted.Members() {
		switch {
		case policy.IsUnset(v):
		case key == "network":
			if g.network(v) {
				kept[key] = map[string]bool{"enabled": true}
			}
		case key == "fileSystem" && v.Kind() == rpc.Object:
			kept[key] = g.files(v)
		default:
			g.reject(policy.RuleUnknown, policy.FormatValue(v)+" at "+key+" is an unknown permission")
		}
	}
	raw, err := json.Marshal(kept)
	if err != nil {
		panic(err) // texts, booleans and JSON: it can't fail
	}
	return raw
}

func (g *grantFilter) network(v rpc.Value) bool {
	enabled, ok := v.Get("enabled").Bool()
	asked, _ := g.requested.Get("network").Get("enabled").Bool()
	switch {
	case !ok && !policy.IsUnset(v.Get("enabled")), v.Kind() != rpc.Object:
		g.reject(policy.RuleProtocol, "network is "+policy.FormatValue(v))
	case !enabled:
	case !g.a.p.AllowsNetwork():
		g.reject(policy.RuleNetwork, "the policy forbids the network")
	case !asked:
		g.reject(policy.RuleProtocol, "Codex did not request the network")
	default:
		return true
	}
	return false
}

// files returns the allowed part of file permissions. The members read and write are the older
// form.
func (g *grantFilter) files(v rpc.Value) map[string]any {
	kept := make(map[string]any)
	for key, m := range v.Members() {
		switch {
		case policy.IsUnset(m):
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
			g.reject(policy.RuleUnknown, policy.FormatValue(m)+" at fileSystem."+key+" is an unknown permission")
		}
	}
	return kept
}

// entry returns an entry that denies access, or that grants an allowed path; false for others.
func (g *grantFilter) entry(e rpc.Value) (any, bool) {
	access, _ := e.Get("access").Text()
	where := e.Get("path")
	switch {
	case access == "deny" && e.Len() == 2:
		return json.RawMessage(e.Raw()), true
	case (access == "read" || access == "write") && e.Len() == 2 && where.Get("type").Is("path") && where.Len() == 2:
		path, ok := g.path(where.Get("path"), access)
		return map[string]any{"access": access, "path": map[string]string{"type": "path", "path": path}}, ok
	}
	g.reject(policy.RuleRoots, "the rights of "+policy.FormatValue(e)+" are unknown")
	return nil, false
}

// path returns the canonical path if the policy allows the access.
func (g *grantFilter) path(v rpc.Value, access string) (string, bool) {
	text, ok := v.Text()
	path, err := g.a.st.Canonical(text)
	switch {
	case !ok || err != nil:
		g.reject(policy.RuleRoots, policy.FormatValue(v)+" can't be resolved")
	case !g.wasRequested(path, access):
		g.reject(policy.RuleProtocol, "Codex did not request to "+access+" "+path)
	case access == "write" && g.a.p.MaxLevel() == policy.ReadOnly:
		g.reject(policy.RuleSandbox, "writing "+path+" is more than read-only")
	case access == "write" && g.a.p.MaxLevel() == policy.WorkspaceWrite && !policy.WithinAny(g.roots, path):
		g.reject(policy.RuleRoots, path+" is outside policy.writable_roots")
	case access == "write" && g.a.p.MaxLevel() == policy.WorkspaceWrite && (!policy.WritableBelowAny(g.roots, path) || g.a.st.OverlapsSensitive(path)):
		g.reject(policy.RuleSandbox, path+" is protected under workspace-write, and policy.writable_roots does not name it")
	case access == "write" && g.a.p.MaxLevel() == policy.WorkspaceWrite && g.a.p.OverlapsProtected(g.a.st, g.roots, path):
		g.reject(policy.RuleProtected, path+" overlaps a protected path, a policy file, or a program that runs outside the sandbox")
	case access == "write" && g.overlappingWritable(path) != "":
		g.reject(policy.RuleRoots, path+" is in "+g.overlappingWritable(path)+" or contains it, and a command could replace the inner folder by a link")
	default:
		if path != text {
			g.reject(policy.RuleRoots, policy.FormatValue(v)+" becomes its canonical path "+path)
		}
		if access == "write" {
			g.written = append(g.written, path)
		}
		return path, true
	}
	return "", false
}

// GrantedPaths returns the paths that a response to item/permissions/requestApproval makes
// writable.
func GrantedPaths(result rpc.Value) []string {
	var out []string
	files := result.Get("permissions").Get("fileSystem")
	for path := range files.Get("write").Elements() {
		out = append(out, policy.TextOf(path))
	}
	for entry := range files.Get("entries").Elements() {
		if entry.Get("access").Is("write") {
			out = append(out, policy.TextOf(entry.Get("path").Get("path")))
		}
	}
	return out
}

// wasRequested reports whether Codex requested the access to path or to a folder above it. A
// request to write includes reading.
func (g *grantFilter) wasRequested(path, access string) bool {
	files := g.requested.Get("fileSystem")
	covers := func(v rpc.Value, way string) bool {
		text, _ := v.Text()
		folder, err := g.a.st.Canonical(text)
		return err == nil && policy.Within(folder, path) && (way == access || way == "write" && access == "read")
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

// overlappingWritable returns a folder around or inside path that commands can write, could write
// before, or could with this grant; "" if there is none.
//
// Measured with Codex 0.169: with a grant of WORKSPACE/a/sub, a command replaced a and made a/sub a
// link. The next command of the turn could write to the link's target.
func (g *grantFilter) overlappingWritable(path string) string {
	st := g.a.st
	folders := slices.Concat(g.written, st.Writable)
	if t := st.Thread; t != nil && t.Sandbox == policy.WorkspaceWrite.String() {
		folders = append(folders, t.WritableFolders()...)
		for _, temp := range st.Temps {
			folders = append(folders, temp.Path)
		}
	}
	return policy.FindNested(folders, path)
}
