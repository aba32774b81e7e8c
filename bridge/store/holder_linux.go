package store

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// hostname tells containers apart, too: a process id means nothing in another.
func hostname() (string, error) {
	name, err := os.Hostname()
	if err != nil {
		return "", err
	}
	namespace, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return "", err
	}
	return name + "/" + namespace, nil
}

// startOf counts from the boot, so that the boot is told, too.
func startOf(pid int) (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, fs.ErrNotExist) {
		return "", errGone
	}
	if err != nil {
		return "", err
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	// The name of the program, in parentheses, may hold anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const state, start = 0, 19
	if len(fields) <= start {
		return "", fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	if s := string(fields[state]); s == "Z" || s == "X" {
		return "", errGone
	}
	return strings.TrimSpace(string(boot)) + ":" + string(fields[start]), nil
}
