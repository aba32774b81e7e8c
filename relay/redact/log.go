package redact

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
)

// Handler is a slog.Handler that takes secrets out of what it hands on. An attribute "field"
// names the field that others are the values of.
func (r Redactor) Handler(h slog.Handler) slog.Handler { return handler{h, r} }

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
		}
		if (a.Key == "from" || a.Key == "to") && text != "" && secret(field) {
			return slog.String(a.Key, gone)
		}
		return slog.String(a.Key, h.r.either(text))
	}
	return a
}

// either is a text, or JSON in one.
func (r Redactor) either(text string) string {
	if start := strings.TrimSpace(text); strings.HasPrefix(start, "{") || strings.HasPrefix(start, "[") || strings.HasPrefix(start, `"`) {
		if clean, err := r.JSON([]byte(text)); err == nil {
			return string(clean)
		}
	}
	return r.Text(text)
}
