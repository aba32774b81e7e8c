package hub

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

// Overrides of the command line as JSON. Codex reads TOML, or else a text.
func TestOverrideAsJSON(t *testing.T) {
	for text, want := range map[string]string{
		"true": "true", "1": "1", `"a"`: `"a"`, "a b": `"a b"`, "[1, 'x']": `[1,"x"]`, `{a = {b = 1.5}}`: `{"a":{"b":1.5}}`, "": `""`, `"a`: `"\"a"`,
		"1\nW = 2": `"1\nW = 2"`,
	} {
		if got, err := jsonOf(text); err != nil || string(got) != want {
			t.Errorf("%q: %s, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"2026-01-02T03:04:05Z", "inf"} {
		if got, err := jsonOf(text); err == nil {
			t.Errorf("%q: %s", text, got)
		}
	}
	settings, err := sharedSettings([]string{"-c", "a.b=1", "app-server", "--disable", "x", "--analytics-default-enabled"})
	if err != nil || string(settings.Config["a.b"]) != "1" || string(settings.Config["features.x"]) != "false" || len(settings.Config) != 2 || settings.Folder == "" {
		t.Errorf("%+v, %v", settings, err)
	}
	for want, args := range map[string][]string{
		`{"features.x":false}`:                 {"--disable", "x", "--enable", "x", "-c", "features.x=true"},
		`{"features":{"x":true,"y":1}}`:        {"--enable", "x", "-c", "features.z=2", "-c", "features={y=1}"},
		`{"features":{"x.y":1,"z":{"a":"b"}}}`: {"-c", `features={"x.y"=1}`, "-c", "features.z.a=b"},
	} {
		settings, err := sharedSettings(append(args, "app-server"))
		if got, _ := json.Marshal(settings.Config); err != nil || string(got) != want {
			t.Errorf("%q: %s, %v; want %s", args, got, err, want)
		}
	}
	for _, args := range [][]string{{"app-server", "-c", "no value"}, {"app-server", "--strict-config"}, {"app-server", "word"}, {"app-server", "-c"}, {"app-server", "--new"}} {
		if settings, err := sharedSettings(args); err == nil {
			t.Errorf("%q: %+v", args, settings)
		}
	}
}

// A client ends if the server stops answering while it takes no message, and after the client's last one.
func TestJoinedClientOfStoppedServer(t *testing.T) {
	for name, size := range map[string]int{"at the end of the input": 1, "within a message": 64 << 20} {
		t.Run(name, func(t *testing.T) {
			stopped := make(chan struct{})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if _, err := websocket.Accept(w, r, nil); err != nil {
					t.Error(err)
				}
				<-stopped
			}))
			defer server.Close()
			defer close(stopped)
			ws, _, err := websocket.Dial(t.Context(), server.URL, nil) //nolint:bodyclose // see its documentation
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			silent := &UnresponsiveError{"socket"}
			var out bytes.Buffer
			in := strings.NewReader(`{"id":1,"method":"a","params":"` + strings.Repeat("x", size) + "\"}\n")
			err = join(ctx, joinOptions{conn: ws, in: in, out: &out, maxMessage: 1 << 30, watch: func(context.Context) { cancel(silent) }})
			if !errors.Is(err, silent) || !strings.Contains(out.String(), `"id":1`) {
				t.Errorf("%v; the client has read %q", err, &out)
			}
		})
	}
}

// A client reads an error for each request that the lost server has not answered, and for no other one.
func TestLostServerAnswersRequests(t *testing.T) {
	for name, framed := range map[string]func(string) string{
		"lines":   func(text string) string { return text + "\n" },
		"headers": func(text string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(text), text) },
	} {
		t.Run(name, func(t *testing.T) {
			received := make(chan int)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				ws, err := websocket.Accept(w, r, nil)
				if err != nil {
					t.Error(err)
					return
				}
				for n := range 6 {
					if _, _, err := ws.Read(r.Context()); err != nil {
						t.Error(err)
					}
					received <- n
				}
				_ = ws.Write(r.Context(), websocket.MessageText, []byte(`{"id":1,"result":{"long":"`+strings.Repeat("x", 2*joinedStart)+`"}}`))
				_ = ws.Write(r.Context(), websocket.MessageText, []byte(`{"error":{"code":1,"message":"`+strings.Repeat("x", 2*joinedStart)+`"},"id":"1"}`))
				_ = ws.Write(r.Context(), websocket.MessageText, []byte(`{"id":2,"method":"question"}`))
				part, err := ws.Writer(r.Context(), websocket.MessageText)
				if err != nil {
					t.Error(err)
				}
				_, _ = part.Write([]byte(`{"id":2,"result":{"text":"` + strings.Repeat("x", 2*joinedStart)))
				_ = ws.CloseNow()
			}))
			defer server.Close()
			ws, _, err := websocket.Dial(t.Context(), server.URL, nil) //nolint:bodyclose // see its documentation
			if err != nil {
				t.Fatal(err)
			}
			in, input := io.Pipe()
			defer input.Close()
			var out bytes.Buffer
			joined := make(chan error)
			go func() {
				joined <- join(t.Context(), joinOptions{conn: ws, in: in, out: &out, maxMessage: 1 << 20, watch: func(context.Context) {}})
			}()
			for _, text := range []string{`{"id":1,"method":"a"}`, `{"id":"1","method":"a"}`, `{"id":2,"method":"a"}`, `{"id":2,"method":"b"}`, `{"method":"c"}`, `{"id":3,"result":{}}`} {
				if _, err := io.WriteString(input, framed(text)); err != nil {
					t.Fatal(err)
				}
				<-received
			}
			if err := <-joined; err == nil {
				t.Error("no error")
			}
			if n := strings.Count(out.String(), `"},"id":2}`); n != 2 {
				t.Errorf("%d errors for the two requests: %s", n, out.String())
			}
			if n := strings.Count(out.String(), `"code":`); n != 3 {
				t.Errorf("%d errors: %s", n, out.String())
			}
		})
	}
}
