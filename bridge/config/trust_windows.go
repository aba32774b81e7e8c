package config

import "io/fs"

// trusted checks nothing on Windows, where modes say nothing.
func trusted(fs.FileInfo) error { return nil }
