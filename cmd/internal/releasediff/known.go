package releasediff

import (
	"slices"
	"strings"

	"codex-bridge.example/bridge/argv"
	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/codex/release"
	"codex-bridge.example/bridge/methods"
)

// dropKnown removes the names that the older of two releases has or lacks as the columns since and until say.
func dropKnown(tested, other *release.Release, changes []Change) ([]Change, error) {
	if codex.CompareVersions(other.Version, tested.Version) >= 0 {
		return changes, nil
	}
	features, err := methods.Features()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(changes, func(c Change) bool {
		since, until, ok := releasesOf(c, features)
		if !ok {
			return false
		}
		was, is := methods.IsBetween(tested.Version, since, until), methods.IsBetween(other.Version, since, until)
		switch c.Change {
		case isNew + " " + string(c.Kind):
			return !was && is
		case gone + " " + string(c.Kind):
			return was && !is
		}
		return false
	}), nil
}

// releasesOf returns the columns since and until of a name, or false if it has no row.
func releasesOf(c Change, features []methods.Feature) (since, until string, ok bool) {
	switch c.Kind {
	case Method:
		row, ok := methods.Lookup(*c.Side, c.Method)
		return row.Since, row.Until, ok
	case Field, ResponseField:
		if c.Side == nil || c.Side.IsFromClient() != (c.Kind == Field) { // of a type, or sent by Codex
			return "", "", false
		}
		row, _ := methods.Lookup(*c.Side, c.Method)
		if i := slices.IndexFunc(row.Params, func(f methods.Field) bool { return f.Name == c.Field }); i >= 0 {
			return row.Params[i].Since, row.Params[i].Until, true
		}
	case HookEvent:
		rows := methods.HookEvents()
		if i := slices.IndexFunc(rows, func(e methods.HookEvent) bool { return e.SchemaName() == c.Name }); i >= 0 {
			return rows[i].Since, rows[i].Until, true
		}
	case Feature:
		if i := slices.IndexFunc(features, func(f methods.Feature) bool { return f.Name == c.Name }); i >= 0 {
			return features[i].Since, features[i].Until, true
		}
	case Command:
		if row := argv.LookUp(strings.Fields(c.Name)...); row != nil {
			return row.Since, row.Until, true
		}
	case Flag:
		if row := argv.FindFlag(commandOfFlag(c.Command), strings.TrimSuffix(c.Name, "=")); row != nil {
			return row.Since, row.Until, true
		}
	}
	return "", "", false
}

// commandOfFlag returns a command of Release.Flags as flags.txt names it.
func commandOfFlag(command string) string { return strings.TrimPrefix(command, "codex ") }
