//go:build !windows

package hook

// shortPath returns path: only Windows has other names for files.
func shortPath(path string) string { return path }
