//go:build linux && !portable

package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// harmlessRule is a policy for ordinary work, below a rule that no program of it matches.
const harmlessRule = `
[policy]
mode = "enforce"
exec_rules = "on"
approval = ["never"]
sandbox = "workspace-write"
writable_roots = ["${workspace}", %q]
[[policy.rule]]
command = "unwanted-program **"
decision = "deny"
`

// ordinaryFiles are those of the workspace. Scripts end in .sh, and programs of hooks are below hooks.
var ordinaryFiles = map[string]string{
	"go/go.mod":        "module example.com/m\n\ngo 1.21\n",
	"go/m.go":          "package main\n\nfunc Twice(n int) int { return n + n }\n\nfunc main() { println(Twice(4)) }\n",
	"go/m_test.go":     "package main\n\nimport \"testing\"\n\nfunc TestTwice(t *testing.T) {\n\tif Twice(2) != 4 {\n\t\tt.Fatal()\n\t}\n}\n\nfunc TestFails(t *testing.T) { t.Error(\"it fails\") }\n",
	"go/bad/bad.go":    "package bad\n\nfunc f() { undefined() }\n",
	"npm/package.json": `{"name":"m","version":"1.0.0","scripts":{"pretest":"echo before","test":"node test.js","fails":"node test.js 3","posttest":"echo after"}}`,
	"npm/test.js": `const { spawnSync } = require("child_process");
const r = spawnSync("sh", ["-c", "echo from a child; exit " + (process.argv[2] || 0)]);
process.stdout.write(r.stdout); process.exitCode = r.status;
console.log(String(spawnSync("no-such-program").error));`,
	"py/test_m.py": `import os, signal, subprocess, unittest
class Tests(unittest.TestCase):
    def test_child(self): self.assertEqual(subprocess.run(["sh", "-c", "exit 7"]).returncode, 7)
    def test_killed(self): self.assertEqual(subprocess.run(["sh", "-c", "kill -9 $$"]).returncode, -9)
    def test_missing(self):
        with self.assertRaises(FileNotFoundError): subprocess.run(["no-such-program"])
    def test_forbidden(self):
        with self.assertRaises(PermissionError): subprocess.run(["./test_m.py"])
    def test_output(self): self.assertEqual(subprocess.check_output("echo $0 | cat", shell=True), b"/bin/sh\n")
    def test_fork(self):
        pid = os.fork()
        if pid == 0: os.execvp("sh", ["sh", "-c", "exit 5"])
        self.assertEqual(os.waitpid(pid, 0)[1], 5 << 8)
    def test_fails(self): self.assertEqual(subprocess.getoutput("echo no"), "yes")
`,
	"hooks/pre-commit": "#!/bin/sh\necho checks $(git diff --cached --name-only | wc -l)\n! git grep -q --cached FORBIDDEN\n",
	"hooks/commit-msg": "#!/usr/bin/env bash\ngrep -q '^ok' \"$1\" || { echo 'no such message' >&2; exit 9; }\n",
	"make/Makefile": `all: a b c d bad e
a b c d e:
	@sleep 0.05; echo made $@ | tee $@
bad:
	@sh -c 'exit 6'
sub:
	@$(MAKE) --no-print-directory a b
`,
	"tree/Makefile": `N := $(shell seq 1 60)
all: total
	@wc -l < total
%.o:
	@echo $* | sed 's/^/object /' | tee $@ > /dev/null
total: $(N:%=%.o)
	@cat $^ | sort > $@
`,
	"hides.sh":         "#!/bin/sh\n./unwanted-program\n",
	"unwanted-program": "#!/bin/sh\necho it runs\n",
	"plain.sh":         "echo no line says the interpreter\n",
	"interp.sh":        "#!/usr/bin/env -S sh -e\necho one\nfalse\necho two\n",
	"missing.sh":       "#!/no/such/interpreter\n",
	"forbidden":        "#!/bin/sh\n",
	"children.sh":      "#!/bin/bash\ntrap 'echo got TERM; exit 4' TERM\nkill -TERM $$\nsleep 5\n",
	"readers.sh":       "#!/bin/bash\ncoproc cat\necho through a child >&${COPROC[1]}\nread -r line <&${COPROC[0]}; echo \"$line\"\ndiff <(seq 3) <(seq 2 4); echo $?\n",
}

