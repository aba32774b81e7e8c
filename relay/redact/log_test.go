package redact_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"

	"codex-bridge.example/relay/redact"

	"github.com/google/go-cmp/cmp"
)

// Logs have no secrets: by member names, by the "field" attribute, by format, or known.
func TestLogHandlerRedacts(t *testing.T) {
	var out bytes.Buffer
	text := slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
			return slog.Attr{}
		}
		return a
	}})
	log := slog.New(redact.New(redact.Limits{}, "rosebud").Handler(text))
	log.Info("API_TOKEN=x1 passes", "line", `{"password":"x2","n":1,"t":"rosebud"}`, "n", 7)
	log.With("about", "rosebud").WithGroup("g").Info("m", "error", errors.New("password=x3"), slog.Group("h", "t", "a rosebud"))
	log.Info("policy", "field", "params.config.http_headers.Authorization", "from", `"x4"`, "to", "")
	log.Info("policy", "field", "params.model", "from", `"x"`, "to", `{"y":[1]}`, "reason", "x")
	log.Info("policy", "reason", `"never" is not allowed, token=x5`, "what", `{"a":1} and more`)
	want := []string{
		`msg="API_TOKEN=<redacted> passes" line="{\"password\":\"<redacted>\",\"n\":1,\"t\":\"<redacted>\"}" n=7`,
		`msg=m about=<redacted> g.error="password=<redacted>" g.h.t="a <redacted>"`,
		`msg=policy field=params.config.http_headers.Authorization from=<redacted> to=""`,
		`msg=policy field=params.model from="\"x\"" to="{\"y\":[1]}" reason=x`,
		`msg=policy reason="\"never\" is not allowed, token=<redacted>" what="{\"a\":1} and more"`,
	}
	if diff := cmp.Diff(want, strings.Split(strings.TrimSpace(out.String()), "\n")); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// Lines of another program's log are redacted together, and without colours.
func TestWriterRedactsLines(t *testing.T) {
	var out strings.Builder
	w := redact.New(redact.Limits{}, "my secret").Writer(&out)
	for _, lines := range []string{
		"\x1b[2mERROR\x1b[0m \x1b[3mapi_key\x1b[0m\x1b[2m=\x1b[0mabcdefgh my secret\n",
		"-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\nnext\n", "no end",
	} {
		if n, err := io.WriteString(w, lines); n != len(lines) || err != nil {
			t.Error(n, err)
		}
	}
	const want = "ERROR api_key=<redacted> <redacted>\n<redacted>\nnext\nno end"
	if out.String() != want {
		t.Errorf("%q", out.String())
	}
}
