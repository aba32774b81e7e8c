package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"codex-bridge/bridge/config"
	"codex-bridge/relay/tools"
	"codex-bridge/relay/tools/command"
)

// seen are testdata/vectors/dynamic_tools.json. Where ours does something else,
// DEVIATIONS.md says why.
type seen struct {
	Specs []struct {
		Name    string
		Options struct{ Loading string }
		Specs   []struct {
			Name, Namespace string
			DeferLoading    bool
		}
	}
	CallTimeouts []struct {
		Tool      string
		Arguments json.RawMessage
		Config    map[string]any
		TimeoutMs int64
	}
	Watchdog []struct {
		Name      string
		TimeoutMs int64
		Success   bool
		ItemCount int
		ItemType  string

		OnTimeoutCalls int
	}
	Cases []callCase
}

type callCase struct {
	Name string
	Call struct {
		ThreadID, TurnID, CallID, Tool string
		Arguments                      json.RawMessage
	}
	ToolReturns json.RawMessage
	HookContext struct {
		AgentID string
		Config  struct {
			Agents struct {
				Defaults agentLimits
				List     []struct {
					ID string
					agentLimits
				}
			}
		}
	}
	Response struct {
		ContentItems []struct{ Type, Text, ImageURL string }
		Success      bool
	}
}

type agentLimits struct {
	ContextLimits struct{ ToolResultMaxChars int }
}

// limit returns the largest number of characters of a result; 0 is the default.
func (c callCase) limit() int {
	agents := c.HookContext.Config.Agents
	for _, agent := range agents.List {
		if strings.EqualFold(agent.ID, c.HookContext.AgentID) {
			return agent.ContextLimits.ToolResultMaxChars
		}
	}
	return agents.Defaults.ContextLimits.ToolResultMaxChars
}

const pixel = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func readVectors(t *testing.T) (v seen) {
	t.Helper()
	read(t, "dynamic_tools.json", &v)
	return v
}

// returns is what the tool of a vector does.
func returns(t *testing.T, what json.RawMessage) func(context.Context, tools.Call) (tools.Result, error) {
	t.Helper()
	var name string
	if json.Unmarshal(what, &name) != nil { // an object: what a command would print beside the text x
		var members map[string]json.RawMessage
		if err := json.Unmarshal(what, &members); err != nil {
			t.Fatal(err)
		}
		members["contentItems"] = json.RawMessage(`[{"type":"inputText","text":"x"}]`)
		printed, _ := json.Marshal(members)
		return func(context.Context, tools.Call) (tools.Result, error) { return command.Parse(printed) }
	}
	image := tools.Content{Image: pixel}
	r := tools.Result{}
	switch name {
	case "text ok":
		r = result("ok")
	case "bad base64":
		r.Content = []tools.Content{{Image: "data:image/png;base64,%%%"}}
	case "text,image,text":
		r.Content = []tools.Content{{Text: "a"}, image, {Text: "b"}}
	case "16001 chars":
		r = result(strings.Repeat("x", 16001))
	case "10000+image+10000+100":
		r.Content = []tools.Content{{Text: strings.Repeat("a", 10000)}, image, {Text: strings.Repeat("b", 10000)}, {Text: strings.Repeat("c", 100)}}
	case "900 chars":
		r = result(strings.Repeat("z", 900))
	case "throws Error kaput":
		return func(context.Context, tools.Call) (tools.Result, error) { return r, errors.New("kaput") }
	case "echo args":
		return func(_ context.Context, call tools.Call) (tools.Result, error) {
			return result(string(call.Arguments)), nil
		}
	case "": // null: not called
	default:
		t.Fatalf("a tool that returns %q", name)
	}
	return func(context.Context, tools.Call) (tools.Result, error) { return r, nil }
}

func TestDynamicToolsVectorsCases(t *testing.T) {
	all := readVectors(t).Cases
	if len(all) == 0 {
		t.Fatal("no cases")
	}
	for _, v := range all {
		t.Run(v.Name, func(t *testing.T) {
			o := tools.Options{}
			most := 16000
			if limit := v.limit(); limit > 0 { // no agent has its own limit here: it is that of the configuration
				most = limit
				o.Limits.MaxText = most
			}
			r := one(t, o, returns(t, v.ToolReturns))
			got := r.Answer(t.Context(), tools.Call{
				Thread: v.Call.ThreadID, Turn: v.Call.TurnID, ID: v.Call.CallID, Name: v.Call.Tool, Arguments: v.Call.Arguments,
			})
			if got.Success != v.Response.Success {
				t.Errorf("success %v", got.Success)
			}
			var name string // else an object with the details of a failure, which the bridge adds
			if isName := json.Unmarshal(v.ToolReturns, &name) == nil; isName && len(got.Items) != len(v.Response.ContentItems) || len(got.Items) < len(v.Response.ContentItems) {
				t.Fatalf("%+v", got)
			}
			isCut := false
			for i, want := range v.Response.ContentItems {
				item := got.Items[i]
				cut := strings.Contains(want.Text, "<truncation notice")
				isCut = isCut || cut
				switch {
				case want.Type == "inputImage":
					if item.Image != want.ImageURL || item.Text != "" {
						t.Errorf("%d: %+v", i, item)
					}
				case item.Image != "":
					t.Errorf("%d is an image", i)
				case cut: // the notice's wording is free, its place is not
					body, notice, _ := strings.Cut(item.Text, "\n")
					letter := body[:1]
					if !strings.Contains(want.Text, letter+letter+"\n<truncation notice") || strings.Trim(body, letter) != "" || !strings.HasSuffix(notice, "]") {
						t.Errorf("%d: %q", i, item.Text)
					}
				case strings.HasPrefix(want.Text, "[codex dynamic tool] "), strings.HasPrefix(want.Text, "Unknown "): // the words are ours
					if strings.TrimSpace(item.Text) == "" {
						t.Errorf("%d: %q", i, item.Text)
					}
				case strings.HasPrefix(want.Text, "<10000 chars>"):
					if item.Text != strings.Repeat("a", 10000) {
						t.Errorf("%d: %d characters", i, len(item.Text))
					}
				case item.Text != want.Text:
					t.Errorf("%d: %q, want %q", i, item.Text, want.Text)
				}
			}
			if isCut {
				if n := len(strings.Join(texts(got), "")); n != most {
					t.Errorf("%d characters", n)
				}
			}
		})
	}
}

