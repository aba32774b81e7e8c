package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/rpc"
)

// maxFacts and maxFactPaths bound the Facts of one decision: their bytes, and the resolved paths.
const (
	maxFacts     = 16 << 10
	maxFactPaths = 64
)

// Facts are the inputs of a decision, except the policy, about a tool call, the start of a program or a request of Codex.
// Recompute decides again with them. They have no contents of patches and no arguments of
// tools other than the shell.
type Facts struct {
	// Unknown is why the decision can't be recomputed; then only User and ID are set.
	Unknown string `json:"unknown,omitempty"`
	User    string `json:"user,omitempty"` // at the operating system
	ID      string `json:"id,omitempty"`   // of the call

	// Settings are the values of the policy that have given the thread its rights.
	Settings string `json:"settings,omitempty"`

	Tool   *ToolFacts      `json:"tool,omitempty"`
	Params json.RawMessage `json:"params,omitempty"` // of a request, reduced to what decisions read

	// Starts are the arguments of DecideProgram, Unreadable too, and Folders is State.PathFolders.
	Starts     []StartFacts `json:"starts,omitempty"`
	Unreadable string       `json:"unreadable,omitempty"`
	Folders    []string     `json:"folders,omitempty"`

	Escalation rules.Escalation `json:"escalation,omitempty"`
	Requested  bool             `json:"requested,omitempty"`
	Revoked    bool             `json:"revoked,omitempty"`
	Internal   bool             `json:"internal,omitempty"`
	CallKnown  bool             `json:"callKnown,omitempty"`
	// ProgramStarts is State.ProgramStarts.
	ProgramStarts bool `json:"programStarts,omitempty"`

	Files  []string     `json:"files,omitempty"`
	Thread *ThreadFacts `json:"thread,omitempty"`

	Home      string   `json:"home,omitempty"`
	CodexHome string   `json:"codexHome,omitempty"`
	Temps     []string `json:"temps,omitempty"`
	// These have only entries that overlap a path of the call.
	Sensitive []string     `json:"sensitive,omitempty"`
	Programs  []string     `json:"programs,omitempty"`
	Links     []string     `json:"links,omitempty"`
	Paths     []pathAnswer `json:"paths,omitempty"`
}

// ToolFacts are the facts of a tool call.
type ToolFacts struct {
	Name    string  `json:"name"`
	Command *string `json:"command,omitempty"` // of a patch only the lines that name files
	Server  string  `json:"server,omitempty"`  // of a resource tool
	Cwd     string  `json:"cwd"`
	Model   string  `json:"model,omitempty"`
	Shell   string  `json:"shell,omitempty"`
	Flags   string  `json:"flags,omitempty"`
}

// ThreadFacts are the facts of a thread. The names are those of Thread.
type ThreadFacts struct {
	Workspace        string          `json:"workspace"`
	Sandbox          string          `json:"sandbox"`
	Approval         json.RawMessage `json:"approval,omitempty"`
	Gated            bool            `json:"gated,omitempty"`
	RerunsOutside    bool            `json:"rerunsOutside,omitempty"`
	LacksProfile     bool            `json:"lacksProfile,omitempty"`
	Roots            []string        `json:"roots,omitempty"`
	Writable         []string        `json:"writable,omitempty"`
	ProfileDefined   bool            `json:"profile,omitempty"`
	ProfileRoots     []string        `json:"profileRoots,omitempty"`
	ProfileProtected [][]string      `json:"profileProtected,omitempty"`
}

// CallFacts returns the facts of a decision of toolcall.Decide with st, whose Paths is a PathLog.
func CallFacts(p *policy.Policy, t toolcall.Call, st policy.State) Facts {
	if toolcall.SpawnsAgent(t.Name) || toolcall.ResumesAgent(t.Name) {
		return Facts{ID: t.ID, Unknown: "it starts a subagent, whose settings are not recorded"}
	}
	f := ToolFacts{Name: t.Name, Cwd: t.Cwd, Model: t.Model, Shell: t.Shell, Flags: t.Flags}
	text, ok := t.Input.Get("command").Text()
	switch {
	case !ok && (t.Name == "Bash" || t.Name == "apply_patch"):
		return Facts{ID: t.ID, Unknown: "its input has no command"}
	case t.Name == "Bash":
		f.Command = &text
		probePaths(t, text, st)
	case t.Name == "apply_patch":
		heads := patchHeads(text)
		if !slices.Equal(rules.PatchedFiles(heads), rules.PatchedFiles(text)) {
			return Facts{ID: t.ID, Unknown: "its patch can't be reduced to the names of its files"}
		}
		f.Command = &heads
		st.FileChanges(st.ThreadWorkspace(), policy.PatchedFiles(text, t.Cwd))
	default:
		f.Server, _ = t.Input.Get("server").Text()
	}
	// A rule's denial needs no path. Another policy may need those that follow.
	_, _ = st.Canonical(t.Cwd)
	toolcall.RedirectedFolder(st)
	toolcall.LineLeaveReason(p, t, st)
	return factsOf(p, Facts{ID: t.ID, Tool: &f}, st)
}

