package follow

import "strings"

// Wrap breaks a text into lines of at most width characters, but not less than 8, after spaces where
// possible.
func Wrap(text string, width int) (lines []string) {
	width = max(width, 8)
	rest := []rune(text)
	for len(rest) > width {
		at := width
		for i := width; i > width/2; i-- {
			if rest[i] == ' ' {
				at = i
				break
			}
		}
		lines = append(lines, strings.TrimRight(string(rest[:at]), " "))
		rest = []rune(strings.TrimLeft(string(rest[at:]), " "))
	}
	return append(lines, string(rest))
}
