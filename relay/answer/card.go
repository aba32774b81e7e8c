package answer

import (
	"fmt"
	"slices"
	"strings"

	"codex-bridge.example/bridge/display"
	"codex-bridge.example/rpc"
)

// Card is the text that a person sees for a question. It fits into a host's gateway, which
// cuts longer texts.
type Card struct {
	Title, Description string
	// Lines are what a terminal shows, which has room for the parts that the description cuts. Each text of others is
	// there once, as it is, or whole and quoted. Two questions never look the same.
	Lines []string
}

const (
	titleLength       = 80
	descriptionLength = 256
	valueLength       = 72
)

// ApprovalCard returns the card of an approval request. session names the conversation and
// may be empty. ok is false for methods without a card.
func ApprovalCard(method string, params rpc.Value, session string) (card Card, ok bool) {
	var lines func(detail) []string
	switch method {
	case "item/commandExecution/requestApproval":
		card = Card{Title: "Codex app-server command approval"}
		lines = func(d detail) []string { return commandLines(method, params, d) }
	case "item/fileChange/requestApproval":
		card = Card{Title: "Codex app-server file approval"}
		lines = func(detail) []string { return fileLines(method, params) }
	case "item/permissions/requestApproval":
		card = Card{Title: "Codex app-server permission approval"}
		lines = func(d detail) []string { return permissionLines(params.Get("permissions"), d) }
		session = ""
	default:
		return Card{}, false
	}
	tail := ""
	if session != "" {
		tail = "\nSession: " + cleanAndCount(session, 80, asPath)
	}
	card.Description = fitted(max(descriptionLength-len([]rune(tail)), 0), lines) + tail
	shown := strings.Split(card.Description, "\n")
	var cut []string
	for _, line := range lines(detail{100, 100}) {
		if !strings.HasPrefix(line, "Command: ") && !slices.Contains(shown, line) {
			cut = append(cut, line)
		}
	}
	card.Lines = append([]string{card.Title}, mergeExact(shown, cut, exactLines(method, params, shown))...)
	return card, true
}

// detail is how many values and members a card shows; it counts the others.
type detail struct{ values, members int }

// details are tried in order until a card fits: a count is more useful than a cut end.
var details = []detail{{2, 6}, {1, 6}, {1, 3}, {0, 3}, {0, 1}}

// fitted returns the lines with the most detail that fits. If none fits, it counts the last
// lines.
func fitted(room int, lines func(detail) []string) string {
	var all []string
	for _, d := range details {
		all = lines(d)
		if text := strings.Join(all, "\n"); display.StartRunes(text, room) == text {
			return text
		}
	}
	for kept := len(all) - 1; kept > 0; kept-- {
		if text := strings.Join(all[:kept], "\n") + moreLines(len(all)-kept); display.StartRunes(text, room) == text {
			return text
		}
	}
	more := ""
	if len(all) > 1 {
		more = moreLines(len(all) - 1)
	}
	return truncateAndCount(all[0], room-len(more)) + more
}

func moreLines(lines int) string {
	if lines == 1 {
		return "\n(+1 more line)"
	}
	return fmt.Sprintf("\n(+%d more lines)", lines)
}

// firstValues returns the first values of a list and the number of the others.
func firstValues(values []string, most int) string {
	switch n := len(values) - most; {
	case len(values) == 0:
		return "none"
	case n <= 0:
		return strings.Join(values, ", ")
	case most == 0:
		return fmt.Sprintf("%d in all", n)
	default:
		return fmt.Sprintf("%s (+%d more)", strings.Join(values[:most], ", "), n)
	}
}

// commandLines returns the command, in Codex's parsed form if there is one, and what is
// asked with it.
func commandLines(method string, params rpc.Value, d detail) []string {
	more := commandDetails(params, d)
	most := 180
	if len(more) > 0 {
		most = 80
	}
	if shown := commandShown(commandTexts(params), most); shown != "" {
		return append([]string{"Command: " + shown}, more...)
	}
	return append(reasonLines(method, params), more...)
}

// commandTexts returns the commands that Codex has parsed, or else the command itself.
func commandTexts(params rpc.Value) (texts []string) {
	for e := range params.Get("commandActions").Elements() {
		text := words(e.Get("command"))
		if text == "" { // Codex has not parsed all of it
			return []string{words(params.Get("command"))}
		}
		texts = append(texts, text)
	}
	if len(texts) == 0 {
		texts = append(texts, words(params.Get("command")))
	}
	return texts
}

