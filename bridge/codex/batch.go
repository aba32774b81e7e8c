package codex

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// isBatchFile reports whether Windows runs a file by cmd.exe. It ignores dots and spaces at the end of a
// name, as Windows does.
func isBatchFile(path string) bool {
	switch strings.ToLower(filepath.Ext(strings.TrimRight(path, ". "))) {
	case ".cmd", ".bat":
		return true
	}
	return false
}

// batchSpecial are the characters of an argument that cmd.exe may interpret, whether the argument has
// quotes or not.
const batchSpecial = "\"%!^&|<>()\r\n"

// CheckArgs returns an error if path is a batch file and cmd.exe would change one of the arguments or
// run a part of it as a command.
func CheckArgs(path string, args []string) error { return checkArgs(runtime.GOOS, path, args) }

func checkArgs(goos, path string, args []string) error {
	if goos != "windows" || !isBatchFile(path) {
		return nil
	}
	for _, arg := range args {
		if i := strings.IndexAny(arg, batchSpecial); i >= 0 {
			return &FindError{
				fmt.Sprintf("%s is a batch file, and cmd.exe would interpret the %q in the argument %q", path, arg[i], arg),
				"name codex.exe with " + Env + " or codex.command",
			}
		}
	}
	return nil
}

// maxShim is the length up to which a batch file may be one of npm, in bytes.
const maxShim = 64 << 10

// npmProgram returns the program that npm's codex.cmd starts by Node. It returns path itself if that is
// another file, or if the program is not found.
func npmProgram(path, arch string) string {
	if strings.ToLower(filepath.Base(path)) != "codex.cmd" {
		return path
	}
	f, err := os.Open(path)
	if err != nil {
		return path
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxShim))
	if err != nil || !strings.Contains(string(text), `@openai\codex\bin\codex.js`) {
		return path
	}
	system := map[string][2]string{"amd64": {"x64", "x86_64"}, "arm64": {"arm64", "aarch64"}}[arch]
	native := filepath.Join("vendor", system[1]+"-pc-windows-msvc", "bin", "codex.exe")
	modules := filepath.Join(filepath.Dir(path), "node_modules") // of npm install -g
	if filepath.Base(filepath.Dir(path)) == ".bin" {
		modules = filepath.Dir(filepath.Dir(path))
	}
	platform := filepath.Join("@openai", "codex-win32-"+system[0], native)
	for _, program := range []string{
		filepath.Join(modules, "@openai", "codex", "node_modules", platform),
		filepath.Join(modules, platform),
		filepath.Join(modules, "@openai", "codex", native),
	} {
		if info, err := os.Stat(program); err == nil && info.Mode().IsRegular() {
			return program
		}
	}
	return path
}
