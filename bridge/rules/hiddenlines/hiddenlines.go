// Package hiddenlines has lines of shells that start one program in ways that a reader of the line may not see. The
// program is touch, and it makes the file $P. Not each shell accepts each line.
package hiddenlines

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Generated returns distinct lines: each is a program with a quoting and a wrapper, in an evaluator, at a place. The same
// count and seed give the same lines. Each part is in about as many lines as the others of its kind.
func Generated(count int, seed uint64) []string {
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // the lines of a test, the same each time
	next := func(parts []func(string) string) func() func(string) string {
		var order []int
		return func() func(string) string {
			if len(order) == 0 {
				order = random.Perm(len(parts))
			}
			part := parts[order[0]]
			order = order[1:]
			return part
		}
	}
	place, evaluator, wrapper := next(places), next(evaluators), next(wrappers)
	quoting := next(quotings)
	known := make(map[string]bool)
	var lines []string
	for len(lines) < count {
		line := place()(evaluator()(wrapper()(quoting()("touch"))))
		if !known[line] {
			known[line] = true
			lines = append(lines, line)
		}
	}
	return lines
}

// single returns a word in single quotes.
func single(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// hexadecimal and octal return a text as many languages read it.
func hexadecimal(text string) string { return escaped(text, `\x%02x`) }
func octal(text string) string       { return escaped(text, `\%03o`) }

func escaped(text, format string) string {
	var all strings.Builder
	for i := range len(text) {
		fmt.Fprintf(&all, format, text[i])
	}
	return all.String()
}

// form returns a part that replaces @@ in a text by its argument.
func form(text string) func(string) string {
	return func(part string) string { return strings.ReplaceAll(text, "@@", part) }
}

// quoted is form with the argument in single quotes.
func quoted(text string) func(string) string {
	return func(part string) string { return strings.ReplaceAll(text, "@@", single(part)) }
}

// coded is form with the argument as a code of another language.
func coded(text string, code func(string) string) func(string) string {
	return func(part string) string { return strings.ReplaceAll(text, "@@", code(part)) }
}

// quotings spell the name of the program.
var quotings = []func(string) string{
	form(`@@`), form(`'@@'`), form(`"@@"`), form(`\@@`), form(`/usr/bin/@@`), form(`/bin/../bin//@@`), form(`"$(command -v @@)"`), form("`echo @@`"), form(`$(printf %s @@)`), form(`/usr/bin/@@*`), form(`/???/bin/touc[h]`), form(`t'ou'ch`), form(`t\ouc\h`),
	form(`t"${nothing}"ouch`), form(`${nothing:-@@}`), form(`"$(printf '\164ouch')"`), form(`$'t\x6fuch'`), form(`$'\164\157uch'`), form(`"$(echo hcuot | rev)"`), form(`"$(echo dG91Y2g= | base64 -d)"`), form(`$(for c in t o u c h; do printf $c; done)`),
	form(`"$(ln -sf /usr/bin/@@ l; echo ./l)"`), form(`"$(ln -sf /usr/bin/@@ m; ln -sf m k; echo "$PWD/k")"`), form(`$(n=t; echo ${n}ouch)`), form(`"$(echo TOUCH | tr A-Z a-z)"`), form(`$(cd /usr/bin && echo touc?)`),
}

// wrappers start the program with the file.
var wrappers = []func(string) string{
	form(`@@ "$P"`), form(`command @@ "$P"`), form(`exec @@ "$P"`), form(`env @@ "$P"`), form(`env -i @@ "$P"`), form(`nice @@ "$P"`), form(`nohup @@ "$P"`), form(`timeout 60 @@ "$P"`), form(`setsid -w @@ "$P"`), form(`stdbuf -o0 @@ "$P"`), form(`time @@ "$P"`), form(`! @@ "$P"`),
	form(`A=b @@ "$P"`), form(`>o @@ "$P"`), form(`@@ "$P" <&-`), form(`echo "$P" | xargs @@`), form(`echo "$P" | xargs -I{} @@ {}`), form(`find . -maxdepth 0 -exec @@ "$P" \;`), form(`find . -maxdepth 0 -execdir @@ "$P" +`), form(`flock lock @@ "$P"`),
	form(`x=@@; $x "$P"`), form(`set -- @@ "$P"; "$@"`), form(`@@ -- "$P"`), form(`env -u A B=c nice -n 1 timeout -k 1 60 @@ "$P"`), form(`echo "$P" | while read -r p; do @@ "$p"; done`), form(`(exec -a ls @@ "$P")`),
	form(`eval @@ '"$P"'`), form(`/lib64/ld-linux-x86-64.so.2 "$(command -v @@)" "$P"`), form(`alias t=@@; eval 't "$P"'`), form(`hash -p "$(command -v @@)" ls; ls "$P"`), form(`t() { "$@" "$P"; }; t @@`), form(`printf '#!/bin/sh\n"$@"\n' > w; chmod +x w; ./w @@ "$P"`),
	form(`printf '#!%s\n' "$(command -v @@)" > i; chmod +x i; ./i "$P"`), form(`printf '#!/usr/bin/env -S %s -m\n' @@ > j; chmod +x j; ./j "$P"`),
}

// evaluators run a text as a line.
var evaluators = []func(string) string{
	form(`@@`), quoted(`eval @@`), quoted(`bash -c @@`), quoted(`sh -c @@`), quoted(`dash -c @@`), quoted(`zsh -fc @@`), quoted(`printf %s @@ > f; . ./f`), quoted(`printf %s @@ | sh`), quoted(`sh <<< @@`), form("sh << 'END'\n@@\nEND"), quoted(`printf %s @@ > s; sh s`),
	quoted(`printf '#!/bin/bash\n%s\n' @@ > s; chmod +x s; ./s`), quoted(`printf %s @@ > s; chmod +x s; ./s`), quoted(`trap @@ EXIT; exit`), quoted(`env bash -c @@`), quoted(`echo . | xargs sh -c @@`), quoted(`find . -maxdepth 0 -exec sh -c @@ \;`), quoted(`T=@@ sh -c 'eval "$T"'`),
	coded(`perl -e 'system "@@"'`, hexadecimal), coded(`perl -e 'exec "/bin/sh", "-c", "@@"'`, hexadecimal), coded(`python3 -c 'import os; os.system("@@")'`, hexadecimal), coded(`python3 -c 'import subprocess; subprocess.run(["bash", "-c", "@@"])'`, hexadecimal),
	coded(`node -e 'require("child_process").execSync("@@")'`, hexadecimal), coded(`awk 'BEGIN { system("@@") }'`, octal), coded(`awk 'BEGIN { "@@" | getline }'`, octal), quoted(`git -c alias.x="!sh -c \"\$T\"" x`), quoted(`export T=@@; printf 'a:\n\t-eval "$$T"\n' | make -s -f - a`),
	quoted(`echo | sed 1e@@`), quoted(`echo > f; T=@@ tar cf /dev/null --checkpoint=1 --checkpoint-action=exec='eval "$T"' f`), quoted(`export T=@@; x='a[$(eval "$T")]'; ((x))`), quoted(`mapfile -tC "eval "@@";:" -c1 x <<< 1`), quoted(`T=@@ script -qec 'eval "$T"' /dev/null`),
	quoted(`flock . -c @@`), quoted(`export T=@@; echo 'eval "$T"' | bash -s`), quoted(`BASH_ENV=./e; printf %s @@ > e; export BASH_ENV; bash -c :`), quoted(`ENV=./e; printf %s @@ > e; export ENV; echo : | sh -i`), quoted(`coproc sh -c @@; wait`), quoted(`bash <(printf %s @@)`), quoted(`printf %s @@ > .zshenv; ZDOTDIR=. zsh -c :`),
	quoted(`git init -q r; printf '#!/bin/sh\n%s\n' @@ > r/.git/hooks/pre-commit; chmod +x r/.git/hooks/pre-commit; git -C r -c user.name=a -c user.email=a commit -q --allow-empty -m a`),
}

// places are where a line may be in another one.
var places = []func(string) string{
	form(`@@`), form("(@@\n)"), form("{ @@\n}"), form("x=$(@@\n)"), form("echo \"$(@@\n)\""), form("if @@\nthen :; fi"), form("if false; then :; else @@\nfi"), form("@@\n: | cat"), form(": | { @@\n}"), form("{ @@\n} & wait"), form(": ${x:-$(@@\n)}"), form("cat << END\n$(@@\n)\nEND"),
	form("f() { @@\n}; f"), form("case a in a) @@\n;; esac"), form("for i in 1; do @@\ndone"), form("until ! { @@\n}; do break; done"), form("while :; do @@\nbreak; done"), form("[ \"$(@@\n)\" ]"), form("[[ $(@@\n) ]]"), form("cat <(@@\n)"), form("echo $(( $(@@\n) + 0 ))"), form("a=(1); echo ${a[$(@@\n)0]}"),
	form("echo > \"$(@@\n)o\""), form("x=1 y=$(@@\n) true"), form("export x=\"$(@@\n)\""), form("cat <<< \"$(@@\n)\""), form("cd . && { @@\n}"), form("false || { @@\n}"), form("set -- $(@@\n)"), form("select x in 1; do @@\nbreak; done <<< 1"), quoted(`trap @@ USR1; kill -USR1 $$; :`), quoted(`eval "eval "@@`),
	quoted(`y=$'\n'@@; eval "$y"`),
}
