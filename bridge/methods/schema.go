package methods

import (
	_ "embed"
)

// Schema has the names of Codex Measured, as package codex writes them: methods, types, flags and
// keys of its configuration. The caller must not change it.
//
//go:embed schema.json
var Schema []byte

// FeatureTable is the text of features.txt: one row for each feature of the supported releases of Codex.
//
//go:embed features.txt
var FeatureTable string

// CommandTable is the text of commands.txt, FlagTable that of flags.txt, for package argv, and KeyTable that of
// keys.txt, for package policy.
var (
	//go:embed commands.txt
	CommandTable string
	//go:embed flags.txt
	FlagTable string
	//go:embed keys.txt
	KeyTable string
)

// Feature is a row of FeatureTable.
type Feature struct {
	Name    string
	Stage   string
	Default string // "true" or "false"
	Control string // what restricts the feature: "pinned", "judged", "user" or "none"
	Since   string // as in Row
	Until   string
	Why     string
}

// Features parses FeatureTable.
func Features() ([]Feature, error) {
	var list []Feature
	err := EachRow("features.txt", FeatureTable, 7, func(row []string) error {
		list = append(list, Feature{row[0], row[1], row[2], row[3], row[4], row[5], row[6]})
		return nil
	})
	return list, err
}

// String returns the feature as a row of FeatureTable, without the line break.
func (f Feature) String() string {
	return joinCells(f.Name, f.Stage, f.Default, f.Control, f.Since, f.Until, f.Why)
}
