package rules

import (
	"slices"
	"strings"
)

// This file has the grammar of docs/reference/lines.md, "Lines that a rule can allow". bash, dash,
// zsh and Codex read each of its lines in the same way; tests check that with the real
// shells. Keep the page and the code in step, and omit doubtful forms: a line outside
// the grammar only needs an approval.
//
//	line     = { NEWLINE } command { separator command } [ ";" ] { NEWLINE }
//	separator = ";" | NEWLINE | ( "&&" | "||" | "|" ) { NEWLINE }
//	command  = name { BLANK ( word | redirect ) }
//	name     = ( letter | digit | one of _./ ) { letter | digit | one of _./+- }
//	word     = piece { piece }
//	piece    = { letter | digit | one of _./+-,:@% } | "=" behind a letter, a digit or one of _-.
//	         | "'" { any but "'" } "'" | '"' { any but one of "$`\ } '"'
//	redirect = "2>&1" | "1>&2" | ">&2" | [ "1" | "2" ] ( ">" | ">>" ) word | "<" word

// plainCommand is a simple command of a line in the grammar.
type plainCommand struct {
	text      string
	words     []string
	redirects []plainRedirect
	operator  string // the separator behind the command; "" at the end
}

// plainRedirect is a redirection. target is the path of a file; "" for forms such as 2>&1.
type plainRedirect struct{ text, operator, target string }

// Outside returns why a line is outside the grammar; "" if it is inside.
func Outside(line string) string {
	_, why := parsePlain(line)
	return why
}

// parsePlain parses a line of the grammar. why is the reason if the line is outside.
func parsePlain(text string) (commands []plainCommand, why string) {
	for i := range len(text) {
		if c := text[i]; c != '\n' && (c < ' ' || c > '~') {
			return nil, "it has a character other than printable ASCII"
		}
	}
	p := plainParser{text: text}
	p.skip(" \n")
	piped := false // a pipe leads to this command
	for {
		command, used, why := p.command()
		if why != "" {
			return nil, why
		}
		command.operator = p.operator()
		switch {
		case piped && used[0] || command.operator == "|" && used[1]:
			return nil, "a command has a pipe and a redirection in one place"
		case command.operator == "&":
			return nil, "it has a single &"
		}
		commands = append(commands, command)
		piped = command.operator == "|"
		p.skip(" \n")
		if p.at == len(p.text) && strings.Trim(command.operator, ";\n") == "" {
			return commands, ""
		}
	}
}

// plainParser parses a line; at is the position of the next byte.
type plainParser struct {
	text string
	at   int
}

func (p *plainParser) skip(chars string) {
	for p.at < len(p.text) && strings.IndexByte(chars, p.text[p.at]) >= 0 {
		p.at++
	}
}

// operator reads the separator between two commands; "" at the end.
func (p *plainParser) operator() string {
	rest := p.text[p.at:]
	for _, operator := range []string{"&&", "||", "|", ";", "\n", "&"} {
		if strings.HasPrefix(rest, operator) {
			p.at += len(operator)
			return operator
		}
	}
	return ""
}

// command reads a simple command and the blanks behind it. used reports the descriptors that it
// redirects.
func (p *plainParser) command() (command plainCommand, used [3]bool, why string) {
	start, end := p.at, p.at
	name, why := p.name()
	if why != "" {
		return command, used, why
	}
	command.words = append(command.words, name)
	for {
		end = p.at
		p.skip(" ")
		if p.atEnd() {
			command.text = p.text[start:end]
			return command, used, ""
		}
		at := p.at
		operator, descriptor := p.redirect()
		switch {
		case operator == "":
			word, why := p.word()
			if why != "" {
				return command, used, why
			}
			command.words = append(command.words, word)
			continue
		case used[descriptor]:
			return command, used, "a command redirects a descriptor twice"
		}
		used[descriptor] = true
		target := ""
		if strings.Contains(operator, "&") {
			if !p.atEnd() && p.text[p.at] != ' ' {
				return command, used, "a redirection has no blank behind it"
			}
		} else {
			p.skip(" ")
			if target, why = p.word(); why != "" {
				return command, used, why
			}
			if target != devNull && !plainTarget(target) {
				return command, used, "a redirection has no plain path"
			}
		}
		command.redirects = append(command.redirects, plainRedirect{text: p.text[at:p.at], operator: operator, target: target})
	}
}

const devNull = "/dev/null"

// atEnd reports whether a command ends here.
func (p *plainParser) atEnd() bool {
	return p.at == len(p.text) || strings.IndexByte("\n;|&", p.text[p.at]) >= 0
}

// plainRedirects are the operators of redirections and the descriptors that they redirect. If one
// operator starts with another, the longer one comes first.
var plainRedirects = []struct {
	operator   string
	descriptor int
}{
	{"2>&1", 2}, {"1>&2", 1}, {">&2", 1}, {"2>>", 2}, {"1>>", 1}, {">>", 1}, {"2>", 2}, {"1>", 1}, {">", 1}, {"<", 0},
}

// redirect reads the operator of a redirection; "" if there is none.
func (p *plainParser) redirect() (operator string, descriptor int) {
	for _, r := range plainRedirects {
		if strings.HasPrefix(p.text[p.at:], r.operator) {
			p.at += len(r.operator)
			return r.operator, r.descriptor
		}
	}
	return "", 0
}

