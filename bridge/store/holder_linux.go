package store

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// hostname tells machines that have one name apart, and containers: a process id means nothing
// in another.
func hostname() (string, error) {
	name, err := os.Hostname()
	if err != nil {
		return "", err
	}
	namespace, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return "", err
	}
	id, err := os.ReadFile("/etc/machine-id")
	if err != nil {
		id = nil // then the name has to do
	}
	return machine(name, strings.TrimSpace(string(id)), namespace), nil
}

// machine is the name by which a database that machines share knows one. Its id is shown to
// nobody; many containers have none, and a system that starts for the first time none yet.
func machine(name, id, namespace string) string {
	if id != "" && id != "uninitialized" {
		name += "/" + Sum([]byte("codex-bridge " + id))[:8]
	}
	return name + "/" + namespace
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
