package acp

import (
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/coder/acp-go-sdk"
)

// Outbox returns the functions of a new outbox.
func Outbox(deliver func(Update)) (put func(Update) bool, end func()) {
	o := newOutbox(deliver)
	return o.put, o.close
}

// CommandOf returns the command of a call's input, and the words of the shell before it.
func CommandOf(v any) (command, shell string, ok bool) { return readInput(v).command() }

// FolderOf returns the folder of a call with this input, and the members that are not known.
func FolderOf(t *testing.T, text string) string {
	t.Helper()
	var call sdk.ToolCallUpdate
	if err := json.Unmarshal([]byte(`{"toolCallId":"t","kind":"execute","rawInput":`+text+`}`), &call); err != nil {
		t.Fatal(err)
	}
	a := readToolCall(announcedCall{ToolCallUpdate: call}, "/w")
	return strings.Join(append([]string{a.Cwd}, a.Unread...), " ")
}

// ChangeOf returns the files of a call of a kind with this input, and the members that are not known. diff is the file of
// its diff; "" for none.
func ChangeOf(t *testing.T, kind, diff, input string) (files, unread string) {
	t.Helper()
	var call sdk.ToolCallUpdate
	if err := json.Unmarshal([]byte(`{"toolCallId":"t","kind":"`+kind+`","rawInput":`+input+`}`), &call); err != nil {
		t.Fatal(err)
	}
	if diff != "" {
		call.Content = []sdk.ToolCallContent{{Diff: &sdk.ToolCallContentDiff{Path: diff, Type: "diff"}}}
	}
	a := readToolCall(announcedCall{ToolCallUpdate: call}, "/w")
	return strings.Join(a.Files, " "), strings.Join(a.Unread, " ")
}

// ReadAnnounced returns the command and files of a request for permission, after an announced call and an
// update of it, each "" if it did not come: "-" if there is none, "?" for an unknown one.
func ReadAnnounced(t *testing.T, announced, update, request string) (command, files string) {
	t.Helper()
	var calls announcedCalls
	read := func(text string, into any) bool {
		if text == "" {
			return false
		}
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
		return true
	}
	var begun sdk.SessionUpdateToolCall
	if read(announced, &begun) {
		calls.announce(begun)
	}
	var more sdk.SessionToolCallUpdate
	if read(update, &more) {
		calls.update(more)
	}
	var call sdk.ToolCallUpdate
	read(request, &call)
	a := readToolCall(calls.merge(call), "/w")
	command, files = "-", "-"
	if a.Command != nil {
		if command = *a.Command; command == "" {
			command = "?"
		}
	}
	if len(a.Files) > 0 {
		if files = strings.Join(a.Files, " "); files == "" {
			files = "?"
		}
	}
	return command, files
}

// SelectedOption returns the option that an answer selects; "" for none. Each option has an id and a kind.
func SelectedOption(answer Answer, options ...[2]string) string {
	var offered []sdk.PermissionOption
	for _, o := range options {
		offered = append(offered, sdk.PermissionOption{OptionId: sdk.PermissionOptionId(o[0]), Kind: sdk.PermissionOptionKind(o[1])})
	}
	if s := permissionResponse(offered, answer).Outcome.Selected; s != nil {
		return string(s.OptionId)
	}
	return ""
}
