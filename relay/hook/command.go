package hook

import (
	"fmt"
	"runtime"
	"strings"
	"time"
	"unicode"

	"codex-bridge.example/bridge/display"
)

// Command returns the command line that Codex runs for a hook. self is the path of
// codex-bridge, and timeout the time that Codex gives the hook. With allow, a tool runs
// when the bridge can't be reached or does not answer in time. Input that can't be read,
// and a socket that is not the bridge's, are denied even so.
func (s *Server) Command(self string, e Event, timeout time.Duration, allow bool) (string, error) {
	words := []string{self, "hook", "--socket", s.Socket(), "--event", string(e), "--timeout", timeout.String()}
	if allow {
		words = append(words, "--on-failure", "allow")
	}
	return commandLine(words, runtime.GOOS, shortPath)
}

// commandLine returns the line for the shell that Codex uses on the system goos. Measured by Wine with Codex
// 0.169.0: on Windows it starts powershell.exe -NoProfile -Command LINE; others start cmd.exe /C. The two
// read quotes in different ways. So a line for Windows has none: a path that would need them is replaced by
// its short form, in which the system has no spaces. Without a short form it is an error, since Codex lets
// the tool run if a hook can't be started.
func commandLine(words []string, goos string, short func(path string) string) (string, error) {
	line := make([]string, len(words))
	for i, word := range words {
		if goos != "windows" {
			line[i] = display.ShellWord(word)
			continue
		}
		if line[i] = word; !isPlainOnWindows(word) {
			line[i] = short(word)
		}
		if !isPlainOnWindows(line[i]) {
			return "", fmt.Errorf("codex on Windows can't run a hook with the path %s, which has spaces or special characters and no short name; "+
				"install codex-bridge, and set CODEX_BRIDGE_STATE to a folder, elsewhere", word)
		}
	}
	return strings.Join(line, " "), nil
}

// isPlainOnWindows reports whether PowerShell and cmd.exe take a word as it is, without quotes.
func isPlainOnWindows(word string) bool {
	return word != "" && strings.TrimFunc(word, func(r rune) bool {
		return isASCIILetterOrDigit(r) || strings.ContainsRune(`_-./\:+~`, r) || r > unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r))
	}) == ""
}

func isASCIILetterOrDigit(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

// IsCommand reports whether a line may be one of Command.
func (s *Server) IsCommand(line string) bool {
	return strings.Contains(line, " hook --socket "+display.ShellWord(s.Socket())+" ")
}
