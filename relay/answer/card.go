package answer

import (
	"fmt"
	"strings"

	"codex-bridge/rpc"
)

// Card is what a person is shown of a question. A host's own gateway cuts longer
// texts: these fit.
type Card struct {
	Title, Description string
	ToolName           string // by which a host knows the kind
	Severity           string // "info" or "warning"
}

const (
	titleLength       = 80
	descriptionLength = 256
	permissionLength  = 700
	valueLength       = 48
)

// ApprovalCard shows an approval; session says to whose conversation it belongs, and
// may be empty. ok is false for a method that nobody is asked about.
func ApprovalCard(method string, params rpc.Value, session string) (card Card, ok bool) {
	var lines []string
	switch method {
	case "item/commandExecution/requestApproval":
		card = Card{Title: "Codex app-server command approval", ToolName: "codex_command_approval", Severity: "warning"}
		lines = commandLines(method, params)
	case "item/fileChange/requestApproval":
		card = Card{Title: "Codex app-server file approval", ToolName: "codex_file_approval", Severity: "info"}
		lines = reasonLines(method, params)
	case "item/permissions/requestApproval":
		card = Card{Title: "Codex app-server permission approval", ToolName: "codex_permission_approval", Severity: "info"}
		card.Description = short(short(strings.Join(permissionLines(params.Get("permissions")), "\n"), permissionLength), descriptionLength)
		return card, true
	default:
		return Card{}, false
	}
	tail := ""
	if session != "" {
		tail = "\nSession: " + asPath.Replace(short(Clean(session), 80))
	}
	head := strings.Join(lines, "\n")
	card.Description = short(head, max(descriptionLength-len([]rune(tail)), 0)) + tail
	return card, true
}

// commandLines show the command, as codex has read it where it has, and what else is
// asked with it.
func commandLines(method string, params rpc.Value) []string {
	details := commandDetails(params)
	most := 180
	if len(details) > 0 {
		most = 80
	}
	var parts []string
	for e := range params.Get("commandActions").Elements() {
		if text, ok := e.Get("command").Text(); ok && text != "" {
			parts = append(parts, text)
		}
	}
	text := strings.Join(parts, " && ")
	if text == "" {
		text, _ = params.Get("command").Text()
	}
	if shown := preview(compact(text), most); shown != "" {
		return append([]string{"Command: " + shown}, details...)
	}
	return append(reasonLines(method, params), details...)
}

func reasonLines(method string, params rpc.Value) []string {
	text, _ := params.Get("reason").Text()
	if shown := preview(compact(text), 180); shown != "" {
		return []string{"Reason: " + shown}
	}
	return []string{"Request method: " + method}
}

func commandDetails(params rpc.Value) (lines []string) {
	if at := params.Get("networkApprovalContext"); at.Kind() == rpc.Object {
		lines = append(lines, "Network: "+shown(at.Get("protocol"))+" "+shown(at.Get("host")))
	}
	if more := params.Get("additionalPermissions"); more.Kind() == rpc.Object && more.Len() > 0 {
		for i, line := range permissionLines(more) {
			if i == 0 {
				line = "Additional p" + strings.TrimPrefix(line, "P")
			}
			lines = append(lines, line)
		}
	}
	var words []string
	for e := range params.Get("proposedExecpolicyAmendment").Elements() {
		words = append(words, shown(e))
	}
	if n := len(words); n > 0 {
		line := "Proposed exec policy: " + strings.Join(words[:min(n, 2)], ", ")
		if n > 2 {
			line += fmt.Sprintf(" (+%d more)", n-2)
		}
		lines = append(lines, line)
	}
	words = nil
	for e := range params.Get("proposedNetworkPolicyAmendments").Elements() {
		words = append(words, shown(e.Get("action"))+" "+shown(e.Get("host")))
	}
	if len(words) > 0 {
		lines = append(lines, "Proposed network policy: "+strings.Join(words[:min(len(words), 2)], ", "))
	}
	return lines
}

// shown is a value in few words.
func shown(v rpc.Value) string {
	text, ok := v.Text()
	if !ok {
		text = string(v.Raw())
	}
	text = Clean(compact(clip(text, 4096)))
	if text == "" {
		text = "?"
	}
	return asPath.Replace(short(text, valueLength))
}
