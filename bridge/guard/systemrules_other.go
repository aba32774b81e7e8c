//go:build !windows

package guard

// systemRules are the folders of the machine's own rules for commands.
var systemRules = []string{"/etc/codex/rules"}
