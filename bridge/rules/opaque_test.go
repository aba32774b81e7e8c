package rules_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/rules"
)

// opaqueLines have a command that the bridge does not know, each for another reason. The command
// writes secret/f.
var opaqueLines = []struct{ shell, line string }{
	{"bash", "echo 'echo W > secret/f' | sh"},
	{"bash", "echo 'echo W > secret/f' | bash -s"},
	{"bash", "cat <<< 'echo W > secret/f' | bash"},
	{"bash", "bash <<E\necho $x W > secret/f\nE"},
	{"bash", "x='echo W > secret/f'; eval \"$x\""},
	{"bash", "x='echo W > secret/f'; sh -c \"$x\""},
	{"bash", "x='echo W > secret/f'; bash $x"},
	{"bash", "bash <(echo 'echo W > secret/f')"},
	{"bash", ". <(echo 'echo W > secret/f')"},
	{"bash", "echo 'echo W > secret/f' | . /dev/stdin"},
	{"bash", "echo 'echo W > secret/f' | bash /dev/stdin"},
	{"bash", "echo 'echo W > secret/f' | xargs -I% sh -c '%'"},
	{"bash", "echo 'echo W > secret/f' | xargs -I"},
	{"bash", "echo 'echo W > secret/f' | parallel"},
	{"bash", "echo 'echo W > secret/f' | su"},
	{"bash", "echo 'echo W > secret/f' | sudo -s"},
	{"bash", "x='echo W > secret/f'; watch \"$x\""},
	{"bash", "trap \"`echo 'echo W > secret/f'`\" EXIT"},
	{"bash", "alias a=\"$(echo 'echo W > secret/f')\"; a"},
	{"bash", "x='echo W > secret/f'; mapfile -C \"$x\" -c 1 a < b"},
	{"bash", "git -c alias.x='!echo W > secret/f' x"},
	{"bash", "GIT_CONFIG_KEY_0=alias.x GIT_CONFIG_VALUE_0='!echo W > secret/f' git x"},
	{"bash", "x='echo W > secret/f'; GIT_EDITOR=\"$x\" git commit"},
	{"bash", "x='echo W > secret/f'; tar --to-command=\"$x\" -xf a"},
	{"bash", "env -S \"sh -c 'echo W > secret/f'\""},
	{"bash", "fish -c 'echo W > secret/f'"},
	{"bash", "emulate sh -c 'echo W > secret/f'"},
	{"bash", "hash -p secret/f f"},
	{"bash", "PS4='$(echo W > secret/f)'; set -x; ls"},
	{"bash", "PS4='$(echo W > secret/f)' bash -x a.sh"},
	{"bash", "read PS4 < secret/f; set -x; ls"},
	{"bash", "for PS4 in '$(echo W > secret/f)'; do set -x; ls; done"},
	{"bash", "x='a[$(echo W > secret/f)]'; echo $((x))"},
	{"bash", "x='a[$(echo W > secret/f)]'; [ \"$x\" -eq 1 ]"},
	{"bash", "x='$(echo W > secret/f)'; echo ${x@P}"},
	{"bash", "coproc echo W > secret/f"},
	{"bash", "echo W 2>&- > secret/f; echo x >& 2-"},
	{"bash", "# a comment \\\necho W > secret/f"},
	{"bash", "echo W > secret/f; ("},
	{"bash", "echo W > secret/f \x01"},
	{"bash", strings.Repeat("eval ", 9) + "echo W '>' secret/f"},
	{"bash", strings.Repeat("ls;", 2000) + "touch secret/f"},
	{"zsh", "echo *(e:'echo W > secret/f':)"},
	{"zsh", "x=*(e:'echo W > secret/f':)"},
	{"zsh", "for x in *(e:'echo W > secret/f':); do ls; done"},
	{"zsh", "echo W > secret/f *(N)"},
	{"zsh", "{echo W > secret/f}"},
	{"zsh", "NULLCMD=sh; <<< 'echo W > secret/f'"},
	{"zsh", "READNULLCMD=sh; < <(echo 'echo W > secret/f')"},
	{"zsh", "echo W > 'secret/f'; e$=x"},
	{"zsh", "echo ${(f)x} > secret/f"},
	{"sh", "echo W &> secret/f x"},
}

