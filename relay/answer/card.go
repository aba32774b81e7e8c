package answer

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"codex-bridge/rpc"
)

// Card is what a person is shown of a question. A host's own gateway cuts longer
// texts: these fit.
type Card struct {
	Title, Description string
	// More are lines that belong below the description: what it has cut.
	More []string
}

const (
	titleLength       = 80
	descriptionLength = 256
	valueLength       = 72
	wholeLength       = 4000 // of a text that a person has to see whole
)

// ApprovalCard shows an approval; session says to whose conversation it belongs, and
// may be empty. ok is false for a method that nobody is asked about.
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
		tail = "\nSession: " + fit(session, 80, asPath)
	}
	card.Description = fitted(max(descriptionLength-len([]rune(tail)), 0), lines) + tail
	if method == "item/commandExecution/requestApproval" {
		card.More = wholeCommand(params, card.Description)
	}
	for _, line := range lines(detail{100, 100}) {
		if !strings.HasPrefix(line, "Command: ") && !slices.Contains(strings.Split(card.Description, "\n"), line) {
			card.More = append(card.More, line)
		}
	}
	if line := homes(params); line != "" && strings.ContainsAny(card.Description+strings.Join(card.More, ""), "~～") {
		card.More = append(card.More, line)
	}
	return card, true
}

// shell is the program by which Codex starts a command.
var shell = regexp.MustCompile(`^(?:/[\w./-]*/)?(?:ba|z|da|k)?sh -l?c `)

// wholeCommand returns the line for a command that the description has cut, or has replaced by the commands that Codex
// has read in it; nil if it has all of it.
func wholeCommand(params rpc.Value, description string) []string {
	whole := words(params.Get("command"))
	texts := commandTexts(params)
	read := strings.Join(texts, " && ")
	if whole == "" {
		whole = read
	}
	inner := shell.ReplaceAllString(whole, "")
	covered := whole == read || inner == read || inner == "'"+read+"'"
	clean := Clean(whole)
	if covered && lost(whole, clean) == 0 && strings.Contains(description, "Command: "+asText.Replace(Clean(compact(read)))) {
		return nil
	}
	if clean == "" && lost(whole, clean) == 0 {
		return nil
	}
	return []string{"Whole command: " + fit(compact(whole), wholeLength, asText)}
}

// detail is how much a card shows of its lists: the rest of a list is counted.
type detail struct{ values, members int }

// details begin with the usual one. The others are for cards that would be cut: a count
// tells a person more than an end that is missing.
var details = []detail{{2, 6}, {1, 6}, {1, 3}, {0, 3}, {0, 1}}

// fitted returns the lines with the most detail that has room. Where none has, the last lines are counted.
func fitted(room int, lines func(detail) []string) string {
	var all []string
	for _, d := range details {
		all = lines(d)
		if text := strings.Join(all, "\n"); clip(text, room) == text {
			return text
		}
	}
	for kept := len(all) - 1; kept > 0; kept-- {
		if text := strings.Join(all[:kept], "\n") + rest(len(all)-kept); clip(text, room) == text {
			return text
		}
	}
	more := ""
	if len(all) > 1 {
		more = rest(len(all) - 1)
	}
	return short(all[0], room-len(more)) + more
}

func rest(lines int) string {
	if lines == 1 {
		return "\n(+1 more line)"
	}
	return fmt.Sprintf("\n(+%d more lines)", lines)
}

