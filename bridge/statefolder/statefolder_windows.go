package statefolder

import "io/fs"

// checkPrivate checks nothing on Windows: file modes mean nothing there, and the folder inherits
// the access list of the user's local application data.
func checkPrivate(string, fs.FileInfo, string) error { return nil }

// Sync does nothing on Windows: it can't sync folders.
func Sync(string) error { return nil }
