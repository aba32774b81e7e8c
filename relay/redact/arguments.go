package redact

import "strings"

// words are those of an argument array that tell whether the next argument has a password. In a text, the patterns of the
// kind argument find it; an array has no quotes and blanks between its words.
type words struct {
	program string // one that takes a password; "": none
	flag    string // the argument before, if it is a flag
}

// maxProgram is the maximum length of the name of a program that takes a password.
const maxProgram = 32

var (
	programName = newExpr(`(?i)^(?:curl|(?:mysql|mariadb)[a-z_-]*|sshpass)(?:\.exe)?$`)
	// A program, a flag or none, and the start of an argument that has a password; the rest of that is the password.
	programPassword = newExpr(`(?s)^((?:(?i:curl)\S* (?:-\S+ )?(?:-[a-zA-Z]*[uU]|--user|--proxy-user)[ =]?[^:/ ]*:` +
		`|(?i:mysql|mariadb)\S* (?:-\S+ )?-p|(?i:sshpass)\S* (?:-\S+ )?-p ?)).+$`)
)

// next returns the words before the argument after this one.
func (w words) next(argument string) words {
	name := argument[strings.LastIndexAny(argument, `/\`)+1:]
	switch {
	case len(name) <= maxProgram && programName().MatchString(name):
		return words{program: name}
	case strings.HasPrefix(argument, "-") && len(argument) <= maxProgram && !strings.ContainsAny(argument, " \t\r\n"):
		return words{w.program, argument}
	}
	return words{program: w.program}
}

// redact replaces the password in an argument.
func (w words) redact(argument string) string {
	if w.program == "" {
		return argument
	}
	before := w.program + " "
	if w.flag != "" {
		before += w.flag + " "
	}
	clean := programPassword().ReplaceAllString(before+argument, "${1}"+placeholder)
	if clean, ok := strings.CutPrefix(clean, before); ok {
		return clean
	}
	return argument // the flag before has the password
}