// ordinaryWork are lines of ordinary work, each with a part of its result.
var ordinaryWork = []struct{ line, has string }{
	{`cd go && go build -o m . && ./m; go vet ./bad; echo $?`, "8\n"},
	{`cd go && go test -count=1 -v .`, "PASS: TestTwice"},
	{`cd npm && npm_config_cache=$PWD/cache npm test`, "\nafter\n"},
	{`cd npm && export npm_config_cache=$PWD/cache && npm run fails; echo $?; npm run --silent missing; echo $?`, "\n3\n"},
	{`cd py && if python3 -c 'import pytest' 2> /dev/null; then python3 -m pytest -q; else python3 -m unittest; fi`, "exited with code 1"},
	{`mkdir repo && cd repo && git init -q -b main && git config core.hooksPath ../hooks && git config user.email a@example.com && git config user.name A && echo 1 > f && git add f && git commit -q -m 'ok one' && git log --format=%s`, "checks 1\nok one\n"},
	{`cd repo && echo 2 > f && git commit -qam 'other'; echo $?; echo FORBIDDEN > f; git commit -qam 'ok two'; echo $?; git status --short; git stash -q && git log --oneline | wc -l`, "no such message\n1\nchecks 1\n1\n M f\n1\n"},
	{`cd repo && git -c alias.x='!sh -c "echo aliased; exit 8"' x; echo $?; git no-such-command; echo $?; git -c core.pager='sed s/^/paged/' -p show -s --format=%s; git bisect start -q; git submodule foreach true`, "aliased\n8\n"},
	{`cd make && make -k -j4 2> errors | sort; echo ${PIPESTATUS[0]}; sort errors; make -s sub; make bad; echo $?`, "bad] Error 6"},
	{`cd tree && make -s -j8; cksum total`, "60\n"},
	{`no-such-program; echo $?; ./forbidden; echo $?; ./missing.sh; echo $?; ./npm; echo $?; ./no-such-file; echo $?; ./plain.sh; echo $?; ./interp.sh; echo $?`, "\none\n1\n"},
	{`no-such-program`, "exited with code 127"},
	{`./forbidden`, "exited with code 126"},
	{`env ./plain.sh; echo $?; env no-such-program; echo $?; echo ./plain.sh | xargs -n 1 env; nice -n 5 sh -c nice; timeout 0.2 sleep 60; echo $?; timeout -s KILL 0.2 sleep 60; echo $?; timeout 60 sh -c 'exit 11'; echo $?; timeout 60 no-such-program; echo $?`, "\n5\n124\n"},
	{`./children.sh; echo $?; sh -c 'kill -9 $$'; echo $?; sh -c 'kill -SEGV $$' 2> /dev/null; echo $?; yes 2> /dev/null | head -n 1; echo ${PIPESTATUS[*]}; perl -e '$SIG{PIPE} = "DEFAULT"; exec "yes"' | head -n 1; echo ${PIPESTATUS[*]}`, "got TERM\n4\n"},
	{`kill -9 $$`, "exited with code 137"},
	{`kill -TERM $$`, "exited with code 143"},
	{`exit 200`, "exited with code 200"},
	{`set -o pipefail; sh -c 'exit 3' | cat; echo $?; sh -c 'exit 3' | sh -c 'exit 4' | cat`, "exited with code 4"},
	{`sleep 0.2 & wait $!; echo $?; (sleep 0.1; echo late) & wait; sh -c 'exit 5' & wait $!; echo $?; nohup sh -c 'echo through' 2> /dev/null | cat; (setsid sh -c 'sleep 0.1; echo orphan > new; mv new orphan' &); until cat orphan 2> /dev/null; do sleep 0.1; done`, "0\nlate\n5\nthrough\norphan\n"},
	{`./readers.sh; seq 1 50 | xargs -P 8 -n 1 sh -c 'echo $((6 * $0))' | sort -n | tail -n 2; find . -name '*.sh' -exec basename {} \; | sort; perl -e 'exec {"sh"} "name", "-c", "echo \$0"'`, "\nname\n"},
	{`/bin/echo $(seq 1 300000) > /dev/null; echo $?; /bin/echo $(seq 1 20000) | wc -c; A=b env -i C=d /usr/bin/env; (exec -a other sh -c 'echo $0'); ulimit -n; umask; ls /proc/self/fd | wc -l; grep -E '^(Sig[PBIC]|Shd|NoNew|Cap)' /proc/self/status; env | cut -d= -f1 | sort`, "\n126\n108894\nC=d\nother\n"},
	{`exec 7> seven; sh -c 'echo to a descriptor >&7'; cat seven; echo text > /dev/shm/$$ && rm /dev/shm/$$ && cat <<< here; cat << END | tr a-z A-Z
document
END`, "DOCUMENT\n"},
}

