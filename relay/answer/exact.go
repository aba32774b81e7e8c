package answer

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"codex-bridge.example/bridge/display"
	"codex-bridge.example/rpc"
)

// exactLines returns lines with the texts of an approval request that the lines of its description do not show as they
// are.
func exactLines(method string, params rpc.Value, shown []string) (lines []string) {
	switch method {
	case "item/commandExecution/requestApproval":
		lines = exactCommand(params, shown)
		lines = append(lines, exactText("Folder: ", params, "cwd", shown)...)
	case "item/fileChange/requestApproval":
		lines = exactText("Write access: ", params, "grantRoot", shown)
	}
	for _, name := range [...]string{
		"permissions", "networkApprovalContext", "additionalPermissions", "proposedExecpolicyAmendment", "proposedNetworkPolicyAmendments",
	} {
		if v := params.Get(name); v.Exists() && !isPlain(v) {
			lines = append(lines, "Whole "+name+": "+display.Exact(string(v.Raw())))
		}
	}
	return append(lines, exactText("Reason: ", params, "reason", shown)...)
}

// mergeExact returns the lines of a description, those that it has cut, and the exact ones. An exact line takes the
// place of the line with the same label, such as "Reason: ".
func mergeExact(shown, cut, exact []string) (lines []string) {
	placed := make([]bool, len(exact))
	for _, line := range slices.Concat(shown, cut) {
		label, _, hasLabel := strings.Cut(line, ": ")
		i := slices.IndexFunc(exact, func(one string) bool { return hasLabel && strings.HasPrefix(one, label+": ") })
		switch {
		case i < 0:
			lines = append(lines, line)
		case !placed[i]:
			lines, placed[i] = append(lines, exact[i]), true
		}
	}
	for i, line := range exact {
		if !placed[i] {
			lines = append(lines, line)
		}
	}
	return lines
}

// shellCommand matches a command that Codex runs with a shell of the system.
var shellCommand = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^((?:(?:/usr(?:/local)?)?/bin/)?(?:ba|z|da|k)?sh -l?c) (.*)$`)
})

// exactCommand returns the whole command: as lines, or only its shell if the description has the rest.
func exactCommand(params rpc.Value, shown []string) []string {
	isShown := func(text string) bool {
		return display.Exact(text) == text && slices.Contains(shown, "Command: "+text)
	}
	command := params.Get("command")
	whole := words(command)
	if isShown(whole) || !command.Exists() || command.Kind() == rpc.Null {
		return nil
	}
	if shell, script := shellScript(whole); script != "" && isShown(script) {
		return []string{"Shell: " + shell}
	}
	return append([]string{"Whole command:"}, display.Block(whole)...)
}

// shellScript returns the script of a command that Codex runs with a shell: one plain word, or the text in quotes.
func shellScript(command string) (shell, script string) {
	parts := shellCommand().FindStringSubmatch(command)
	if parts == nil {
		return "", ""
	}
	script = parts[2]
	if plainWord().MatchString(script) {
		return parts[1], script
	}
	script = strings.TrimSuffix(strings.TrimPrefix(script, "'"), "'")
	if parts[2] != "'"+script+"'" || strings.Contains(script, "'") || plainWord().MatchString(script) {
		return "", "" // Codex quotes a script only where needed
	}
	return parts[1], script
}

// exactText returns a line with a member's text, unless it is shown.
func exactText(label string, params rpc.Value, key string, shown []string) []string {
	text, _ := params.Get(key).Text()
	if line := label + display.Exact(text); text != "" && !slices.Contains(shown, line) {
		return []string{line}
	}
	return nil
}

// exactWords returns the words of a command.
func exactWords(list rpc.Value) string {
	for e := range list.Elements() {
		if text, ok := e.Text(); !ok || !plainWord().MatchString(text) {
			return display.Exact(string(list.Raw()))
		}
	}
	return words(list)
}

// plainWord matches a text that stays one word among others.
var plainWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\pL\pN._/+@%=*-]+$`) })

// isPlain reports whether a card shows all texts of a value as they are.
func isPlain(v rpc.Value) bool {
	const most = 20 // more of them are hard to read in one line
	plain, n := true, 0
	eachText(v, func(text string) {
		n++
		plain = plain && plainWord().MatchString(text) && shortValue(text) == text
	})
	return plain && n <= most
}