// patchHeads returns the lines of a patch that name files.
func patchHeads(patch string) string {
	var heads strings.Builder
	for line := range strings.Lines(patch) {
		if strings.HasPrefix(strings.TrimSpace(line), "***") {
			heads.WriteString(line)
		}
	}
	return heads.String()
}

// probePaths resolves the files to which a command's redirections write, since another policy may
// have rules with paths.
func probePaths(t toolcall.Call, text string, st policy.State) {
	dirs := rules.Dirs{Home: st.Home, Readings: st.Readings}
	dirs.Cwd, _ = st.Canonical(t.Cwd)
	if st.Thread != nil {
		dirs.Workspace = st.Thread.Workspace
	}
	pathProbe().Shell(text, t.Shell, rules.Sandboxed, dirs)
}

var pathProbe = sync.OnceValue(func() *rules.Set {
	set, err := rules.New([][]config.Rule{{{Path: "/codex-bridge-probe/**", Decision: "deny"}}})
	if err != nil {
		panic(err) // a constant rule
	}
	return set
})

// RequestFacts returns the facts of a decision of serverrequest.Decide with st, whose Paths is a PathLog.
func RequestFacts(p *policy.Policy, method string, params rpc.Value, st policy.State) Facts {
	id, _ := params.Get("itemId").Text()
	if id == "" {
		id, _ = params.Get("callId").Text()
	}
	if method == "item/tool/requestUserInput" {
		return Facts{ID: id, Unknown: "its questions are not recorded"}
	}
	kept := make(map[string]any)
	for _, name := range []string{
		"command", "cwd", "reason", "kind", "approvalId", "networkApprovalContext", "availableDecisions", "grantRoot", "serverName", "tool",
	} {
		if v := params.Get(name); !policy.IsUnset(v) {
			kept[name] = policy.CloneRaw(v)
		}
	}
	if !policy.IsUnset(params.Get("additionalPermissions")) {
		kept["additionalPermissions"] = struct{}{}
	}
	if changes := params.Get("fileChanges"); changes.Kind() == rpc.Object {
		files := make(map[string]any)
		for path, change := range changes.Members() {
			files[path] = map[string]any{"move_path": json.RawMessage(rawOrNull(change.Get("move_path")))}
		}
		kept["fileChanges"] = files
	}
	meta := make(map[string]any)
	for _, name := range []string{"codex_approval_kind", "tool_name"} {
		if v := params.Get("_meta").Get(name); v.Exists() {
			meta[name] = policy.CloneRaw(v)
		}
	}
	if len(meta) > 0 {
		kept["_meta"] = meta
	}
	raw, err := json.Marshal(kept)
	if err != nil {
		return Facts{ID: id, Unknown: "it can't be written in JSON"}
	}
	st.FileChanges(st.ThreadWorkspace(), st.RequestedFiles(method, params))
	if cwd, ok := params.Get("cwd").Text(); ok {
		_, _ = st.Canonical(cwd)
	}
	return factsOf(p, Facts{ID: id, Params: raw}, st)
}

func rawOrNull(v rpc.Value) []byte {
	if policy.IsUnset(v) {
		return []byte("null")
	}
	return bytes.Clone(v.Raw())
}

