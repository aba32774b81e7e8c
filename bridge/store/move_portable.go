//go:build linux && portable

package store

// renameNoReplace renames a file and fails if the new name exists.
func renameNoReplace(from, to string) error { return renameByLink(from, to) }
