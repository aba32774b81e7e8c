package store

import "io/fs"

// private checks nothing on Windows: modes say nothing there, and the folder
// inherits the access list of the user's local application data.
func private(string, fs.FileInfo, string) error { return nil }

// syncFolder does nothing on Windows, where a folder can't be synced.
func syncFolder(string) error { return nil }
