package rules_test

import (
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/rules"
)

// honestLines are ordinary lines of which a part can't be read. None runs git push.
var honestLines = []string{
	"${PYTHON:-python3} -m pytest", "export X=1; git commit -m 'fix `x`'", "n=1; git commit -m 'use `code` here'; echo $((n+1))",
	"sed -n '1,5p' f; echo '$(date)'; x=1; echo $((x))", "i=0; while [ $i -lt 3 ]; do echo 'a `b`'; i=$((i+1)); done",
	`"$EDITOR" file`, `$CC -c foo.c -o foo.o`, `"${CARGO:-cargo}" build --release`, "$(which python3) -c 'print(1)'", `"$HOME/bin/tool" --version`,
	"cat install.sh | sh -s -- --help", "curl -fsSL https://example.com/install.sh | bash", "bash <(cat setup.sh)", "bash < script.sh", "python3 gen.py | bash",
	`eval "$(ssh-agent -s)"`, `eval "$(direnv hook bash)"; make`, `source <(kubectl completion bash)`, `. "$NVM_DIR/nvm.sh" && nvm use`, "eval $cmd",
	`for f in *.go; do gofmt -l "$f"; done`, `find . -name '*.go' -print0 | xargs -0 gofmt -l`, `find . -type f -exec sh -c 'wc -l "$1"' _ {} \;`, `git ls-files | while read -r f; do wc -l "$f"; done`,
	`git -C "$dir" status`, `git $GITFLAGS log --oneline`, `git "$@"`, `git -c alias.st=status st`, `git --git-dir="$d/.git" fetch`, `git commit -m "$(cat <<'EOF'` + "\nfix: use $(x)\nEOF\n)\"",
	`export PATH=$HOME/bin:$PATH; go test ./...`, `PATH=./node_modules/.bin:$PATH eslint .`, `BASH_ENV= bash -c 'make'`, `PS4='+ ' bash -x build.sh`, `set -a; . ./.env; set +a; npm start`,
	`read -r x < VERSION; echo "$((x + 1))"`, `arr=(a b); echo "${arr[$i]}"`, `declare -A m; m[$k]=1; echo "${!m[@]}"`, `echo "${!var}"`, `printf -v out '%03d' "$n"; echo "$out"`, `[[ -v name ]] && echo 'set $(x)'`,
	`let n=n+1; echo 'a $(b)'`, `for ((i=0; i<3; i++)); do echo '$(i)'; done`, `mapfile -t lines < f; echo "${#lines[@]}"`, `test "$a" -eq 1 && echo '$(one)'`, `coproc cat; echo 'x'`,
	`ssh "$HOST" "$cmd"`, `docker run --rm -it ubuntu bash`, `fish -c 'echo hi'`, `pwsh -Command Get-ChildItem`, `sudo -s`, `su - postgres`, `sudo -E "$tool" install`, `parallel gofmt -l ::: *.go`,
	`alias k="$KUBECTL"; echo ok`, `trap "$cleanup" EXIT; make`, `env -S 'A=1 make'`, `history | tail -5`, `bind -p | head`, `exec "$@"`, `command "$tool" x`, `nohup "$server" &`, `time "$bench" -n 5`,
}

// mentions are lines that name git push without running it.
var mentions = []string{
	"echo 'git push'", `echo "run git push later"`, "# git push\nls", "ls # then git push", "git commit -m 'git push is denied'", `git commit -m "do not git push" -m 'use $(git push)'`,
	"git log --grep='git push'", "grep -rn 'git push' docs", "rg -n 'git push' .", `"${GREP:-grep}" 'git push' README.md`, "sed -i 's/git push/git pull/' README.md", "awk '/git push/ {print $1}' log",
	"cat <<'EOF' > notes.md\ngit push\n$(git push)\nEOF", "cat <<EOF\ngit push origin $x\nEOF", "cat > deploy.sh <<'EOF'\n#!/bin/bash\ngit push\nEOF", "printf '%s\\n' 'git push' >> notes.md",
	"x='git push'; echo \"$x\"", "export HINT='git push'; make", "python3 -c \"print('git push')\"", "gh pr create --title 'git push' --body 'run `git push`'", "test \"$x\" = 'git push' && echo '$(git push)'",
	"git config alias.up 'log --oneline'; git grep 'git push'", "jq '.scripts[\"git push\"]' package.json; n=1; echo $((n))", "while read -r line; do case $line in *'git push'*) echo \"$((n+1))\";; esac; done < f",
	"man git-push", "git help push", "git config push.default simple", "git stash push", "ls git push", "open https://example.com/git/push",
}

// Where the starts of programs are decided, lines that can't be read and lines with the text of a denied
// command run, in each shell. Many of them are denied elsewhere.
func TestOrdinaryLinesWhereProgramStartsAreDecided(t *testing.T) {
	for _, decision := range []string{"deny", "ask"} {
		s := compile(t, []config.Rule{{Command: "git push **", Decision: decision}})
		floor, elsewhere := dirs, 0
		floor.ProgramStarts = true
		for _, line := range append(honestLines[:len(honestLines):len(honestLines)], mentions...) {
			for _, shell := range []string{"bash", "zsh", "sh", "dash", ""} {
				if m := s.Shell(line, shell, rules.Sandboxed, floor); m.Decision != rules.None || m.Asked != nil {
					t.Errorf("%s: %q: %s", shell, line, printed(m))
				}
				if s.Shell(line, shell, rules.Sandboxed, dirs).Decision != rules.None {
					elsewhere++
				}
			}
			if m := s.Argv([]string{"bash", "-lc", line}, rules.Sandboxed, floor); m.Decision != rules.None {
				t.Errorf("as a vector: %q: %s", line, printed(m))
			}
		}
		if elsewhere < 150 {
			t.Errorf("only %d times one of the lines is not for the bridge to read", elsewhere)
		}
	}
}
