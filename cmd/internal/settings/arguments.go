package settings

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"codex-bridge.example/bridge/argv"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/policy"
)

// RefusedArgs is the error for a command line that the policy refuses.
type RefusedArgs struct{ Problem string }

func (e *RefusedArgs) Error() string { return e.Problem }

// ApplyArgs returns the arguments that Codex gets under this configuration, after it
// recorded the decision, and a sentence for the user about each removed one. The first fromConfig
// arguments come from the configuration.
func ApplyArgs(cfg *config.Config, args []string, fromConfig int, record guard.Recorder, log *slog.Logger) (allowed, notices []string, err error) {
	if cfg.Policy.Mode == config.Off {
		return args, nil, nil
	}
	p, err := policy.New(cfg.Policy, cfg.Place)
	if err != nil {
		return nil, nil, &RefusedArgs{Problem: err.Error()}
	}
	d := p.DecideArgs(args, fromConfig)
	text := "removed from the command line"
	if p.Mode() == config.Audit {
		text = "policy (audit: not applied): would be removed from the command line"
	}
	for _, c := range d.Changes {
		log.Warn(text, "flag", c.Flag, "reason", c.Reason, "rule", c.Rule, "from", Origin(cfg, c.Rule), "hint", c.Hint)
	}
	err = recordArgs(cfg, args, d, record)
	switch {
	case p.Mode() == config.Audit:
		if d.Err != nil {
			log.Warn("policy (audit: not applied): the command line would be refused", "reason", DescribeRefusal(cfg, d.Err))
		}
		if err != nil {
			log.Error("a decision can't be written to the decision log", "error", err)
		}
		return args, nil, nil
	case d.Err != nil:
		return nil, nil, &RefusedArgs{Problem: DescribeRefusal(cfg, d.Err)}
	case err != nil:
		return nil, nil, &RefusedArgs{Problem: fmt.Sprintf("the decision about the command line can't be written to the decision log: %v; see \"codex-bridge doctor\"", err)}
	}
	for _, c := range d.Changes {
		notices = append(notices, c.Notice(Origin(cfg, c.Rule)))
	}
	if argv.Parse(d.Args).Proxy {
		return append(slices.Clip(d.Args), p.PinArgs()...), notices, nil
	}
	return d.Args, notices, nil
}

// recordArgs writes the decision about a command line to the decision log.
func recordArgs(cfg *config.Config, args []string, d policy.ArgsDecision, record guard.Recorder) error {
	if d.Verdict == policy.Pass {
		return nil
	}
	entry := decision.Record{
		Time: time.Now(), Method: "command line", Mode: string(cfg.Policy.Mode), Verdict: string(d.Verdict), Message: decision.Sum([]byte(strings.Join(args, "\x00"))),
	}
	for _, c := range d.Changes {
		entry.Fields = append(entry.Fields, c.Flag)
		entry.Rule, entry.Reason, entry.Origin = c.Rule, c.Reason, Origin(cfg, c.Rule)
	}
	if d.Err != nil {
		entry.Fields = append(entry.Fields, d.Err.Argument)
		entry.Rule, entry.Reason, entry.Origin = d.Err.Rule, d.Err.Reason, Origin(cfg, d.Err.Rule)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return record.Append(ctx, entry)
}

// DescribeRefusal returns the text of a refusal, with the file and line of its rule.
func DescribeRefusal(cfg *config.Config, e *policy.ArgsError) string {
	return fmt.Sprintf("%s: %s (%s, %s); %s", e.Argument, e.Reason, e.Rule, Origin(cfg, e.Rule), e.Hint)
}

// Origin returns the file and line that set a rule, or "default" for a built-in value.
func Origin(cfg *config.Config, rule string) string {
	if place := cfg.Place(rule); place != "" {
		return place
	}
	return config.BuiltIn.String()
}
