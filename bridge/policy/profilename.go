package policy

import "strings"

// bridgeProfile is the name of the permissions profile that the bridge defines in a thread's
// overlay: Codex's :workspace without protected files.
//
// Measured with Codex 0.169: an entry "read" inside a writable root is a read-only mount. A command
// can't write, rename, replace or link over it, and Codex asks about a patch there. A sandboxPolicy
// has no such field, and replaces the profile when a turn sends one. Threads of subagents inherit
// the profile.
const bridgeProfile = "codex-bridge"

// profileVariant is a variant of the profile, for the members of a sandboxPolicy. Each set member
// is a suffix of the profile's name.
//
// The variant ReadOnly has no others but user. Its commands write nothing, and read neither State.Secrets
// nor what the user's own profile denies.
type profileVariant struct {
	readOnly, network, noTmpdir, noSlashTmp, roots bool
	// user is the profile of the user's configuration for which it stands; "" if there is none. Codex keeps the name
	// with the thread, so that a resume finds that profile again, as with Codex alone.
	user string
}

const userSuffix = "-of-"

// each calls do for each member with its suffix.
func (f *profileVariant) each(do func(suffix string, flag *bool)) {
	do("-read-only", &f.readOnly)
	do("-network", &f.network)
	do("-no-tmpdir", &f.noTmpdir)
	do("-no-slash-tmp", &f.noSlashTmp)
	do("-roots", &f.roots)
}

// name returns the profile's name.
func (f profileVariant) name() string {
	name := bridgeProfile
	f.each(func(suffix string, flag *bool) {
		if *flag {
			name += suffix
		}
	})
	if f.user != "" {
		name += userSuffix + f.user
	}
	return name
}

// parseProfileName returns the variant with that name; false if the bridge has no such profile.
func parseProfileName(name string) (f profileVariant, ok bool) {
	rest, ok := strings.CutPrefix(name, bridgeProfile)
	f.each(func(suffix string, flag *bool) { rest, *flag = strings.CutPrefix(rest, suffix) })
	if user, of := strings.CutPrefix(rest, userSuffix); of && namesUserProfile(user) {
		f.user, rest = user, ""
	}
	return f, ok && rest == "" && (!f.readOnly || f == profileVariant{readOnly: true, user: f.user})
}

// nameOf returns the name of a variant of the profile.
func (f Profile) nameOf(v profileVariant) string {
	v.user = ""
	if namesUserProfile(f.User) {
		v.user = f.User
	}
	return v.name()
}
