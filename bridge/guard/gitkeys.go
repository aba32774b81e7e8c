package guard

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// gitKey is a key of a repository's own git configuration, with the file that sets it.
type gitKey struct{ name, origin string }

// programKeys returns the keys that make git run programs, from the output of git config --list
// --show-scope --show-origin -z: scope, origin, and name with value, each ended by NUL. isOwn
// reports whether a file belongs to the user's own configuration and is not writable by commands.
func programKeys(list string, isOwn func(file string) bool) ([]gitKey, error) {
	fields := strings.Split(strings.TrimSuffix(list, "\x00"), "\x00")
	if list == "" {
		return nil, nil
	}
	if len(fields)%3 != 0 {
		return nil, errors.New("its output has an unknown form")
	}
	var programs, fetchers, promisors []gitKey
	var names []string // remotes of the promisors
	addressed := make(map[string]bool)
	for i := 0; i < len(fields); i += 3 {
		name, value, _ := strings.Cut(fields[i+2], "\n")
		key := gitKey{name, strings.TrimPrefix(fields[i+1], "file:")}
		section, rest, _ := strings.Cut(name, ".")
		dot := max(strings.LastIndexByte(rest, '.'), 0)
		subsection, variable := rest[:dot], strings.ToLower(strings.TrimPrefix(rest[dot:], "."))
		section = strings.ToLower(section)
		switch section + "." + variable {
		case "extensions.partialclone":
			promisors, names = append(promisors, key), append(names, value)
		case "remote.promisor", "remote.partialclonefilter":
			promisors, names = append(promisors, key), append(names, subsection)
		case "remote.url":
			addressed[subsection] = true
		}
		switch fields[i] {
		case "command":
			continue
		case "system", "global":
			if isOwn(key.origin) {
				continue
			}
		}
		switch {
		case section == "filter" && (variable == "clean" || variable == "process"), section == "hook" && variable == "command",
			extendsLFS(name, value):
			programs = append(programs, key)
		case affectsFetch(section, subsection, variable, value):
			fetchers = append(fetchers, key)
		}
	}
	if len(promisors) > 0 {
		programs = append(programs, fetchers...)
	}
	for i, name := range names {
		// Without an address in the configuration, git reads it from .git/remotes or
		// .git/branches, or uses the name as the address.
		if !addressed[name] {
			programs = append(programs, promisors[i])
		}
	}
	return programs, nil
}

// lfsExtension matches the start of a line that old versions of git-lfs read as a key, because they
// read the output of git config -l by lines.
var lfsExtension = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\n\s*lfs\.extension\.`) })

// extendsLFS reports whether git-lfs may read a program that it runs from a key or its value. The
// name of an extension may contain a whole line of git config -l.
func extendsLFS(name, value string) bool {
	name = strings.ToLower(name)
	return strings.HasPrefix(name, "lfs.extension.") && (strings.Contains(name, ".clean") || strings.Contains(name, ".smudge")) ||
		lfsExtension().MatchString(value)
}

// remoteAddress matches addresses that git fetches from with its own programs for HTTP, SSH and the
// git protocol. A local repository has its own configuration, which the guard has not checked.
var remoteAddress = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:(?:https?|ssh|git)://|[A-Za-z0-9][\w.-]*@[\w.-]+:|[A-Za-z0-9][\w.-]+:/?[^:/])`)
})

// harmlessHTTP are the variables of git's http section that neither name a file nor change the
// server that git connects to.
//
// Measured with git 2.39: if http.saveCookies is set, a fetch overwrites the file http.cookieFile
// with the cookies of the server. With a proxy and without http.sslVerify, another server could ask
// the user's own credential helper for a password.
var harmlessHTTP = []string{"extraheader", "lowspeedlimit", "lowspeedtime", "maxrequests", "minsessions", "postbuffer", "useragent", "version"}

// affectsFetch reports whether a key names a program that git fetch, or the maintenance after it,
// runs, a file that it writes, or an address for which it may run a program. section and variable
// are in lower case.
func affectsFetch(section, subsection, variable, value string) bool {
	switch section {
	case "core":
		return slices.Contains([]string{"sshcommand", "gitproxy", "askpass", "alternaterefscommand"}, variable)
	case "gc":
		return variable == "recentobjectshook" || variable == "repackfilterto"
	case "http":
		return !slices.Contains(harmlessHTTP, variable)
	case "remote":
		return variable == "uploadpack" || variable == "vcs" || strings.HasPrefix(variable, "proxy") || strings.Contains(subsection, "::") ||
			variable == "url" && !remoteAddress().MatchString(value)
	case "url": // git replaces the value by the subsection
		return variable == "insteadof" && !remoteAddress().MatchString(subsection)
	case "credential": // protectProtocol and sanitizePrompt protect passwords of other servers
		return variable != "username" && variable != "usehttppath"
	case "protocol":
		return variable == "allow"
	}
	return false
}
