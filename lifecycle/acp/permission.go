package acp

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	sdk "github.com/coder/acp-go-sdk"
)

// Ask is what an agent asks leave for.
type Ask struct {
	Child   string   `json:"childSessionKey"`
	Agent   string   `json:"agentId"`
	Call    string   `json:"toolCallId"`
	Kind    string   `json:"kind"` // as the protocol has it: execute, edit, fetch …
	Title   string   `json:"title,omitempty"`
	Command *string  `json:"command,omitempty"` // "": it does not say which
	Files   []string `json:"files,omitempty"`   // "": it does not say which
	Cwd     string   `json:"cwd"`
	Behind  bool     `json:"-"` // the agent is a Codex behind a bridge of its own
	Line    []byte   `json:"-"` // what it said
}

// Answer is what it is told.
type Answer struct {
	Allow  bool
	Lasts  bool   // the yes is for longer than this once
	Always bool   // with Lasts: for longer than the session, too
	Reason string // for people
}

// asked reads a request for leave. What can't be made out is asked for all the same, as
// something that every rule could mean.
func asked(p sdk.RequestPermissionRequest) Ask {
	a := Ask{Call: string(p.ToolCall.ToolCallId), Kind: string(sdk.ToolKindOther)}
	if p.ToolCall.Kind != nil {
		a.Kind = string(*p.ToolCall.Kind)
	}
	if p.ToolCall.Title != nil {
		a.Title = *p.ToolCall.Title
	}
	a.Line, _ = json.Marshal(p.ToolCall) // it came as JSON
	command, told := commandOf(p.ToolCall.RawInput)
	files := filesOf(p.ToolCall)
	if told || a.Kind == string(sdk.ToolKindExecute) {
		a.Command = &command
	}
	// Both, where it has both: what one edits with may have a member "command", too.
	switch a.Files = files; a.Kind {
	case string(sdk.ToolKindEdit), string(sdk.ToolKindDelete), string(sdk.ToolKindMove):
		if len(files) == 0 {
			a.Files = []string{""}
		}
	}
	return a
}

// commandOf returns the shell command of a call's input, which is a text or the words of
// one: "" if it is not known. told reports whether the input has one. Of an input with two
// commands it is not known which one the agent runs.
func commandOf(input any) (command string, told bool) {
	members, ok := input.(map[string]any)
	if !ok {
		return "", false
	}
	for _, name := range []string{"command", "cmd"} {
		switch v := members[name].(type) {
		case string:
			if told {
				return "", true
			}
			command, told = v, true
		case []any:
			if told {
				return "", true
			}
			told = true
			words := make([]string, 0, len(v))
			for _, one := range v {
				word, ok := one.(string)
				if !ok {
					return "", true
				}
				words = append(words, word)
			}
			command = script(words)
		}
	}
	return command, told
}

// script is a command given in words as a shell would be told it: that of a shell is its
// script. Any other program may do anything with the same arguments.
func script(words []string) string {
	if len(words) == 3 && (words[1] == "-c" || words[1] == "-lc") && isShell(words[0]) {
		return words[2]
	}
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return strings.Join(quoted, " ")
}

// isShell reports whether a program is a shell by its plain name, or where systems keep it.
func isShell(program string) bool {
	folder, name := path.Split(program)
	return slices.Contains([]string{"bash", "zsh", "sh", "dash"}, name) &&
		slices.Contains([]string{"", "/bin/", "/usr/bin/", "/usr/local/bin/", "/opt/homebrew/bin/"}, folder)
}

// filesOf are the files that a call changes.
func filesOf(call sdk.ToolCallUpdate) []string {
	var files []string
	for _, c := range call.Content {
		if c.Diff != nil {
			files = append(files, c.Diff.Path)
		}
	}
	if len(files) > 0 || call.Kind == nil {
		return files
	}
	switch *call.Kind {
	case sdk.ToolKindEdit, sdk.ToolKindDelete, sdk.ToolKindMove:
		for _, l := range call.Locations {
			files = append(files, l.Path)
		}
	}
	return files
}

// codexAlways is the option by which codex-acp says that a command is allowed for good. Another of its options, for the
// session, has the same kind.
const codexAlways = "accept_execpolicy_amendment"

// selected returns the answer that selects an option.
func selected(o sdk.PermissionOption) sdk.RequestPermissionResponse {
	return sdk.RequestPermissionResponse{Outcome: sdk.RequestPermissionOutcome{
		Selected: &sdk.RequestPermissionOutcomeSelected{Outcome: "selected", OptionId: o.OptionId},
	}}
}

// answered is the option that says so. Where none does the call is cancelled: no answer is
// never a yes.
func answered(options []sdk.PermissionOption, answer Answer) sdk.RequestPermissionResponse {
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
			if o.Kind == kind {
				return selected(o)
			}
		}
	}
	return sdk.RequestPermissionResponse{Outcome: sdk.RequestPermissionOutcome{Cancelled: &sdk.RequestPermissionOutcomeCancelled{Outcome: "cancelled"}}}
}