// varying are patterns of texts that differ between two runs, each with its replacement.
var varying = []struct{ pattern, with string }{
	{`\d+\.\d+s\b`, "Ns"}, {`(line \d+: +)\d+ `, "${1}PID "}, {`(?m)^CODEX_BRIDGE_\w+\n`, ""},
}

// workResult runs a line, with one pipe for all that it writes. It returns the output and the exit status without what
// differs between two runs.
func (r *decliningEditor) workResult(thread, line string) string {
	r.t.Helper()
	r.runLine(thread, "exec 2>&1; "+line, map[string]any{"login": false, "yield_time_ms": 30000})
	all := ""
	for {
		header, out, ok := strings.Cut(r.world.lastToolOutput(), "Output:\n")
		if all += out; !ok {
			all += header // it did not run
		}
		if _, status, ended := strings.Cut(header, "Process "); !strings.Contains(header, "session ID ") {
			if ended {
				all += strings.SplitN(status, "\n", 2)[0]
			}
			break
		}
		_, id, _ := strings.Cut(header, "session ID ")
		turn, mark := r.startTurn(thread, fmt.Sprintf(`CALL: write_stdin {"session_id":%s,"chars":"","yield_time_ms":30000}`, strings.Fields(id)[0]))
		r.waitTurn(thread, turn, mark)
	}
	all = strings.ReplaceAll(all, r.root, "ROOT")
	for _, v := range varying {
		all = regexp.MustCompile(v.pattern).ReplaceAllString(all, v.with)
	}
	return all
}

// Ordinary work has the same output and exit status below rules for programs as with Codex alone.
func TestOrdinaryWorkBelowProgramRules(t *testing.T) {
	t.Parallel()
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	goCache := strings.TrimSpace(string(cache))
	results := make(map[string][]string)
	t.Run("group", func(t *testing.T) {
		for who, argv := range map[string][]string{"bridge": proxyArgv, "codex": {codexPath, "app-server"}} {
			results[who] = make([]string, len(ordinaryWork))
			t.Run(who, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, options{
					config:      fmt.Sprintf(harmlessRule, goCache),
					codexConfig: fmt.Sprintf("[sandbox_workspace_write]\nwritable_roots = [%q]\n", goCache),
					mute:        "there are many turns",
					env:         []string{"GOCACHE=" + goCache, "GOTOOLCHAIN=local", "GOFLAGS=-mod=mod", "GOTELEMETRY=off", "npm_config_update_notifier=false", "npm_config_logs_max=0"},
				})
				for name, text := range ordinaryFiles {
					mode := os.FileMode(0o644)
					if strings.HasSuffix(name, ".sh") || strings.HasPrefix(name, "hooks/") || name == "unwanted-program" {
						mode = 0o755
					}
					if err := os.Chmod(w.write(filepath.Join("workspace", name), text), mode); err != nil {
						t.Fatal(err)
					}
				}
				r := w.newDecliningEditor(argv...)
				thread := r.thread(map[string]any{"approvalPolicy": "never", "sandbox": "workspace-write"})
				for i, work := range ordinaryWork {
					results[who][i] = r.workResult(thread, work.line)
				}
				if out := r.workResult(thread, "./hides.sh"); strings.Contains(out, "Operation not permitted") != (who == "bridge") {
					t.Errorf("the program that the rule denies: %s", out)
				}
				r.closeAndWait()
			})
		}
	})
	for i, work := range ordinaryWork {
		if diff := cmp.Diff(results["codex"][i], results["bridge"][i]); diff != "" || !strings.Contains(results["codex"][i], work.has) {
			t.Errorf("%s (-codex +bridge)\n%s\nwith Codex alone:\n%s", work.line, diff, results["codex"][i])
		}
	}
}
