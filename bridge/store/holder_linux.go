package store

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"codex-bridge.example/bridge/decision"
)

// hostname returns a name that differs between machines with equal host names, and between
// containers, which have their own process ids.
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
		id = nil // the host name has to suffice
	}
	return machineName(name, strings.TrimSpace(string(id)), namespace), nil
}

// machineName returns the name of a machine in a shared database. It shows only a hash of the
// machine id. Many containers have no id, and neither has a system at its first boot.
func machineName(name, id, namespace string) string {
	if id != "" && id != "uninitialized" {
		name += "/" + decision.Sum([]byte("codex-bridge " + id))[:8]
	}
	return name + "/" + namespace
}

// processStart returns the boot id and the start time of a process since boot.
func processStart(pid int) (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, fs.ErrNotExist) {
		return "", errNoProcess
	}
	if err != nil {
		return "", err
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	// The name of the program, in parentheses, may contain any character.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const state, start = 0, 19
	if len(fields) <= start {
		return "", fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	if s := string(fields[state]); s == "Z" || s == "X" {
		return "", errNoProcess
	}
	return strings.TrimSpace(string(boot)) + ":" + string(fields[start]), nil
}
