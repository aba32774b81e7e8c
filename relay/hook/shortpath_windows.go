package hook

import "golang.org/x/sys/windows"

// shortPath returns the path with the short name of each folder, or path if it has none.
func shortPath(path string) string {
	long, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return path
	}
	short := make([]uint16, windows.MAX_LONG_PATH)
	n, err := windows.GetShortPathName(long, &short[0], uint32(len(short)))
	if err != nil || int(n) > len(short) {
		return path
	}
	return windows.UTF16ToString(short[:n])
}
