package core

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"unicode/utf8"

	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/relay/approvals"
	"codex-bridge.example/relay/redact"
)

// Log writes decisions to a decision log, without secrets. While the log is away, refusals are kept; see
// decision.Backlog. Its methods may be called concurrently.
type Log struct {
	redactor redact.Redactor
	backlog  *decision.Backlog
	log      *slog.Logger
}

const (
	maxReason = 2 << 20 // characters of a reason that are kept
	maxPart   = 4000    // bytes of a reason in one decision; the log truncates longer ones
)

// NewLog returns a Log. write returns when a decision is stored; secrets are texts to redact.
func NewLog(secrets []string, write func(context.Context, decision.Record) error, log *slog.Logger) *Log {
	return &Log{redactor: redact.New(redact.Limits{Text: maxReason}, secrets...), backlog: decision.NewBacklog(write, log), log: log}
}

// Redacted returns a decision without secrets. Its texts come from the client, from Codex and from the command line, so
// each of them may have one, also the name of an unknown method or field.
func (l *Log) Redacted(d decision.Record) decision.Record {
	for _, text := range []*string{&d.Client, &d.Thread, &d.Turn, &d.Method, &d.Rule, &d.Reason, &d.Origin} {
		*text = l.redactor.Text(*text)
	}
	d.Fields = slices.Clone(d.Fields)
	for i, field := range d.Fields {
		d.Fields[i] = l.redactor.Text(field)
	}
	d.Facts = l.redactor.Facts(d.Facts)
	return d
}

// Append implements guard.Recorder. It redacts secrets. It records the reason of a user's approval in full, in several
// entries if needed.
func (l *Log) Append(ctx context.Context, d decision.Record) error {
	d = l.Redacted(d)
	appendOne := l.backlog.Append
	if d.CanWait {
		appendOne = l.backlog.Keep
	}
	if d.Rule != approvals.RulePerson {
		return appendOne(ctx, d)
	}
	parts := split(d.Reason, maxPart)
	for i, part := range parts {
		if d.Reason = part; len(parts) > 1 {
			d.Reason = fmt.Sprintf("(%d/%d) %s", i+1, len(parts), part)
		}
		if err := appendOne(ctx, d); err != nil {
			return err
		}
		d.Facts = "" // the first entry has them
	}
	return nil
}

// split cuts a text between characters into parts of at most size bytes. It returns at least
// one part.
func split(text string, size int) (parts []string) {
	for len(text) > size {
		end := size
		for end > size-utf8.UTFMax && !utf8.RuneStart(text[end]) {
			end--
		}
		parts, text = append(parts, text[:end]), text[end:]
	}
	return append(parts, text)
}

// Close writes the kept decisions until ctx ends.
func (l *Log) Close(ctx context.Context) {
	if lost := l.backlog.Close(ctx); lost > 0 {
		l.log.Error("the decision log lacks refusals of this process: it could not be written until the end", "decisions", lost)
	}
}
