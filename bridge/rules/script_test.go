package rules_test

import (
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/rules"
)

// A deny rule matches a script that may be an input with a text of the line's choice, and no other.
func TestScriptsInComputedFolders(t *testing.T) {
	s := compile(t, []config.Rule{{Command: "git push **", Decision: "deny"}})
	for line, want := range map[string]rules.Decision{
		`d=/proc/self; . "$d/status"`:                           rules.Deny,
		`d=/proc/self; . "$d/stat"`:                             rules.Deny,
		`cd "$d"; . ../status`:                                  rules.Deny,
		`cd "$d"; . ./status`:                                   rules.Deny,
		`. "$d/setup.sh"`:                                       rules.None,
		`cd "$(dirname "$0")" && . ../lib.sh`:                   rules.None,
		`cd build-$arch && sh ../configure.sh`:                  rules.None,
		`bash a.sh; cd /dev; bash shm/x`:                        rules.Deny,
		`cd /dev; bash shm/x`:                                   rules.Deny,
		`sh -c 'cd a; bash x.sh &'; cd /dev; bash shm/x`:        rules.Deny,
		`sh -c 'cd a; bash x.sh &'; cd sub; bash shm/x`:         rules.None,
		`zsh -c 'cd a; bash x.sh &'; cd /proc/self; . ./status`: rules.Deny,
	} {
		if m := s.Shell(line, "bash", rules.Sandboxed, dirs); m.Decision != want {
			t.Errorf("%s: %s", line, printed(m))
		}
	}
}

// In an unknown folder the changes of folder count.
func TestScriptsFromUnknownFolder(t *testing.T) {
	s := compile(t, []config.Rule{{Command: "git push **", Decision: "deny"}})
	for line, want := range map[string]rules.Decision{"cd /dev; bash shm/x": rules.Deny, "cd /w; bash shm/x": rules.None} {
		if m := s.Shell(line, "bash", rules.Sandboxed, rules.Dirs{}); m.Decision != want {
			t.Errorf("%s: %s", line, printed(m))
		}
	}
}

// A path rule matches a write to a descriptor that the line may have opened for reading.
func TestWritesToOpenedDescriptor(t *testing.T) {
	s := compile(t, []config.Rule{{Path: "${workspace}/secret/**", Decision: "deny"}})
	for line, want := range map[string]rules.Decision{
		"{ echo x > /dev/stdout; } < secret/f >&0":    rules.Deny,
		"{ echo x > /dev/stdout; } < secret/f >&00":   rules.Deny,
		"{ echo x > /dev/stdout; } < secret/f 1>&000": rules.Deny,
		"{ echo x > /dev/fd/7; } < secret/f 7>&00":    rules.Deny,
		"echo x > /dev/stdout 2>&1":                   rules.None,
		"echo x > /dev/stderr 1>&2":                   rules.None,
	} {
		if m := s.Shell(line, "bash", rules.Sandboxed, dirs); m.Decision != want {
			t.Errorf("%s: %s", line, printed(m))
		}
	}
}

// Long folders and many files need bounded memory. A line with too much may change any file.
func TestChangedFilesOfLongPaths(t *testing.T) {
	deep := strings.Repeat("z/", 7500)
	for _, line := range []string{
		"cd " + deep + strings.Repeat("; cd n/../u", 15) + "; touch a a a",
		"cd " + strings.Repeat("z/", 3000) + strings.Repeat("; cd n/../u", 8) + "; touch" + strings.Repeat(" "+strings.Repeat("a", 3000), 16),
		"cd a; cd b; cd c; cd d; echo x > /proc/self" + strings.Repeat("/cwd", 15000),
	} {
		files, anyFile := rules.ChangedFiles(line, "bash", dirs)
		bytes := 0
		for _, file := range files {
			bytes += len(file.Path)
		}
		if !anyFile || bytes > 4<<20 {
			t.Errorf("%.40s: %d files of %d bytes, any file: %v", line, len(files), bytes, anyFile)
		}
	}
}