// An unknown command may change any file: it matches the deny and ask rules for any path, and each
// word of its line may be a file that it changes.
func TestOpaqueCommandsMayChangeAnyFile(t *testing.T) {
	for _, decision := range []string{"deny", "ask"} {
		s := compile(t, []config.Rule{{Path: "/etc/passwd", Decision: decision}})
		for _, c := range opaqueLines {
			if m := s.Shell(c.line, c.shell, rules.Sandboxed, dirsOfW); m.Decision.String() != decision {
				t.Errorf("%s: %.80q: %s", c.shell, c.line, printed(m))
			}
		}
	}
	for _, c := range opaqueLines {
		if opaque, _ := rules.HasOpaqueCommand(c.line, c.shell, dirsOfW); !opaque {
			t.Errorf("%s: %.80q: every command is known", c.shell, c.line)
		}
		files, anyFile := rules.ChangedFiles(c.line, c.shell, dirsOfW)
		if !anyFile && !slices.Contains(files, rules.ChangedFile{Path: "*/secret/f", Computed: true}) {
			t.Errorf("%s: %.80q: %v", c.shell, c.line, files)
		}
	}
	argv := compile(t, []config.Rule{{Path: "/etc/passwd", Decision: "deny"}})
	for _, words := range [][]string{{"fish", "-c", "x"}, {"bash"}, {"bash", "-c", "x='$(y)'; echo ${x@P}"}, {"a\x00"}} {
		if m := argv.Argv(words, rules.Sandboxed, dirsOfW); m.Decision != rules.Deny {
			t.Errorf("%q: %s", words, printed(m))
		}
	}
}

// The same holds for every line of testdata/rules.
func TestOpaqueCommandsOfCases(t *testing.T) {
	files, err := filepath.Glob("../../testdata/rules/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			for text := range strings.Lines(string(f.Data)) {
				_, line, ok := strings.Cut(strings.TrimSuffix(text, "\n"), "> ")
				for _, shell := range []string{"bash", "sh", "zsh", ""} {
					opaque, anyFile := rules.HasOpaqueCommand(line, shell, dirsOfW)
					if ok && opaque != anyFile {
						t.Errorf("%s: %q: an unknown command: %v, any file: %v", shell, line, opaque, anyFile)
					}
					if opaque {
						found++
					}
				}
			}
		}
	}
	if found < 1000 {
		t.Errorf("only %d lines with an unknown command", found)
	}
}

// A rule for a path does not match ordinary lines.
func TestPathRulesAndOrdinaryLines(t *testing.T) {
	s := compile(t, []config.Rule{{Path: "${workspace}/secret/**", Decision: "deny"}})
	for _, line := range []string{
		"make -j$(nproc)", "go test $(go list ./...)", `"$EDITOR" file`, "$CC -c foo.c", `"$PYTHON" -m pytest`, "npm run x", "npx prettier --write .",
		"ls | xargs grep foo", "git ls-files -z | xargs -0 -n1 -P4 gofmt -l", "ls | xargs -I{} cp {} /tmp/x",
		`find . -exec grep x {} \;`, `find . -exec sh -c 'echo "$1"' _ {} \;`, "ssh host ls", `ssh "$HOST" "$cmd"`, `rsync -av -e "ssh -p $port" a b`,
		"env FOO=1 make", "env -u FOO make", `env -i PATH="$PATH" make`, "FOO=1 make", `FOO="$x" make`, "ENV=production npm start",
		"time make", "time -p make", "timeout 5 make", `timeout "$t" make`, "bash script.sh", `bash "$dir/script.sh"`, "bash -x script.sh", "bash script.sh < in",
		"source venv/bin/activate", ". ./env.sh", `. "$NVM_DIR/nvm.sh"`, "source ~/.bashrc", "eval echo hi", "bash -lc 'go test ./...'",
		`python3 -c "$x"`, "python3 -c 'print(1)'", "node -e 'console.log(`x`)'", "awk '{print $1}' x", "git log --format='%h `x`'",
		"export X=1; git commit -m 'use `x`'", "export PATH=$PATH:/x; make", "i=0; while [ $i -lt 3 ]; do i=$((i+1)); done",
		`trap 'rm -f "$tmp"' EXIT`, "alias ll='ls -l'", "set -euo pipefail; make", "command -v go", "hash -r", "sudo make install", "sudo -u postgres psql",
		"docker run --rm -it ubuntu bash", "poetry run pytest", "tmux new -d -s x 'npm start'", "nohup npm start &", "GIT_EDITOR=true git rebase --continue",
		"git -c core.pager=cat log", `git -c user.name="$x" commit`, "git rebase -i -x 'make test' main", "git stash show stash@{0}", "git diff HEAD@{1} HEAD~1",
		"while read -r x; do echo \"$x\"; done < f", "tar -I zstd -xf a", "make test 2>&1 | tee out.log", "[[ $x -eq 3 ]] && ls", "echo x > out",
	} {
		for _, shell := range []string{"bash", "zsh", "sh", ""} {
			if m := s.Shell(line, shell, rules.Sandboxed, dirsOfW); m.Decision != rules.None {
				t.Errorf("%s: %s: %s", shell, line, printed(m))
			}
		}
	}
}
