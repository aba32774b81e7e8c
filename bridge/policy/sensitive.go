package policy

import (
	"fmt"
	"slices"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/rules"
)

// SensitivePath is a file or folder that commands must not write, such as the bridge's state.
type SensitivePath struct {
	Name string // for messages, such as "the state folder"
	Path string // canonical
	Hint string // how the user moves it
}

// TempFolder is a temporary folder of Codex. Commands of every workspace-write thread can write
// there, unless Codex's configuration or a turn excludes it.
type TempFolder struct {
	Name string // for messages: "/tmp" or "$TMPDIR"
	Path string // canonical
	// Relative reports that the path is relative to each command's folder, and so may be anywhere.
	Relative bool
}

// SensitivePathError reports a sensitive path that sandboxed commands can write.
type SensitivePathError struct {
	Sensitive SensitivePath
	Temp      TempFolder
}

func (e *SensitivePathError) Error() string { return e.Problem() + "; " + e.Hint() }

// Problem names the path and the temporary folder that it overlaps.
func (e *SensitivePathError) Problem() string {
	temp := e.Temp.Name
	if e.Temp.Relative {
		return temp + " is a relative path, which Codex resolves in the folder of each command and lets sandboxed commands write"
	}
	if temp != e.Temp.Path {
		temp += " (" + e.Temp.Path + ")"
	}
	if Within(rules.FoldCase(e.Temp.Path), rules.FoldCase(e.Sensitive.Path)) {
		return fmt.Sprintf("%s %s is in %s, where Codex lets sandboxed commands write", e.Sensitive.Name, e.Sensitive.Path, temp)
	}
	return fmt.Sprintf("%s %s contains %s, where Codex lets sandboxed commands write", e.Sensitive.Name, e.Sensitive.Path, temp)
}

// Hint returns how to fix it.
func (e *SensitivePathError) Hint() string {
	if e.Temp.Relative {
		return "set " + e.Temp.Name[1:] + " to an absolute path, or unset it"
	}
	if e.Temp.Name != "/tmp" {
		return e.Sensitive.Hint + ", or set " + e.Temp.Name[1:] + " to another folder"
	}
	return e.Sensitive.Hint
}

// CheckSensitivePaths returns an error for each sensitive path that overlaps a temporary folder. It
// returns nil unless the policy is enforced and allows writing.
func (p *Policy) CheckSensitivePaths(places []SensitivePath, temps []TempFolder) []*SensitivePathError {
	if p.mode != config.Enforce || p.maxLevel == ReadOnly {
		return nil
	}
	var out []*SensitivePathError
	for _, temp := range temps {
		if temp.Relative {
			out = append(out, &SensitivePathError{Temp: temp})
		}
	}
	for _, place := range places {
		if i := slices.IndexFunc(temps, func(t TempFolder) bool { return !t.Relative && t.overlaps(place.Path) }); i >= 0 {
			out = append(out, &SensitivePathError{place, temps[i]})
		}
	}
	return out
}

// Overlaps reports whether path is, contains or is in the folder. It ignores case, which is the
// stricter choice.
func (t TempFolder) overlaps(path string) bool {
	return Overlaps(rules.FoldCase(t.Path), rules.FoldCase(path))
}

// OverlapsTemp reports whether a canonical path overlaps a temporary folder of Codex.
func (st State) OverlapsTemp(path string) bool {
	return slices.ContainsFunc(st.Temps, func(t TempFolder) bool { return t.overlaps(path) })
}