// commandShown joins the commands that fit and counts the others.
func commandShown(texts []string, most int) string {
	for kept := len(texts); ; kept-- {
		more := ""
		if n := len(texts) - kept; n > 0 {
			more = fmt.Sprintf(" (+%d more)", n)
		}
		all := hideHomes(strings.Join(texts[:kept], " && "))
		if text := preview(all, most-len(more)); kept == 1 || text == preview(all, len(all)) {
			return text + more
		}
	}
}

// words returns a string, or the elements of a list joined by spaces.
func words(v rpc.Value) string {
	if text, ok := v.Text(); ok {
		return text
	}
	var all []string
	for e := range v.Elements() {
		all = append(all, plain(e))
	}
	return strings.Join(all, " ")
}

// plain returns a string as it is, and any other value as JSON.
func plain(v rpc.Value) string {
	if text, ok := v.Text(); ok {
		return text
	}
	return string(v.Raw())
}

// fileLines returns the reason of a file change, and the folder that would become writable.
func fileLines(method string, params rpc.Value) []string {
	lines := reasonLines(method, params)
	if root, ok := params.Get("grantRoot").Text(); ok && root != "" {
		lines = append(lines, "Write access: "+shortValue(root))
	}
	return lines
}

func reasonLines(method string, params rpc.Value) []string {
	if text, _ := params.Get("reason").Text(); Clean(text) != "" {
		return []string{"Reason: " + cleanAndCount(hideHomes(text), 180, asText)}
	}
	return []string{"Request method: " + method}
}

func commandDetails(params rpc.Value, d detail) (lines []string) {
	if at := params.Get("networkApprovalContext"); at.Kind() == rpc.Object {
		lines = append(lines, "Network: "+shortValue(plain(at.Get("protocol")))+" "+host(at.Get("host"))+otherMembers(at, "protocol", "host"))
	}
	if more := params.Get("additionalPermissions"); more.Kind() == rpc.Object && more.Len() > 0 {
		for i, line := range permissionLines(more, d) {
			if i == 0 {
				line = "Additional p" + strings.TrimPrefix(line, "P")
			}
			lines = append(lines, line)
		}
	}
	var rule, hosts []string
	for e := range params.Get("proposedExecpolicyAmendment").Elements() {
		rule = append(rule, shortValue(plain(e)))
	}
	if len(rule) > 0 {
		lines = append(lines, "Proposed exec policy: "+firstValues(rule, d.values))
	}
	for e := range params.Get("proposedNetworkPolicyAmendments").Elements() {
		hosts = append(hosts, shortValue(plain(e.Get("action")))+" "+host(e.Get("host"))+otherMembers(e, "action", "host"))
	}
	if len(hosts) > 0 {
		lines = append(lines, "Proposed network policy: "+firstValues(hosts, d.values))
	}
	return lines
}

// host returns a host name in lower case.
func host(v rpc.Value) string { return shortValue(strings.ToLower(plain(v))) }

// otherMembers returns the members of an object that are not named.
func otherMembers(v rpc.Value, named ...string) string {
	text := ""
	for key, m := range v.Members() {
		if m.Kind() != rpc.Null && !slices.Contains(named, key) {
			text += " " + shortValue(key+": "+string(m.Raw()))
		}
	}
	return text
}

// shortValue returns a value in few characters.
func shortValue(text string) string {
	if text = cleanAndCount(hideHomes(text), valueLength, asPath); text == "" {
		return "?"
	}
	return text
}

// SessionScope returns a text for the person about what ApprovedSession allows beyond this
// call, or "". That may be a permanent rule of Codex.
func SessionScope(method string, params rpc.Value) string {
	const session = "for this session"
	switch method {
	case "item/commandExecution/requestApproval":
		return commandSessionScope(params.Get("availableDecisions"))
	case "mcpServer/elicitation/request":
		hints := persistHints(params)
		switch {
		case len(hints) == 0:
			return ""
		case hints[0] == "always":
			return "always"
		}
	}
	return session
}

func commandSessionScope(offered rpc.Value) string {
	if offers(offered, "acceptForSession") {
		return "for this session"
	}
	raw := allowingAmendment(offered)
	if raw == nil {
		return ""
	}
	doc, err := rpc.ParseValue(raw)
	if err != nil {
		return ""
	}
	if at := doc.Root().Get("applyNetworkPolicyAmendment").Get("network_policy_amendment"); at.Exists() {
		return "always, for the host " + host(at.Get("host"))
	}
	return "always, for commands that begin with " + exactWords(doc.Root().Get("acceptWithExecpolicyAmendment").Get("execpolicy_amendment"))
}
