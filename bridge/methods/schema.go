package methods

import (
	"embed"
	"fmt"
	"strings"
)

// Schema has the names of Codex Measured, as package codex writes them: methods, types, flags and
// keys of its configuration. The caller must not change it.
//
//go:embed schema.json
var Schema []byte

// Sources has the files with the rows and with Measured, for patches to them.
//
//go:embed account.go configuration.go execute.go extension.go files.go methods.go modelwork.go
//go:embed notification.go read.go remote.go serverrequest.go state.go thread.go
var Sources embed.FS

// FeatureTable is the text of features.txt: one row for each feature of Codex Measured.
//
//go:embed features.txt
var FeatureTable string

// Feature is a row of FeatureTable.
type Feature struct {
	Name    string
	Stage   string
	Default string // "true" or "false"
	Control string // what restricts the feature: "pinned", "judged", "user" or "none"
	Why     string
}

// Features parses FeatureTable.
func Features() ([]Feature, error) {
	var list []Feature
	for line := range strings.Lines(FeatureTable) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		row := strings.Split(strings.TrimSpace(line), " | ")
		if len(row) != 5 {
			return nil, fmt.Errorf("features.txt: the row %q has not 5 columns", line)
		}
		list = append(list, Feature{row[0], row[1], row[2], row[3], row[4]})
	}
	return list, nil
}

// String returns the feature as a row of FeatureTable, without the line break.
func (f Feature) String() string {
	return strings.Join([]string{f.Name, f.Stage, f.Default, f.Control, f.Why}, " | ")
}
