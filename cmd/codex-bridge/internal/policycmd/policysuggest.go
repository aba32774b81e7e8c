package policycmd

import (
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/replay"
	"codex-bridge.example/cmd/codex-bridge/internal/configured"
	"codex-bridge.example/cmd/codex-bridge/internal/exit"
	"codex-bridge.example/cmd/codex-bridge/internal/output"
	"codex-bridge.example/cmd/codex-bridge/internal/simulate"
)

// SuggestCmd is the command "codex-bridge policy suggest".
type SuggestCmd struct {
	Since  ageFlag `placeholder:"TIME" default:"7d" help:"Only denials since a time or for a duration (\"24h\", \"7d\")."`
	Thread string  `help:"Only denials of a thread."`
	Max    int     `default:"10" help:"The number of proposals, the most frequent denials first."`
	JSON   bool    `help:"Print JSON." name:"json"`
}

// suggestion is a proposal, and proposedRule one of its rules. The JSON names are stable.
type suggestion struct {
	Place         string             `json:"place"`
	Rules         []proposedRule     `json:"rules"`
	Denials       int64              `json:"denials"`
	Users         []denialsOf        `json:"users"`
	Rule          string             `json:"rule,omitempty"` // that denied; "" for a question without a yes
	Origin        string             `json:"origin,omitempty"`
	Reason        string             `json:"reason,omitempty"`
	Example       simulate.Example   `json:"example"`
	Others        int64              `json:"others"` // other calls that it would have allowed
	OtherExamples []simulate.Example `json:"otherExamples"`
}

type proposedRule struct {
	Tool     string `json:"tool"`
	Command  string `json:"command,omitempty"`
	Path     string `json:"path,omitempty"`
	Decision string `json:"decision"`
}

type denialsOf struct {
	User  string `json:"user"`
	Count int64  `json:"count"`
}

// Run prints rules for denials as TOML. It changes nothing.
func (c SuggestCmd) Run(out io.Writer) error {
	if c.Max < 1 || c.Max > 100 {
		return exit.RefuseArgs(fmt.Sprintf("--max=%d: a number from 1 to 100", c.Max))
	}
	files := configured.Setup.Files("")
	cfg, current, err := policyOf(files)
	if err != nil {
		return err
	}
	var s *simulate.Suggestions
	err = readRecords(cfg, c.Since.Time, func(all func() iter.Seq2[simulate.Record, error]) (err error) {
		s, err = simulate.Suggest(all, func(r *simulate.Record) bool { return c.Thread == "" || r.Thread == c.Thread },
			current, suggestPlaces(cfg, files.User), time.Now(), c.Max)
		return err
	})
	if err != nil {
		return err
	}
	if c.JSON {
		all := []suggestion{}
		for _, p := range s.Proposals {
			all = append(all, newSuggestion(p))
		}
		return output.WriteJSON(out, map[string]any{"proposals": all, "more": s.More, "notProposed": append([]*simulate.Count{}, s.NotProposed...), "notChecked": s.NotChecked})
	}
	return c.print(out, s)
}

func newSuggestion(p *simulate.Proposal) suggestion {
	out := suggestion{Rules: []proposedRule{}, Users: []denialsOf{}, Place: p.Place, Denials: p.Denials, Example: p.Example, Others: p.Others, OtherExamples: append([]simulate.Example{}, p.OtherExamples...)}
	for _, r := range p.Rules {
		out.Rules = append(out.Rules, proposedRule{r.Tool, r.Command, r.Path, "allow"})
	}
	for _, u := range p.Users {
		out.Users = append(out.Users, denialsOf{u.Reason, u.Count})
	}
	if p.By.Effect == replay.Denies {
		out.Rule, out.Origin, out.Reason = p.By.Rule, p.By.Origin, p.By.Reason
	}
	return out
}

// bundlePlace is the name of the place for rules of a bundle.
const bundlePlace = "the bundle"

