package acp

import (
	"encoding/json"
	"slices"

	sdk "github.com/coder/acp-go-sdk"
)

// Ask is a permission request of an agent.
type Ask struct {
	Child   string   `json:"childSessionKey"`
	Agent   string   `json:"agentId"`
	Call    string   `json:"toolCallId"`
	Kind    string   `json:"kind"` // a tool kind of the protocol: execute, edit, fetch …
	Title   string   `json:"title,omitempty"`
	Command *string  `json:"command,omitempty"` // "" means an unknown command
	Shell   string   `json:"-"`                 // the words before a script that is the command, such as "bash -lc"
	Files   []string `json:"files,omitempty"`   // "" means an unknown file
	// Cwd is where the command runs: the folder that the request states, or else the agent's; "" if unknown.
	Cwd string `json:"cwd"`
	// Input is the agent's whole input of the tool, as JSON.
	Input json.RawMessage `json:"rawInput,omitempty"`
	// Content has what the agent shows of the call, such as the diff of an edit: some agents send no input.
	Content []sdk.ToolCallContent `json:"content,omitempty"`
	Unread  []string              `json:"-"` // members of Input that the bridge does not know
	Folder  string                `json:"-"` // the agent's folder
	Behind  bool                  `json:"-"` // the agent is a Codex behind its own bridge
	Line    []byte                `json:"-"` // the tool call as JSON
}

// Answer is the answer to an Ask.
type Answer struct {
	Allow  bool
	Lasts  bool   // Allow holds for the session
	Always bool   // with Lasts: Allow holds beyond the session
	Reason string // for people
}

// readToolCall reads the tool call of a permission request, with what the agent has announced of it. A
// command or file that it can't determine is "", which every rule could mean. folder is the agent's.
func readToolCall(call announcedCall, folder string) Ask {
	a := Ask{Call: string(call.ToolCallId), Kind: string(sdk.ToolKindOther), Folder: folder}
	if call.Kind != nil {
		a.Kind = string(*call.Kind)
	}
	if call.Title != nil {
		a.Title = *call.Title
	}
	a.Line, _ = json.Marshal(call.ToolCallUpdate) // it was decoded from JSON
	if call.RawInput != nil {
		a.Input, _ = json.Marshal(call.RawInput) // as above
	}
	a.Content = call.Content
	in := readInput(call.RawInput)
	command, shell, ok := in.command()
	a.Shell = shell
	a.Cwd = in.folder(folder)
	files := filesOf(call.ToolCallUpdate)
	if changesFiles(call.Kind) || len(files) > 0 {
		c := readChange(call.RawInput, call.Kind, a.Cwd)
		if files = append(files, c.files...); len(c.unread) > 0 {
			a.Unread, files = c.unread, append(files, "")
		}
	}
	a.Files = unique(files)
	// A call may have a command and files: the input of an edit may have a member "command".
	unstated := call.incomplete || call.Kind == nil || call.RawInput == nil && len(a.Files) == 0
	switch {
	case ok, unstated, a.Kind == string(sdk.ToolKindExecute):
		a.Command, a.Unread = &command, unique(append(a.Unread, in.unread()...))
	case len(a.Files) == 0 && !changesFiles(call.Kind):
		a.Unread = unreadOf(call.RawInput, *call.Kind)
	}
	if unstated || len(a.Files) == 0 && changesFiles(call.Kind) {
		a.Files = append(a.Files, "")
	}
	return a
}

// changesFiles reports whether a tool of this kind changes files.
func changesFiles(kind *sdk.ToolKind) bool {
	return kind != nil && slices.Contains([]sdk.ToolKind{sdk.ToolKindEdit, sdk.ToolKindDelete, sdk.ToolKindMove}, *kind)
}

// filesOf returns the files that a call changes by its contents and locations.
func filesOf(call sdk.ToolCallUpdate) (files []string) {
	for _, c := range call.Content {
		if c.Diff != nil {
			files = append(files, c.Diff.Path)
		}
	}
	if changesFiles(call.Kind) || len(files) > 0 {
		for _, l := range call.Locations {
			files = append(files, l.Path)
		}
	}
	return files
}

// unique returns the names in their order, each once.
func unique(names []string) (out []string) {
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		if !seen[name] {
			seen[name] = true
			out = append(out, name)
		}
	}
	return out
}

// codexAlways is the option of codex-acp that allows a command permanently. Its option for the
// session has the same kind.
const codexAlways = "accept_execpolicy_amendment"

// selected returns the answer that selects an option.
func selected(o sdk.PermissionOption) sdk.RequestPermissionResponse {
	return sdk.RequestPermissionResponse{Outcome: sdk.RequestPermissionOutcome{
		Selected: &sdk.RequestPermissionOutcomeSelected{Outcome: "selected", OptionId: o.OptionId},
	}}
}

// permissionResponse selects the option for the answer. If there is none, the response is cancelled,
// never an approval.
func permissionResponse(options []sdk.PermissionOption, answer Answer) sdk.RequestPermissionResponse {
	wanted := []sdk.PermissionOptionKind{sdk.PermissionOptionKindRejectOnce, sdk.PermissionOptionKindRejectAlways}
	switch {
	case answer.Allow && answer.Lasts:
		wanted = []sdk.PermissionOptionKind{sdk.PermissionOptionKindAllowAlways, sdk.PermissionOptionKindAllowOnce}
	case answer.Allow:
		wanted = []sdk.PermissionOptionKind{sdk.PermissionOptionKindAllowOnce}
	}
	if answer.Allow && answer.Lasts && answer.Always {
		for _, o := range options {
			if o.OptionId == codexAlways {
				return selected(o)
			}
		}
	}
	for _, kind := range wanted {
		for _, o := range options {
			if o.Kind == kind && o.OptionId != codexAlways {
				return selected(o)
			}
		}
	}
	return sdk.RequestPermissionResponse{Outcome: sdk.RequestPermissionOutcome{Cancelled: &sdk.RequestPermissionOutcomeCancelled{Outcome: "cancelled"}}}
}