// plainTarget reports whether the target of a redirection is an ordinary path. bash treats names
// below /dev specially.
func plainTarget(path string) bool {
	return path != "" && (alphanumeric(path[0]) || strings.IndexByte("_./", path[0]) >= 0) &&
		strings.Trim(path, "0123456789") != "" && !strings.Contains(path, "//") &&
		!strings.Contains(path, "/dev/") && !strings.Contains(path, "/proc/")
}

// name reads the name of a command. The second result is the reason if it is outside the grammar.
func (p *plainParser) name() (string, string) {
	start := p.at
	for p.at < len(p.text) && (alphanumeric(p.text[p.at]) || strings.IndexByte("_./+-", p.text[p.at]) >= 0) {
		p.at++
	}
	name := p.text[start:p.at]
	switch {
	case p.at < len(p.text) && p.text[p.at] == '=':
		return "", "it sets a variable"
	case name == "" || name[0] == '+' || name[0] == '-' || p.at < len(p.text) && p.text[p.at] != ' ' && !p.atEnd():
		return "", "a command's name is not written plainly"
	case !safeBuiltins[name] && (reservedWords[name] || shellBuiltins[name]):
		return "", name + " is a reserved word or builtin of a shell"
	}
	return name, ""
}

// word reads a word and removes its quotes.
func (p *plainParser) word() (string, string) {
	var b strings.Builder
	start := p.at
	for p.at < len(p.text) {
		c := p.text[p.at]
		switch {
		case alphanumeric(c) || strings.IndexByte("_./+-,:@%", c) >= 0:
		case c == '=' && (alphanumeric(p.text[p.at-1]) || strings.IndexByte("_-.", p.text[p.at-1]) >= 0):
		case c == '\'' || c == '"':
			length := strings.IndexByte(p.text[p.at+1:], c)
			if length < 0 {
				return "", "a quote is not closed"
			}
			inner := p.text[p.at+1 : p.at+1+length]
			end := p.at + 1 + length + 1
			switch {
			case strings.Contains(inner, "\n"):
				return "", "a quoted text has several lines"
			case c == '"' && strings.ContainsAny(inner, "$`\\"):
				return "", "a text in double quotes has one of $ ` \\"
			case end < len(p.text) && p.text[end] == c: // zsh may read '' in quotes as one quote
				return "", "two quoted texts touch"
			}
			b.WriteString(inner)
			p.at = end
			continue
		case strings.IndexByte(" \n;|&", c) >= 0:
			return p.finishWord(start, b.String())
		default:
			return "", "it has an unquoted " + string(rune(c))
		}
		b.WriteByte(c)
		p.at++
	}
	return p.finishWord(start, b.String())
}

// finishWord refuses an empty word.
func (p *plainParser) finishWord(start int, word string) (string, string) {
	if p.at == start {
		return "", "a word is missing"
	}
	return word, ""
}

func alphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// reservedWords start something other than a simple command in one of the shells. Words that are no
// plain name of a command are in unnamedWords.
var reservedWords = setOf(strings.Fields(`
	if then elif else fi for foreach do done while until case esac select function in time coproc repeat end nocorrect noglob
	declare export float integer local private readonly typeset let always
`)...)

// shellBuiltins are the builtins of bash, dash and zsh. Some run or evaluate their arguments, some
// change the meaning of later commands, and a builtin of one shell may be a program for another.
var shellBuiltins = setOf(strings.Fields(`
	. alias autoload bg bind bindkey break builtin bye caller cap cd chdir clone command compadd comparguments compcall compctl compdescribe
	compfiles compgen compgroups complete compopt compquote compset comptags comptry compvalues continue declare dirs disable disown
	echo echotc echoti emulate enable eval exec exit export false fc fg float functions getcap getln getopts hash help history integer
	jobs kill let limit local log logout mapfile newgrp nocorrect noglob popd print printf private pushd pushln pwd r read readarray readonly
	rehash return sched set setcap setopt shift shopt source suspend test times trap true ttyctl type typeset ulimit umask unalias
	unfunction unhash unlimit unset unsetopt vared wait whence where which zcompile zformat zftp zle zmodload zparseopts zprof zpty
	zregexparse zselect zsocket zstat zstyle zsystem ztcp
`)...)

// unnamedWords are the reserved words and builtins whose names are outside the grammar.
var unnamedWords = setOf("!", "-", ":", "[", "[[", "]]", "{", "}")

// safeBuiltins do not run or evaluate their arguments in any of the shells. cd sets
// line.changesFolder.
var safeBuiltins = setOf("cd", "echo", "false", "pwd", "true", "which")

// Exact returns the patterns of rules that match exactly the simple commands of a line of the grammar,
// each once. why is the reason if there are none.
func Exact(line string) (patterns []string, why string) {
	commands, why := parsePlain(line)
	for _, c := range commands {
		var words []string
		for _, word := range c.words {
			if word == "" || strings.ContainsAny(word, " \t\n") {
				return nil, "a rule can't have a word that is empty or has a blank"
			}
			words = append(words, globEscape.Replace(word))
		}
		if pattern := strings.Join(words, " "); !slices.Contains(patterns, pattern) {
			patterns = append(patterns, pattern)
		}
	}
	return patterns, why
}

var globEscape = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `{`, `\{`, `]`, `\]`, `}`, `\}`)
