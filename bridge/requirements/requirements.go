// Package requirements reads what a machine's administrator allows Codex: the keys of
// requirements.toml that bound sandbox, approvals and reviewers.
//
// Codex holds to them itself, whatever is said here; this is for choosing, among what is
// allowed, what a thread is to have. It is pure and may be used by several goroutines.
package requirements

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"codex-bridge/bridge/setting"
)

// Requirements are what is allowed. An empty list allows all.
type Requirements struct {
	Sandboxes []string
	Approvals []string
	Reviewers []string
}

// Path is where the file is. programData is the folder of that name, on Windows.
func Path(goos, programData string) string {
	if goos == "windows" {
		return programData + `\OpenAI\Codex\requirements.toml`
	}
	return "/etc/codex/requirements.toml"
}

type file struct {
	Sandboxes []any `toml:"allowed_sandbox_modes"`
	Approvals []any `toml:"allowed_approval_policies"`
	Reviewers []any `toml:"allowed_approvals_reviewers"`
	Hosts     []struct {
		Patterns  []string `toml:"hostname_patterns"`
		Sandboxes []any    `toml:"allowed_sandbox_modes"`
	} `toml:"remote_sandbox_config"`
}

// Parse reads the file's text for the machine of that name. A text that can't be read is
// an error: it could be what forbids something. Words that are not known are left out, and
// a list of nothing else is none.
func Parse(text []byte, host string) (*Requirements, error) {
	var f file
	if _, err := toml.Decode(string(text), &f); err != nil {
		return nil, fmt.Errorf("the requirements of this machine can't be read: %w", err)
	}
	r := &Requirements{
		Sandboxes: known(f.Sandboxes, sandbox),
		Approvals: known(f.Approvals, func(word string) string { return oneOf(word, approvals) }),
		Reviewers: known(f.Reviewers, func(word string) string { return oneOf(word, reviewers) }),
	}
	for _, h := range f.Hosts {
		if slices.ContainsFunc(h.Patterns, func(p string) bool { return matches(p, host) }) {
			if own := known(h.Sandboxes, sandbox); own != nil {
				r.Sandboxes = own
			}
			break
		}
	}
	return r, nil
}

// In the order in which they are preferred where the widest is not allowed.
var (
	approvals = []string{setting.OnRequest, setting.OnFailure, setting.Untrusted, setting.Never}
	reviewers = []string{setting.AutoReview, setting.GuardianSubagent, setting.User}
	sandboxes = []string{setting.WorkspaceWrite, setting.ReadOnly, setting.DangerFullAccess}
)

// Sandbox is the first that is allowed of some, or of all in the order of preference; ""
// none of them.
func (r *Requirements) Sandbox(of ...string) string { return first(r.list(0), of, sandboxes) }

// Approval is the same for approval policies.
func (r *Requirements) Approval(of ...string) string { return first(r.list(1), of, approvals) }

// Reviewer is the same for reviewers.
func (r *Requirements) Reviewer(of ...string) string { return first(r.list(2), of, reviewers) }

// list is one of the lists; no requirements have none.
func (r *Requirements) list(i int) []string {
	if r == nil {
		return nil
	}
	return [...][]string{r.Sandboxes, r.Approvals, r.Reviewers}[i]
}

func first(allowed, of, all []string) string {
	if len(of) == 0 {
		of = all
	}
	for _, word := range of {
		if len(allowed) == 0 || slices.Contains(allowed, word) {
			return word
		}
	}
	return ""
}

// sandbox reads a mode's name without regard to case, spaces, dashes and underscores.
func sandbox(word string) string {
	for _, mode := range setting.Sandboxes {
		if plain(mode) == plain(word) {
			return mode
		}
	}
	return ""
}

func plain(word string) string {
	return strings.NewReplacer(" ", "", "-", "", "_", "").Replace(strings.ToLower(word))
}

func oneOf(word string, words []string) string {
	word = strings.TrimSpace(word)
	if slices.Contains(words, word) {
		return word
	}
	return ""
}

func known(list []any, read func(string) string) []string {
	var words []string
	for _, v := range list {
		if text, ok := v.(string); ok {
			if word := read(text); word != "" {
				words = append(words, word)
			}
		}
	}
	return words
}

// matches holds a host's name to a pattern with * and ?, without regard to case.
func matches(pattern, host string) bool {
	ok, err := path.Match(strings.ToLower(strings.TrimSpace(pattern)), strings.ToLower(host))
	return ok && err == nil
}
