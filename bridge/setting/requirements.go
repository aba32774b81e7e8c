package setting

import (
	"path"
	"slices"
	"strings"

	"codex-bridge.example/bridge/toml"
)

// Requirements are the values that a machine's administrator allows Codex, by the keys of
// requirements.toml. An empty list, and a nil *Requirements, allows all values. Codex checks them
// itself; the bridge reads them to choose a value that Codex accepts.
type Requirements struct {
	Sandboxes []string
	Approvals []string
	Reviewers []string
	// Rules restrict commands. Codex applies the strictest of them and of the user's rules.
	Rules []PrefixRule
}

// PrefixRule restricts commands whose first words are each among the alternatives.
type PrefixRule struct {
	Pattern   [][]string
	Forbidden bool // else Codex asks
	AnyCase   bool // words match in any case
	Reason    string
}

// RequirementsPath returns the path of requirements.toml. programData is the folder ProgramData, on
// Windows.
func RequirementsPath(goos, programData string) string {
	if goos == "windows" {
		return programData + `\OpenAI\Codex\requirements.toml`
	}
	return "/etc/codex/requirements.toml"
}

type requirementsFile struct {
	Sandboxes []any `toml:"allowed_sandbox_modes"`
	Approvals []any `toml:"allowed_approval_policies"`
	Reviewers []any `toml:"allowed_approvals_reviewers"`
	Hosts     []struct {
		Patterns  []string `toml:"hostname_patterns"`
		Sandboxes []any    `toml:"allowed_sandbox_modes"`
	} `toml:"remote_sandbox_config"`
	Rules struct {
		Prefixes []struct {
			Pattern []struct {
				Token string   `toml:"token"`
				AnyOf []string `toml:"any_of"`
			} `toml:"pattern"`
			Decision string `toml:"decision"`
			AnyCase  bool   `toml:"canonical_matching"`
			Reason   string `toml:"justification"`
		} `toml:"prefix_rules"`
	} `toml:"rules"`
}

// ParseRequirements parses the text of requirements.toml for the machine host. Invalid TOML is an
// error, since it may forbid something. Unknown words are ignored; a list without known words
// allows all.
func ParseRequirements(text []byte, host string) (*Requirements, error) {
	var f requirementsFile
	if err := toml.Decode(string(text), &f); err != nil {
		return nil, unreadable(err)
	}
	r := &Requirements{
		Sandboxes: knownWords(f.Sandboxes, sandboxMode),
		Approvals: knownWords(f.Approvals, func(word string) string { return oneOf(word, preferredApprovals) }),
		Reviewers: knownWords(f.Reviewers, func(word string) string { return oneOf(word, preferredReviewers) }),
	}
	for _, h := range f.Hosts {
		if slices.ContainsFunc(h.Patterns, func(p string) bool { return matches(p, host) }) {
			if own := knownWords(h.Sandboxes, sandboxMode); own != nil {
				r.Sandboxes = own
			}
			break
		}
	}
	for _, one := range f.Rules.Prefixes {
		rule := PrefixRule{Forbidden: one.Decision == "forbidden", AnyCase: one.AnyCase, Reason: one.Reason}
		for _, word := range one.Pattern {
			words := word.AnyOf
			if word.Token != "" {
				words = append(words, word.Token)
			}
			rule.Pattern = append(rule.Pattern, words)
		}
		r.Rules = append(r.Rules, rule)
	}
	return r, nil
}

// Values in the order of preference if the widest is not allowed.
var (
	preferredApprovals = []string{OnRequest, OnFailure, Untrusted, Never}
	preferredReviewers = []string{AutoReview, GuardianSubagent, User}
	preferredSandboxes = []string{WorkspaceWrite, ReadOnly, DangerFullAccess}
)

// Sandbox returns the first allowed mode in of, or in the order of preference if of is empty. It
// returns "" if none is allowed.
func (r *Requirements) Sandbox(of ...string) string { return first(r.list(0), of, preferredSandboxes) }

// Approval is Sandbox for approval policies.
func (r *Requirements) Approval(of ...string) string { return first(r.list(1), of, preferredApprovals) }

// Reviewer is Sandbox for reviewers.
func (r *Requirements) Reviewer(of ...string) string { return first(r.list(2), of, preferredReviewers) }

// list returns one of the lists; nil if r is nil.
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

// sandboxMode parses a mode's name, ignoring case, spaces, dashes and underscores.
func sandboxMode(word string) string {
	for _, mode := range Sandboxes {
		if plainWord(mode) == plainWord(word) {
			return mode
		}
	}
	return ""
}

func plainWord(word string) string {
	return strings.NewReplacer(" ", "", "-", "", "_", "").Replace(strings.ToLower(word))
}

func oneOf(word string, words []string) string {
	word = strings.TrimSpace(word)
	if slices.Contains(words, word) {
		return word
	}
	return ""
}

func knownWords(list []any, read func(string) string) []string {
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

// matches reports whether a host's name matches a pattern with * and ?, without regard to case.
func matches(pattern, host string) bool {
	ok, err := path.Match(strings.ToLower(strings.TrimSpace(pattern)), strings.ToLower(host))
	return ok && err == nil
}