func TestDynamicToolsVectorsCallTimeouts(t *testing.T) {
	all := readVectors(t).CallTimeouts
	if len(all) == 0 {
		t.Fatal("no cases")
	}
	// The times that the other program's own tools have are those of a section here.
	own := map[string]time.Duration{"message": 2 * time.Minute, "image": 10 * time.Second, "image_generate": 2 * time.Minute}
	for i, v := range all {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &provider{specs: []tools.Spec{spec(v.Tool)}, timeout: own[v.Tool]}
				var limit time.Duration
				p.run = func(ctx context.Context, _ tools.Call) (tools.Result, error) {
					deadline, _ := ctx.Deadline()
					limit = time.Until(deadline)
					return result("x"), nil
				}
				r := tools.NewRunner(tools.NewCatalogue(p), tools.Options{})
				defer r.Close()
				r.Answer(t.Context(), tools.Call{Name: v.Tool, Arguments: v.Arguments})
				if limit.Milliseconds() != v.TimeoutMs {
					t.Errorf("%v, want %d ms", limit, v.TimeoutMs)
				}
			})
		})
	}
}

func TestDynamicToolsVectorsWatchdog(t *testing.T) {
	all := readVectors(t).Watchdog
	if len(all) == 0 {
		t.Fatal("no cases")
	}
	for _, v := range all {
		t.Run(v.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ended := 0
				r := one(t, tools.Options{Limits: config.ToolLimits{Timeout: config.Duration(v.TimeoutMs) * config.Duration(time.Millisecond)}},
					func(ctx context.Context, _ tools.Call) (tools.Result, error) {
						<-ctx.Done()
						ended++
						return tools.Result{}, ctx.Err()
					})
				ctx, cancel := context.WithCancel(t.Context())
				if v.OnTimeoutCalls == 0 { // the call ends before its time is up
					time.AfterFunc(time.Millisecond, cancel)
				}
				defer cancel()
				got := r.Answer(ctx, call("{}"))
				if ended != 1 || got.Success != v.Success || len(got.Items) != v.ItemCount || got.Items[0].Image != "" || got.Items[0].Text == "" {
					t.Errorf("ended %d times, %+v", ended, got)
				}
			})
		})
	}
}

func TestDynamicToolsVectorsSpecs(t *testing.T) {
	all := readVectors(t).Specs
	if len(all) == 0 {
		t.Fatal("no cases")
	}
	for _, v := range all {
		t.Run(v.Name, func(t *testing.T) {
			// What is direct by its name there is so by its own section here.
			sections := map[string]config.Tool{}
			for _, s := range v.Specs {
				loading := config.Direct
				if s.DeferLoading {
					loading = config.Searchable
				}
				sections[s.Name] = config.Tool{
					Description: "d", InputSchema: map[string]any{"type": "object", "properties": map[string]any{}}, Command: []string{"x"}, Loading: loading,
				}
			}
			type offered struct {
				Name, Description, Namespace string
				InputSchema                  map[string]any
				DeferLoading                 bool
			}
			var got, want []offered
			// The older form of the wire is the one that the vector has.
			merged, err := tools.NewCatalogue(command.New(command.Options{Tools: sections})).Look().Merge(json.RawMessage(`[{"name":"client","description":"","inputSchema":{}}]`))
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(merged, &got); err != nil {
				t.Fatal(err)
			}
			for _, s := range v.Specs {
				o := offered{Name: s.Name, Description: "d", InputSchema: sections[s.Name].InputSchema, DeferLoading: s.DeferLoading}
				if s.Namespace != "" {
					o.Namespace = tools.Namespace
				}
				want = append(want, o)
			}
			byName := cmp.Transformer("byName", func(list []offered) map[string]offered {
				m := map[string]offered{}
				for _, o := range list {
					m[o.Name] = o
				}
				return m
			})
			if diff := cmp.Diff(want, got[1:], byName); diff != "" {
				t.Error(diff)
			}
		})
	}
}
