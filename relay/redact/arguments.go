package redact

import (
	"slices"
	"strings"
)

// words are those of an argument array that tell whether the next argument has a password. In a text, the patterns of the
// kind argument find it; an array has no quotes and blanks between its words.
type words struct {
	programs []string // words that name a program which takes a password, also as the name of a file
	flag     string   // the argument before, if it is a flag
}

const (
	maxProgram  = 32 // length of the name of a program
	maxPrograms = 8
)

var (
	programName = newExpr(`(?i)^(?:curl|(?:mysql|mariadb)[a-z_-]*|sshpass|redis-cli|login)(?:\.exe)?$`)
	// A program, a flag or none, and the start of an argument that has a password; the rest of that is the password.
	programPassword = newExpr(`(?s)^((?:(?i:curl)\S* (?:-\S+ )?(?:-[a-zA-Z]*[uU]|--user|--proxy-user)[ =]?[^: ]*:` +
		`|(?i:mysql|mariadb)\S* (?:-\S+ )?-p|(?i:sshpass)\S* (?:-\S+ )?-p ?|(?i:redis-cli)\S* (?:-\S+ )?-a ?|(?i:login) (?:-\S+ )?-p[ =]?)).+$`)
)

// next returns the words before the argument after this one.
func (w words) next(argument string) words {
	name := argument[strings.LastIndexAny(argument, `/\`)+1:]
	switch {
	case len(name) <= maxProgram && programName().MatchString(name):
		if len(w.programs) < maxPrograms && !slices.Contains(w.programs, name) {
			w.programs = append(slices.Clip(w.programs), name)
		}
		return words{programs: w.programs}
	case strings.HasPrefix(argument, "-") && len(argument) <= maxProgram && !strings.ContainsAny(argument, " \t\r\n"):
		return words{w.programs, argument}
	}
	return words{programs: w.programs}
}

// redact replaces the password in an argument.
func (w words) redact(argument string) string {
	for _, before := range w.programs {
		before += " "
		if w.flag != "" {
			before += w.flag + " "
		}
		clean, ok := strings.CutPrefix(programPassword().ReplaceAllString(before+argument, "${1}"+placeholder), before)
		if ok && clean != argument { // otherwise the flag before has the password
			return clean
		}
	}
	return argument
}
