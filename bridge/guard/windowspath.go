package guard

import (
	"slices"
	"strings"

	"codex-bridge.example/bridge/policy"
)

// windowsDevices are names that Windows keeps for devices, in each folder and with each extension. So are
// com and lpt with one of deviceDigits.
var windowsDevices = []string{"con", "prn", "aux", "nul", "conin$", "conout$"}

const deviceDigits = "0123456789¹²³"

// windowsPath returns a path without a prefix such as \\?\, with which Codex names files on Windows. It
// refuses a path that Windows reads in another way than the policy: as a stream or a device, or without
// the dots and spaces at the end of a name.
func windowsPath(path string) (string, error) {
	path, err := withoutWindowsPrefix(path)
	if err != nil {
		return "", err
	}
	names := path
	if startsWithDrive(path) {
		names = path[2:]
	}
	isSeparator := func(r rune) bool { return r == '\\' || r == '/' }
	isNetwork := len(path) > 1 && isSeparator(rune(path[0])) && isSeparator(rune(path[1]))
	for i, name := range strings.FieldsFunc(names, isSeparator) {
		if isNetwork && i == 0 && (name == "." || name == "?") {
			return "", policy.PathError(`Windows reads a path that starts with \\` + name + `\ as a device; use one with a drive letter`)
		}
		if err := checkWindowsName(name); err != nil {
			return "", err
		}
	}
	return path, nil
}

// withoutWindowsPrefix removes the prefixes by which Windows reads a path as it is.
func withoutWindowsPrefix(path string) (string, error) {
	for _, prefix := range []string{`\\?\`, `\??\`} {
		rest, ok := strings.CutPrefix(path, prefix)
		switch {
		case !ok:
		case len(rest) > 4 && strings.EqualFold(rest[:4], `UNC\`):
			path = `\\` + rest[4:]
		case startsWithDrive(rest):
			path = rest
		default:
			return "", policy.PathError("Windows reads a path that starts with " + prefix + " as a device; use one with a drive letter")
		}
	}
	return path, nil
}

// checkWindowsName returns an error for a name that Windows does not read as the policy does.
func checkWindowsName(name string) error {
	switch {
	case name == "." || name == "..":
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || strings.ContainsRune(`:*?"<>|`, r) }):
		return policy.PathError("a name of a file on Windows has none of : * ? \" < > | and no control characters")
	case strings.HasSuffix(name, ".") || strings.HasSuffix(name, " "):
		return policy.PathError("Windows drops dots and spaces at the end of a name")
	case isWindowsDevice(name):
		return policy.PathError("Windows reads " + name + " as a device")
	}
	return nil
}

func startsWithDrive(path string) bool {
	return len(path) > 2 && path[1] == ':' && (path[2] == '\\' || path[2] == '/') && 'a' <= path[0]|0x20 && path[0]|0x20 <= 'z'
}

func isWindowsDevice(name string) bool {
	base, _, _ := strings.Cut(strings.ToLower(name), ".")
	base = strings.TrimRight(base, " ")
	if slices.Contains(windowsDevices, base) {
		return true
	}
	digit, ok := strings.CutPrefix(base, "com")
	if !ok {
		digit, ok = strings.CutPrefix(base, "lpt")
	}
	return ok && len([]rune(digit)) == 1 && strings.Contains(deviceDigits, digit)
}
