package rules

import (
	"path"
	"strings"
)

// inputNames are the names below /dev and /proc whose content the command line or its environment
// may have.
var inputNames = setOf("", ".", "..", "stdin", "stdout", "stderr", "fd", "tty", "environ", "cmdline", "comm")

// isInputName reports whether a name may be that of an input in /dev or /proc, such as stdin or the
// number of a descriptor. No other file counts by its name alone, because any folder may have it.
func isInputName(name string) bool {
	return inputNames[FoldCase(name)] || strings.Trim(name, "0123456789") == ""
}

// isInDevices reports whether an absolute path leads below /dev or /proc.
func isInDevices(file string) bool {
	clean := FoldCase(path.Clean(file))
	return strings.HasPrefix(clean, "/dev/") || strings.HasPrefix(clean, "/proc/")
}

// outputs are the paths of a command's outputs.
var outputs = setOf("/dev/stdout", "/dev/stderr")

// isOtherFile reports whether an absolute path below /proc, or that of a descriptor below /dev, may
// lead to any file, such as /proc/self/cwd/x. Only the process that opens it finds the file. Other
// paths below /dev are devices, or files such as /dev/shm/x.
//
// Measured with bash, dash and zsh on Linux: to open /dev/stdout or /dev/fd/3 opens the file of
// that descriptor again. So `echo x > /dev/fd/3` writes a file that the line has opened to read.
func (l *line) isOtherFile(file string) bool {
	if !isInDevices(file) {
		return false
	}
	clean := FoldCase(path.Clean(file))
	if isOutput(clean) {
		return l.opensDescriptor
	}
	return clean == "/dev/stdin" || strings.HasPrefix(clean, "/dev/fd/") || strings.HasPrefix(clean, "/proc/") || hasParent(file)
}

// isOutput reports whether a clean path is that of a descriptor to which a command may write.
func isOutput(clean string) bool {
	number, isDescriptor := strings.CutPrefix(clean, "/dev/fd/")
	return outputs[clean] || isDescriptor && number != "0" && strings.Trim(number, "0123456789") == ""
}

// addDevice adds the files to which a path below /dev or /proc may lead: files below the folder of
// a process, and files that the line opens to read. The later names of the path also count alone.
func (c *changedFiles) addDevice(file string) {
	c.append(ChangedFile{Path: "*" + file})
	if c.inDevice {
		return
	}
	c.inDevice = true
	defer func() { c.inDevice = false }()
	names := strings.FieldsFunc(file, func(r rune) bool { return r == '/' })
	for i, name := range names {
		if c.isFull() {
			return
		}
		rest := strings.Join(names[i+1:], "/")
		switch {
		case name == "cwd":
			c.addName("./"+rest, true)
		case name == "root":
			c.addName("/"+rest, true)
		case isInputName(name):
			for _, w := range c.reads {
				if c.isFull() {
					return
				}
				c.add(w.below(rest))
			}
		}
	}
}
