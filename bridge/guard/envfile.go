package guard

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
)

// envFile is a file in Codex's own folder. Measured with Codex 0.169: when Codex starts, it sets
// the file's variables over those of its environment, except names that start with CODEX_ in any
// case. It reads no such file in its start folder.
const envFile = ".env"

// maxEnvFile bounds the bytes of an envFile that are read.
const maxEnvFile = 1 << 20

// EnvFileError reports that Codex's own .env sets a variable by which the policy finds programs and
// folders, or that the file can't be read.
type EnvFileError struct {
	Path string
	Line int    // from 1; 0 for the whole file
	Name string // of the variable
	Err  error  // why the file can't be read
}

func (e *EnvFileError) Error() string { return e.Problem() + "; " + e.Hint() }

func (e *EnvFileError) Unwrap() error { return e.Err }

// Problem returns the message without the hint.
func (e *EnvFileError) Problem() string {
	if e.Err != nil {
		return fmt.Sprintf("codex's own file %s can't be read: %v", e.Path, e.Err)
	}
	return fmt.Sprintf("%s:%d: codex reads the variable %s from this file, which the policy does not read", e.Path, e.Line, e.Name)
}

// Hint returns how to fix the file.
func (e *EnvFileError) Hint() string {
	if e.Err != nil {
		return "make it a file that you can read, or remove it"
	}
	return "remove the line, and set the variable in [codex.env] of codex-bridge's configuration"
}

// CheckEnvFile returns an error for each line of Codex's own .env that sets a variable on which
// World depends. It does not read the values, because Codex has its own rules for quotes and
// references.
func CheckEnvFile(world policy.State) (faults []*EnvFileError) {
	if world.CodexHome == "" {
		return nil
	}
	path := filepath.Join(world.CodexHome, envFile)
	text, err := readEnvFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return []*EnvFileError{{Path: path, Err: err}}
	}
	for i, line := range bytes.Split(text, []byte("\n")) {
		if name := variableName(string(line)); isUsedByPolicy(name) {
			faults = append(faults, &EnvFileError{Path: path, Line: i + 1, Name: name})
		}
	}
	return faults
}

// readEnvFile reads a regular file of at most maxEnvFile bytes.
func readEnvFile(path string) ([]byte, error) {
	f, err := config.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxEnvFile+1))
	if err == nil && len(text) > maxEnvFile {
		err = fmt.Errorf("it has more than %d bytes", maxEnvFile)
	}
	return text, err
}

// variableName returns the name of the variable that a line sets, or "". The line may also be a
// part of a quoted value.
//
// Measured with Codex 0.169: each variable starts on a new line. Before its name may be space and
// "export", after it space. Names consist of letters, digits, "_" and ".".
func variableName(line string) string {
	name, _, isPair := strings.Cut(line, "=")
	if !isPair || strings.HasPrefix(strings.TrimSpace(line), "#") {
		return ""
	}
	name = strings.TrimRightFunc(name, unicode.IsSpace)
	start := len(name)
	for start > 0 && isNameByte(name[start-1]) {
		start--
	}
	return name[start:]
}

func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '.'
}

// isUsedByPolicy reports whether World or git finds programs, folders or configuration by a
// variable.
func isUsedByPolicy(name string) bool {
	names := append([]string{"PATH", "HOME", "USERPROFILE", "XDG_CONFIG_HOME"}, tempNames()...)
	return slices.ContainsFunc(names, func(one string) bool { return isVariable(name, one) }) || strings.HasPrefix(strings.ToUpper(name), "GIT_")
}
