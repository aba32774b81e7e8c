package redact

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"codex-bridge.example/bridge/problem"
)

// Handler returns a slog.Handler that redacts messages and attributes, and words errors for people. If a record has an
// attribute "field", the attributes "from" and "to" are values of that field.
func (r Redactor) Handler(h slog.Handler) slog.Handler { return handler{h, r} }

// Writer returns a writer of whole lines of another program's log, which redacts what one call writes. It removes the
// colours of a terminal: they would part names from their values.
func (r Redactor) Writer(w io.Writer) io.Writer { return writer{w, r} }

type writer struct {
	io.Writer
	r Redactor
}

// Write implements io.Writer.
func (w writer) Write(lines []byte) (int, error) {
	text, end := strings.CutSuffix(colours().ReplaceAllString(string(lines), ""), "\n")
	text = w.r.Text(text)
	if end {
		text += "\n"
	}
	if _, err := io.WriteString(w.Writer, text); err != nil {
		return 0, err
	}
	return len(lines), nil
}

var colours = newExpr(`\x1b\[[0-9;]*m`)

type handler struct {
	slog.Handler
	r Redactor
}

// Handle implements slog.Handler.
func (h handler) Handle(ctx context.Context, record slog.Record) error {
	field := ""
	record.Attrs(func(a slog.Attr) bool {
		if a.Key == "field" {
			field = a.Value.String()
		}
		return true
	})
	clean := slog.NewRecord(record.Time, record.Level, h.r.Text(record.Message), record.PC)
	record.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(h.attr(a, field))
		return true
	})
	return h.Handler.Handle(ctx, clean)
}

// WithAttrs implements slog.Handler.
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = h.attr(a, "")
	}
	return handler{h.Handler.WithAttrs(clean), h.r}
}

// WithGroup implements slog.Handler.
func (h handler) WithGroup(name string) slog.Handler { return handler{h.Handler.WithGroup(name), h.r} }

func (h handler) attr(a slog.Attr, field string) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindGroup:
		group := make([]slog.Attr, 0, len(v.Group()))
		for _, member := range v.Group() {
			group = append(group, h.attr(member, field))
		}
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(group...)}
	case slog.KindString, slog.KindAny:
		text := v.String()
		if v.Kind() == slog.KindAny {
			text = fmt.Sprint(v.Any())
			if err, ok := v.Any().(error); ok {
				text = problem.Text(err)
			}
		}
		if (a.Key == "from" || a.Key == "to") && text != "" && isSecretName(field) {
			return slog.String(a.Key, placeholder)
		}
		return slog.String(a.Key, h.r.textOrJSON(text))
	}
	return a
}

// textOrJSON redacts a text as JSON if it is JSON.
func (r Redactor) textOrJSON(text string) string {
	if start := strings.TrimSpace(text); strings.HasPrefix(start, "{") || strings.HasPrefix(start, "[") || strings.HasPrefix(start, `"`) {
		if clean, err := r.JSON([]byte(text)); err == nil {
			return string(clean)
		}
	}
	return r.Text(text)
}
