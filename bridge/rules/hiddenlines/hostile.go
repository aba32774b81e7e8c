package hiddenlines

import (
	_ "embed"
	"encoding/json"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
)

//go:embed hostile.json
var hostile []byte

// HostileLine is a line of hostile.json. It starts touch with a file. These lines were written from the documentation
// alone.
type HostileLine struct {
	Category string
	Shells   []string // all, if there are none
	Needs    []string // programs, or one of needs
	// Unknown says that the file or the words can't be known, so that it starts no program below a supervisor.
	Unknown bool
	Earlier []string // lines that run before it, in the same folder
	Line    string
}

// Hostile returns the lines of hostile.json.
func Hostile() (lines []HostileLine, err error) {
	err = json.Unmarshal(hostile, &lines)
	return lines, err
}

// Texts returns the lines in their order, with a file that they make.
func (l HostileLine) Texts(marker string) []string {
	all := append(slices.Clip(l.Earlier), l.Line)
	for i := range all {
		all[i] = strings.NewReplacer("PROG", "touch", "MARKER", marker).Replace(all[i])
	}
	return all
}

// needs reports whether this machine has what lines need beside programs.
var needs = map[string]func() bool{
	"root":    func() bool { return os.Geteuid() == 0 },
	"amd64":   func() bool { return runtime.GOARCH == "amd64" },
	"unshare": func() bool { return exec.Command("unshare", "-rm", "true").Run() == nil },
}

// Needed returns a function that returns what a line needs and this machine lacks. The function may not be called
// concurrently.
func Needed() func(HostileLine) string {
	has := make(map[string]bool)
	return func(l HostileLine) string {
		for _, need := range l.Needs {
			if _, known := has[need]; !known {
				if special, ok := needs[need]; ok {
					has[need] = special()
				} else {
					_, err := exec.LookPath(need)
					has[need] = err == nil
				}
			}
			if !has[need] {
				return need
			}
		}
		return ""
	}
}
