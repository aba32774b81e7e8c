package rules_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/rules"
)

// A path below /dev or /proc may lead to any file, except the outputs of a command.
func TestWritesBelowProc(t *testing.T) {
	s := compile(t, []config.Rule{{Path: "/w/secret/f", Decision: "deny"}})
	dirs := dirsOfW
	dirs.Readings = func(path string) ([]string, error) {
		if strings.HasPrefix(path, "/proc/self/") || strings.HasPrefix(path, "/dev/fd/") || strings.HasPrefix(path, "/dev/std") {
			return nil, errors.New("not a path of this process")
		}
		return []string{path}, nil
	}
	for line, want := range map[string]rules.Decision{
		"echo x > /proc/self/cwd/secret/f":                  rules.Deny,
		"echo x > /proc/$$/cwd/secret/f":                    rules.Deny,
		"echo x > /PROC/self/cwd/secret/f":                  rules.Deny,
		"echo x > /dev/fd/../cwd/secret/f":                  rules.Deny,
		"echo x > //proc/self/cwd/secret/f":                 rules.Deny,
		"cd /proc/self/fd; exec 3< secret/f; echo x > 3":    rules.Deny,
		"exec 3< secret/f; echo x > /proc/self/fd/3":        rules.Deny,
		"exec 3< secret/f; echo x > /dev/fd/3":              rules.Deny,
		"{ echo x > /dev/stdout; } 1< secret/f":             rules.Deny,
		"{ echo x > /dev/stdout; } < secret/f >&0":          rules.Deny,
		"exec 3< secret/f; echo x > /dev/shm/../fd/3":       rules.Deny,
		"echo x > /dev/stdin < secret/f":                    rules.Deny,
		"echo x > /dev/fd/0 < secret/f":                     rules.Deny,
		strings.Repeat(": < a;", 256) + ": < a; > secret/f": rules.Deny,
		"echo x > /dev/null":                                rules.None,
		"echo x > /dev/stdout":                              rules.None,
		"echo x > /dev/stderr 2>&1":                         rules.None,
		"echo x > /dev/tty":                                 rules.None,
		"echo x > /dev/fd/3":                                rules.None,
		"echo x > /dev/shm/y":                               rules.None,
		"echo x > /dev/tcp/host/80":                         rules.None,
		"cat < /dev/null > /dev/stderr":                     rules.None,
		"cat < secret/f > out":                              rules.None,
		"exec 3< secret/f; cat <&3 > out":                   rules.None,
		"echo x > proc/self":                                rules.None,
		"cd sub; echo x > out":                              rules.None,
	} {
		for _, shell := range []string{"bash", "sh", "zsh"} {
			if m := s.Shell(line, shell, rules.Sandboxed, dirs); m.Decision != want {
				t.Errorf("%s: %.90s: %s", shell, line, printed(m))
			}
		}
	}
}

// The files to which a path below /dev or /proc may lead are files that a line changes.
func TestChangedFilesBelowProc(t *testing.T) {
	for line, want := range map[string]string{
		"echo x > /proc/self/cwd/a/b":            "/w/./a/b",
		"tee /proc/self/cwd/a/b":                 "/w/./a/b",
		"cd c; tee /proc/self/cwd/a/b":           "/w/c/./a/b",
		"tee /proc/self/task/1/cwd/a/b":          "/w/./a/b",
		"tee /proc/self/root/w/a/b":              "/w/a/b",
		"tee /proc/self/root/proc/self/cwd/a/b":  "/w/./a/b",
		"cd /proc/self/cwd; tee a/b":             "/w/./a/b",
		"tee /proc/self/unknown/a/b":             "*/proc/self/unknown/a/b",
		"tee /proc/self/fd/0 < a/b":              "/w/a/b",
		"tee /dev/stdin < a/b":                   "/w/a/b",
		"exec 3< a; echo x > /dev/fd/3/b":        "/w/a/b",
		"exec 3< a/b; echo x > /dev/fd/3":        "/w/a/b",
		"exec 3< $x/a/b; echo x > /dev/fd/3":     "*/a/b",
		"tee /proc/self/fd/0 < /dev/stdin < a/b": "/w/a/b",
		"exec 3< ~/a; echo x > /dev/fd/3":        "/home/ada/a",
		"exec 3< ~/a; echo x > /dev/fd/3/b":      "/home/ada/a/b",
		"exec 3< [a]/b; echo x > /dev/fd/3":      "/w/*/b",
		"exec 3< [a]; echo x > /dev/fd/3/b":      "/w/*/b",
		"exec 3< {a,c}/b; echo x > /dev/fd/3":    "/w/a/b", // zsh opens both
	} {
		files := changed(line, "bash", dirsOfW)
		if !slices.ContainsFunc(files, func(f rules.ChangedFile) bool { return f.Path == want }) {
			t.Errorf("%s: no %s in %v", line, want, files)
		}
	}
	for _, file := range changed("exec 3< a; cat <&3; echo x > /dev/fd/3", "bash", dirsOfW) {
		if file.Path == "/w/3" {
			t.Error("the number of a descriptor counts as a file")
		}
	}
	for _, line := range []string{"cat < a/b > /dev/null", "cat < a/b > /dev/tty", "cat < a/b > /dev/stderr", "cat < a/b", "tee /dev/null < a/b"} {
		for _, file := range changed(line, "bash", dirsOfW) {
			if strings.Contains(file.Path, "a/b") {
				t.Errorf("%s: %v", line, file)
			}
		}
	}
}
