package codex

import (
	"context"
	"slices"
)

// EnvironOn is Environ on another system.
var EnvironOn = environ

// TableKeys returns the sorted keys of a table of config.toml.
func TableKeys(ctx context.Context, c Command, table, seed string, lists [][]string) ([]string, error) {
	keys, err := c.tableKeys(ctx, configTable{name: table, seeds: []string{"gone", seed}}, lists)
	slices.Sort(keys)
	return keys, err
}

// The decisions of Windows, which other systems can try.
var (
	CheckArgsOn  = checkArgs
	NPMProgram   = npmProgram
	ProgramNames = programNames
)