// samples shows the first values of a list, and how many there are besides.
func samples(values []string, most int) string {
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

// commandLines show the command, as codex has read it where it has, and what else is
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

// commandTexts are the commands that codex has read, else the text or the words that the command is.
func commandTexts(params rpc.Value) (texts []string) {
	for e := range params.Get("commandActions").Elements() {
		text := words(e.Get("command"))
		if text == "" { // Codex has not read all of it
			return []string{words(params.Get("command"))}
		}
		texts = append(texts, text)
	}
	if len(texts) == 0 {
		texts = append(texts, words(params.Get("command")))
	}
	return texts
}

// commandShown joins commands, and counts those that it has no room for.
func commandShown(texts []string, most int) string {
	for kept := len(texts); ; kept-- {
		more := ""
		if n := len(texts) - kept; n > 0 {
			more = fmt.Sprintf(" (+%d more)", n)
		}
		all := compact(strings.Join(texts[:kept], " && "))
		if text := preview(all, most-len(more)); kept == 1 || text == preview(all, len(all)) {
			return text + more
		}
	}
}

// words returns a text, or the elements of a list with spaces between them.
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

// plain returns a text as it is, and any other value as JSON.
func plain(v rpc.Value) string {
	if text, ok := v.Text(); ok {
		return text
	}
	return string(v.Raw())
}

// fileLines show why files are to be changed, and the folder that the person would open for
// the rest of the session.
func fileLines(method string, params rpc.Value) []string {
	lines := reasonLines(method, params)
	if root, ok := params.Get("grantRoot").Text(); ok && root != "" {
		lines = append(lines, "Write access: "+shown(root))
	}
	return lines
}

func reasonLines(method string, params rpc.Value) []string {
	if reason := Reason(params); reason != "" {
		return []string{reason}
	}
	return []string{"Request method: " + method}
}

// Reason returns the reason of a question as one line; "" if it has none. A card of a command has no room
// for it.
func Reason(params rpc.Value) string {
	text, _ := params.Get("reason").Text()
	if Clean(text) == "" {
		return ""
	}
	return "Reason: " + fit(compact(text), 180, asText)
}

func commandDetails(params rpc.Value, d detail) (lines []string) {
	if at := params.Get("networkApprovalContext"); at.Kind() == rpc.Object {
		lines = append(lines, "Network: "+shown(plain(at.Get("protocol")))+" "+host(at.Get("host"))+others(at, "protocol", "host"))
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
		rule = append(rule, shown(plain(e)))
	}
	if len(rule) > 0 {
		lines = append(lines, "Proposed exec policy: "+samples(rule, d.values))
	}
	for e := range params.Get("proposedNetworkPolicyAmendments").Elements() {
		hosts = append(hosts, shown(plain(e.Get("action")))+" "+host(e.Get("host"))+others(e, "action", "host"))
	}
	if len(hosts) > 0 {
		lines = append(lines, "Proposed network policy: "+samples(hosts, d.values))
	}
	return lines
}

// host shows a host name in lower case.
func host(v rpc.Value) string { return shown(strings.ToLower(plain(v))) }

// others shows the members of an object beside those that are named.
func others(v rpc.Value, named ...string) string {
	text := ""
	for key, m := range v.Members() {
		if m.Kind() != rpc.Null && !slices.Contains(named, key) {
			text += " " + shown(key+": "+string(m.Raw()))
		}
	}
	return text
}

// shown is a value in few words.
func shown(text string) string {
	if text = fit(compact(text), valueLength, asPath); text == "" {
		return "?"
	}
	return text
}

// Files shows which files a patch changes, in a line.
func Files(paths []string) string {
	const most, length = 6, 120
	list := make([]string, len(paths))
	for i, path := range paths {
		list[i] = fit(path, length, asPath)
	}
	return "Files: " + samples(list, most)
}

// Lasting returns a text for the person: what ApprovedSession allows beyond this call, or "". It may be a
// permanent rule of Codex.
func Lasting(method string, params rpc.Value) string {
	const session = "for this session"
	switch method {
	case "item/commandExecution/requestApproval":
		return lastingCommand(params.Get("availableDecisions"))
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

func lastingCommand(offered rpc.Value) string {
	if offers(offered, "acceptForSession") {
		return "for this session"
	}
	raw := amendment(offered)
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
	rule := words(doc.Root().Get("acceptWithExecpolicyAmendment").Get("execpolicy_amendment"))
	return "always, for commands that begin with " + fit(compact(rule), wholeLength, asText)
}
