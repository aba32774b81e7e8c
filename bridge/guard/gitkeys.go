package guard

import (
	"errors"
	"regexp"
	"slices"
	"strings"
)

// gitKey is a key of a repository's own git configuration.
type gitKey struct{ name, origin string }

// programKeys reads the output of git config --list --show-scope --show-origin -z: scope,
// origin, and name with value, each ended by NUL. isOwn reports whether a file of the user's own
// configuration is one that commands can't write.
func programKeys(list string, isOwn func(file string) bool) ([]gitKey, error) {
	fields := strings.Split(strings.TrimSuffix(list, "\x00"), "\x00")
	if list == "" {
		return nil, nil
	}
	if len(fields)%3 != 0 {
		return nil, errors.New("its output has an unknown form")
	}
	var programs, fetchers, promisors []gitKey
	var names []string // of the promisors' remotes
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
		// Without an address in the configuration git takes it from .git/remotes or
		// .git/branches, or takes the name for one.
		if !addressed[name] {
			programs = append(programs, promisors[i])
		}
	}
	return programs, nil
}

// lfsExtension matches the start of a line that old versions of git-lfs take for a key: they
// read the output of git config -l by lines.
var lfsExtension = regexp.MustCompile(`(?i)\n\s*lfs\.extension\.`)

// extendsLFS reports whether git-lfs could take a key, or its value, for a program that it
// runs. The name of an extension may hold a whole line of git config -l.
func extendsLFS(name, value string) bool {
	name = strings.ToLower(name)
	return strings.HasPrefix(name, "lfs.extension.") && (strings.Contains(name, ".clean") || strings.Contains(name, ".smudge")) ||
		lfsExtension.MatchString(value)
}

// remoteAddress matches an address that git fetches from with its own programs for HTTP, SSH
// and its own protocol, whatever follows. A local repository has a configuration of its own,
// which nothing has checked.
var remoteAddress = regexp.MustCompile(`^(?:(?:https?|ssh|git)://|[A-Za-z0-9][\w.-]*@[\w.-]+:|[A-Za-z0-9][\w.-]+:/?[^:/])`)

// harmlessHTTP are the variables of git's http section that neither name a file nor change the server
// that git connects to.
//
// Measured with git 2.39: a fetch overwrites the file http.cookieFile with the cookies of the
// server if http.saveCookies is set. Of a proxy without http.sslVerify, the user's own
// credential helper is asked for the password of another server.
var harmlessHTTP = []string{"extraheader", "lowspeedlimit", "lowspeedtime", "maxrequests", "minsessions", "postbuffer", "useragent", "version"}

// fetches reports whether a key names a program that git fetch, or the maintenance after it,
// runs, a file that it writes, or an address for which it could run a program. section and
// variable are in lower case.
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
			variable == "url" && !remoteAddress.MatchString(value)
	case "url": // the subsection takes the place of what the value is
		return variable == "insteadof" && !remoteAddress.MatchString(subsection)
	case "credential": // protectProtocol and sanitizePrompt keep one server from another's password
		return variable != "username" && variable != "usehttppath"
	case "protocol":
		return variable == "allow"
	}
	return false
}
