package codex_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/codex"
)

// A batch file gets no argument that cmd.exe would interpret.
func TestBatchFileGetsPlainArguments(t *testing.T) {
	special := []string{
		`a"b`, `"&calc&"`, "%PATH%", "100%", "a&b", "a|b", "a<b", "a>b", "a^b", "!x!", "(a", "a)", "a\nb", "a\rb",
		`model="x"`, `hooks.stop=[{command="x"}]`, "a b&c",
	}
	plain := []string{"", "app-server", "-c", "features.x=false", "--listen", "ws://127.0.0.1:0", `C:\Users\a b\x`, "a,b;c=d", "it's", "é", "~", "$HOME", "*"}
	for _, path := range []string{`C:\x\codex.cmd`, `C:\x\CODEX.CMD`, "codex.bat", "codex.Bat", "codex.cmd.", "codex.bat ", "codex.cmd. . "} {
		for _, arg := range special {
			err := codex.CheckArgsOn("windows", path, []string{"app-server", arg})
			var find *codex.FindError
			if !errors.As(err, &find) || !strings.Contains(find.Problem, path) || find.Hint == "" || strings.ContainsAny(err.Error(), "\r\n") {
				t.Errorf("%s %q: %v", path, arg, err)
			}
		}
		if err := codex.CheckArgsOn("windows", path, plain); err != nil {
			t.Error(err)
		}
	}
	for _, path := range []string{`C:\x\codex.exe`, "codex", "codex.cmd.exe", `C:\x.cmd\codex.exe`} {
		if err := codex.CheckArgsOn("windows", path, special); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := codex.CheckArgsOn("linux", "/x/codex.cmd", special); err != nil {
		t.Error(err)
	}
}

// npmShim has the line of the codex.cmd that npm writes.
const npmShim = "@ECHO off\r\nendLocal & goto #_undefined_# 2>NUL || title %COMSPEC% & \"%_prog%\"  \"%dp0%\\node_modules\\@openai\\codex\\bin\\codex.js\" %*\r\n"

func TestNPMProgram(t *testing.T) {
	const nested = "node_modules/@openai/codex/node_modules/@openai/codex-win32-"
	for _, c := range []struct {
		name, shim, text, native, arch string
		found                          bool
	}{
		{"npm install -g", "codex.cmd", npmShim, nested + "x64/vendor/x86_64-pc-windows-msvc/bin/codex.exe", "amd64", true},
		{"any case", "Codex.CMD", npmShim, nested + "x64/vendor/x86_64-pc-windows-msvc/bin/codex.exe", "amd64", true},
		{"arm64", "codex.cmd", npmShim, nested + "arm64/vendor/aarch64-pc-windows-msvc/bin/codex.exe", "arm64", true},
		{"another processor's", "codex.cmd", npmShim, nested + "x64/vendor/x86_64-pc-windows-msvc/bin/codex.exe", "arm64", false},
		{"beside each other", "codex.cmd", npmShim, "node_modules/@openai/codex-win32-x64/vendor/x86_64-pc-windows-msvc/bin/codex.exe", "amd64", true},
		{"in the package", "codex.cmd", npmShim, "node_modules/@openai/codex/vendor/x86_64-pc-windows-msvc/bin/codex.exe", "amd64", true},
		{
			"npm install", "node_modules/.bin/codex.cmd", strings.ReplaceAll(npmShim, `\node_modules\`, `\..\`),
			"node_modules/@openai/codex-win32-x64/vendor/x86_64-pc-windows-msvc/bin/codex.exe", "amd64", true,
		},
		{"a script of the user", "codex.cmd", "@codex.exe --search %*\r\n", nested + "x64/vendor/x86_64-pc-windows-msvc/bin/codex.exe", "amd64", false},
		{"another name", "codex-nightly.cmd", npmShim, nested + "x64/vendor/x86_64-pc-windows-msvc/bin/codex.exe", "amd64", false},
		{"a folder", "codex.cmd", npmShim, nested + "x64/vendor/x86_64-pc-windows-msvc/bin/codex.exe/x", "amd64", false},
		{"an unknown processor", "codex.cmd", npmShim, nested + "x64/vendor/x86_64-pc-windows-msvc/bin/codex.exe", "riscv64", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			write := func(name, text string) string {
				path := filepath.Join(dir, filepath.FromSlash(name))
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
					t.Fatal(err)
				}
				return path
			}
			shim, native := write(c.shim, c.text), write(c.native, "MZ")
			want := shim
			if c.found {
				want = native
			}
			if got := codex.NPMProgram(shim, c.arch); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
	if missing := filepath.Join(t.TempDir(), "codex.cmd"); codex.NPMProgram(missing, "amd64") != missing {
		t.Error("a file that is missing has a program")
	}
}

func TestProgramNames(t *testing.T) {
	for _, c := range []struct {
		name, goos string
		want       []string
	}{
		{"codex", "linux", []string{"codex"}},
		{"codex.exe", "darwin", []string{"codex.exe"}},
		{"codex", "windows", []string{"codex.exe", "codex.cmd", "codex.bat"}},
		{"codex.exe", "windows", []string{"codex.exe"}},
		{"codex.CMD", "windows", []string{"codex.CMD"}},
		{"codex-0.169", "windows", []string{"codex-0.169.exe", "codex-0.169.cmd", "codex-0.169.bat"}},
	} {
		if got := codex.ProgramNames(c.name, c.goos); !slices.Equal(got, c.want) {
			t.Errorf("%s on %s: %q", c.name, c.goos, got)
		}
	}
}
