package policy

import "codex-bridge.example/rpc"

// level orders sandboxes by their rights.
type level uint8

const (
	ReadOnly level = iota
	WorkspaceWrite
	FullAccess
)

// A level has three names: as a mode in thread requests and the configuration, as the type of a
// sandboxPolicy, and as a builtin permissions profile.
var (
	modeNames       = [...]string{"read-only", "workspace-write", "danger-full-access"}
	typeNames       = [...]string{"readOnly", "workspaceWrite", "dangerFullAccess"}
	builtinProfiles = [...]string{":read-only", ":workspace", ":danger-full-access"}
)

func (l level) String() string { return modeNames[l] }

// parseMode returns the level of a mode.
func parseMode(mode string) (level, bool) {
	for i, name := range modeNames {
		if mode == name {
			return level(i), true
		}
	}
	return ReadOnly, false
}

// builtinProfileLevel returns the level of a builtin profile; false for others, whose rights are
// unknown. Measured with Codex 0.169: a configuration can't define a profile whose name starts with
// a colon.
func builtinProfileLevel(id string) (level, bool) {
	for i, name := range builtinProfiles {
		if id == name {
			return level(i), true
		}
	}
	return ReadOnly, false
}

// levelNamed returns the level whose name in names is exactly v. Measured with Codex 0.169: it also
// reads {"danger-full-access": null} as the string.
func levelNamed(v rpc.Value, names []string) (level, bool) {
	for i, name := range names {
		if v.Is(name) {
			return level(i), true
		}
	}
	return ReadOnly, false
}