// factsOf adds the facts of a state.
func factsOf(p *policy.Policy, f Facts, st policy.State) Facts {
	if p.FromWorkspace() {
		return Facts{ID: f.ID, Unknown: "the file of a workspace is a part of its policy"}
	}
	f.Settings = p.Settings()
	f.Escalation, f.Requested, f.Revoked, f.Internal, f.CallKnown = st.Escalation, st.EscalationRequested, st.ThreadRevoked, st.CodexInternal, st.CallKnown
	f.Files, f.Home, f.CodexHome, f.ProgramStarts = st.Files, st.Home, st.CodexHome, st.ProgramStarts
	for _, t := range st.Temps {
		f.Temps = append(f.Temps, t.Path)
	}
	if t := st.Thread; t != nil {
		f.Thread = &ThreadFacts{
			Workspace: t.Workspace, Sandbox: t.Sandbox, Approval: t.Approval, Gated: t.Gated, RerunsOutside: t.RerunsOutside,
			LacksProfile: t.LacksProfile, Roots: t.Roots, Writable: t.Writable,
			ProfileDefined: t.Profile.Defined, ProfileRoots: t.Profile.Roots, ProfileProtected: t.Profile.Protected,
		}
	}
	log, ok := st.Paths.(*PathLog)
	if !ok || log.full {
		return Facts{ID: f.ID, Unknown: "it depends on too many paths"}
	}
	f.Paths = log.answers
	touches := f.touchedPaths()
	overlapping := func(all []string) (some []string) {
		for _, one := range all {
			if slices.ContainsFunc(touches, func(at string) bool { return policy.Overlaps(at, rules.FoldCase(one)) }) {
				some = append(some, one)
			}
		}
		return some
	}
	f.Sensitive, f.Programs, f.Links = overlapping(st.Sensitive), overlapping(st.Programs), overlapping(st.Links)
	return f
}

// touchedPaths returns the paths that a decision can compare with those of the machine.
func (f *Facts) touchedPaths() (all []string) {
	add := func(paths ...string) {
		for _, path := range paths {
			if filepath.IsAbs(path) {
				all = append(all, rules.FoldCase(filepath.Clean(path)))
			}
		}
	}
	add(f.Files...)
	if t := f.Thread; t != nil {
		add(t.Workspace)
		add(t.Roots...)
		add(t.Writable...)
		add(t.ProfileRoots...)
	}
	for _, a := range f.Paths {
		add(a.Path, a.To)
		add(a.Readings...)
	}
	return all
}

// Encode returns the facts as JSON of at most 16 KiB.
func (f Facts) Encode() []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(f); err != nil || out.Len() > maxFacts {
		return Facts{User: f.User, ID: display.Clip(f.ID), Unknown: "its facts are too long"}.Encode()
	}
	return bytes.TrimSpace(out.Bytes())
}

// DecodeFacts decodes the result of Encode.
func DecodeFacts(text []byte) (*Facts, error) {
	f := new(Facts)
	// A newer version may have facts that tighten.
	if err := jsonv2.Unmarshal(text, f, jsonv2.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("the facts of a decision: %w", err)
	}
	return f, nil
}

// Patched returns all readings of the files that a patch changes. An empty path is unknown.
func (f *Facts) Patched() (paths []string) {
	if f.Tool == nil || f.Tool.Command == nil || f.Thread == nil {
		return nil
	}
	st := policy.State{Home: f.Home, Paths: &replayedPaths{answers: f.Paths}}
	for _, change := range st.FileChanges(f.Thread.Workspace, policy.PatchedFiles(*f.Tool.Command, f.Tool.Cwd)) {
		paths = append(paths, change.Path)
	}
	return paths
}

// Summary returns the call or the request as a person reads it.
func (f *Facts) Summary() string {
	if t := f.Tool; t != nil {
		switch {
		case t.Name == "apply_patch" && t.Command != nil:
			return "apply_patch " + strings.Join(rules.PatchedFiles(*t.Command), ", ")
		case t.Command != nil:
			return *t.Command
		}
		return t.Name
	}
	if text := f.startSummary(); text != "" {
		return text
	}
	if len(f.Files) > 0 {
		return strings.Join(f.Files, ", ")
	}
	var p struct {
		Command          json.RawMessage
		ServerName, Tool string
		Meta             struct {
			Tool string `json:"tool_name"`
		} `json:"_meta"`
	}
	_ = json.Unmarshal(f.Params, &p) // an unreadable part is not shown
	var text string
	if json.Unmarshal(p.Command, &text) == nil && text != "" {
		return text
	}
	return strings.TrimSpace(string(p.Command) + " " + p.ServerName + " " + p.Meta.Tool + p.Tool)
}