// suggestPlaces returns the user's file, and then each bundle that has rules.
func suggestPlaces(cfg *config.Config, user string) []simulate.Place {
	all := cfg.Policy.Rules
	at := slices.IndexFunc(all, func(r config.Rule) bool { return r.Origin.Layer >= config.User })
	if at < 0 {
		at = len(all)
	} else if all[at].Origin.Layer == config.User {
		user = all[at].Origin.File
	}
	places := []simulate.Place{{Name: "the user's file", With: withRulesAt(cfg, at, config.Origin{Layer: config.User, File: user})}}
	for i, r := range all {
		if layer := r.Origin.Layer; layer.IsBundle() && (i == 0 || all[i-1].Origin.Layer != layer) {
			places = append(places, simulate.Place{Name: bundlePlace, With: withRulesAt(cfg, i, r.Origin)})
		}
	}
	return places
}

// withRulesAt returns a function for the policy of a configuration with rules before the one at an index, as rules
// of a file.
func withRulesAt(cfg *config.Config, at int, file config.Origin) func([]config.Rule) (*policy.Policy, error) {
	return func(add []config.Rule) (*policy.Policy, error) {
		section := cfg.Policy
		added := slices.Clone(add)
		for i := range added {
			added[i].Origin = config.Origin{Layer: file.Layer, File: file.File, Line: 1, Column: 1}
		}
		section.Rules = slices.Concat(section.Rules[:at], added, section.Rules[at:])
		return policy.New(section, cfg.Place)
	}
}

func (c SuggestCmd) print(out io.Writer, s *simulate.Suggestions) error {
	w := output.NewPrinter(out)
	if len(s.Proposals) == 0 {
		w.Line("# no rule to propose")
	} else {
		w.Line("# Proposals from denials. Nothing is applied: judge each, give it a reason, and put it before the rules of your file, or of the bundle.")
	}
	for _, p := range s.Proposals {
		e := p.Example
		var users []string
		for _, u := range p.Users {
			users = append(users, fmt.Sprintf("%s (%d)", u.Reason, u.Count))
		}
		w.Line("\n# %s of %s, such as decision %d of %s", output.Count(int(p.Denials), "denial"), oneLine(strings.Join(users, ", ")), e.Seq, e.Time.Format(time.RFC3339))
		w.Line("#   %s", oneLine(e.What))
		if p.By.Effect == replay.Denies {
			w.Line("# denied by %s%s: %s", p.By.Rule, placeSuffix(p.By.Origin), oneLine(p.By.Reason))
		} else {
			w.Line("# a question about it was not answered with yes")
		}
		if p.Others == 0 {
			w.Line("# It would have allowed nothing else in the record.")
		} else {
			w.Line("# It would also have allowed %s in the record:", output.Count(int(p.Others), "other call"))
			for _, o := range p.OtherExamples {
				w.Line("#   %s, %s: %s", o.Time.Format(time.RFC3339), oneLine(o.User), oneLine(o.What))
			}
		}
		if p.Place == bundlePlace {
			w.Line("# For policy.toml in the folder of the bundle, which you then publish again:")
		}
		for _, r := range p.Rules {
			w.Raw("[[policy.rule]]\ntool = %s", tomlText(r.Tool))
			if r.Command != "" {
				w.Raw("command = %s", tomlText(r.Command))
			}
			if r.Path != "" {
				w.Raw("path = %s", tomlText(r.Path))
			}
			w.Raw("decision = \"allow\"")
		}
	}
	if s.More > 0 {
		w.Line("\n# %s more; see --max", output.Count(s.More, "proposal"))
	}
	for i, n := range s.NotProposed {
		if i == 0 {
			w.Line("\n# Denials without a proposal:")
		}
		w.Line("#   %d: %s", n.Count, oneLine(n.Reason))
	}
	if s.NotChecked > 0 {
		w.Line("# Whether these rules would have allowed more is not known of %s.", output.Count(int(s.NotChecked), "record"))
	}
	return w.Failure()
}

// tomlText returns a text as a string of TOML.
func tomlText(text string) string {
	if !strings.ContainsAny(text, "'\n") && strconv.Quote(text) != `"`+text+`"` {
		return "'" + text + "'"
	}
	return strconv.Quote(text)
}
