package policy

import "codex-bridge.example/rpc"

// Level orders sandboxes by their rights.
type Level uint8

// The levels.
const (
	ReadOnly Level = iota
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

// String returns the mode of the level, as requests and the configuration name it.
func (l Level) String() string { return modeNames[l] }

// ParseMode returns the level of a mode.
func ParseMode(mode string) (Level, bool) {
	for i, name := range modeNames {
		if mode == name {
			return Level(i), true
		}
	}
	return ReadOnly, false
}

// BuiltinProfileLevel returns the level of a builtin profile; false for others, whose rights are
// unknown. Measured with Codex 0.169: a configuration can't define a profile whose name starts with
// a colon.
func BuiltinProfileLevel(id string) (Level, bool) {
	for i, name := range builtinProfiles {
		if id == name {
			return Level(i), true
		}
	}
	return ReadOnly, false
}

// levelNamed returns the level whose name in names is exactly v. Measured with Codex 0.169: it also
// reads {"danger-full-access": null} as the string.
func levelNamed(v rpc.Value, names []string) (Level, bool) {
	for i, name := range names {
		if v.Is(name) {
			return Level(i), true
		}
	}
	return ReadOnly, false
}
