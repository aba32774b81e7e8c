package main

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

// refusedArgs is the error for a command line that the policy refuses.
type refusedArgs struct{ problem string }

func (e *refusedArgs) Error() string { return e.problem }

// applyArgsPolicy returns the arguments that Codex gets under this configuration, after it
// recorded the decision, and a sentence for the user about each removed one. The first fromConfig
// arguments come from the configuration.
func applyArgsPolicy(cfg *config.Config, args []string, fromConfig int, record guard.Recorder, log *slog.Logger) (allowed, notices []string, err error) {
	if cfg.Policy.Mode == config.Off {
		return args, nil, nil
	}
	p, err := policy.New(cfg.Policy, cfg.Place)
	if err != nil {
		return nil, nil, &refusedArgs{err.Error()}
	}
	d := p.DecideArgs(args, fromConfig)
	text := "removed from the command line"
	if p.Mode() == config.Audit {
		text = "policy (audit: not applied): would be removed from the command line"
	}
	for _, c := range d.Changes {
		log.Warn(text, "flag", c.Flag, "reason", c.Reason, "rule", c.Rule, "from", origin(cfg, c.Rule), "hint", c.Hint)
	}
	err = recordArgs(cfg, args, d, record)
	switch {
	case p.Mode() == config.Audit:
		if d.Err != nil {
			log.Warn("policy (audit: not applied): the command line would be refused", "reason", describeRefusal(cfg, d.Err))
		}
		if err != nil {
			log.Error("a decision can't be written to the decision log", "error", err)
		}
		return args, nil, nil
	case d.Err != nil:
		return nil, nil, &refusedArgs{describeRefusal(cfg, d.Err)}
	case err != nil:
		return nil, nil, &refusedArgs{fmt.Sprintf("the decision about the command line can't be written to the decision log: %v; see \"codex-bridge doctor\"", err)}
	}
	for _, c := range d.Changes {
		notices = append(notices, c.Notice(origin(cfg, c.Rule)))
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
		entry.Rule, entry.Reason, entry.Origin = c.Rule, c.Reason, origin(cfg, c.Rule)
	}
	if d.Err != nil {
		entry.Fields = append(entry.Fields, d.Err.Argument)
		entry.Rule, entry.Reason, entry.Origin = d.Err.Rule, d.Err.Reason, origin(cfg, d.Err.Rule)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return record.Append(ctx, entry)
}

// describeRefusal returns the text of a refusal, with the file and line of its rule.
func describeRefusal(cfg *config.Config, e *policy.ArgsError) string {
	return fmt.Sprintf("%s: %s (%s, %s); %s", e.Argument, e.Reason, e.Rule, origin(cfg, e.Rule), e.Hint)
}

// origin returns the file and line that set a rule, or "default" for a built-in value.
func origin(cfg *config.Config, rule string) string {
	if place := cfg.Place(rule); place != "" {
		return place
	}
	return config.BuiltIn.String()
}
