package hook_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"codex-bridge/bridge/bridgetest/vectors"
	"codex-bridge/relay/hook"
)

// seen are those of testdata/vectors/hook_relay.json that speak of the process.
// Where ours does something else, DEVIATIONS.md says why.
type seen struct {
	Unavailable []struct {
		Event    hook.Event `json:"event"`
		Response printed    `json:"response"`
	} `json:"unavailable"`
	CLI []cliCase `json:"cli"`
}

type cliCase struct {
	printed
	Name  string `json:"name"`
	Stdin string `json:"stdin"`
	Opts  struct {
		RelayID *string `json:"relayId"`
		Event   string  `json:"event"`
		Timeout string  `json:"timeout"`
	} `json:"opts"`
}

type printed struct {
	Stdout   string          `json:"stdout"`
	Stderr   string          `json:"stderr"`
	ExitCode json.RawMessage `json:"exitCode"` // a number, or what is thrown
}

func readVectors(t *testing.T) (v seen) {
	t.Helper()
	vectors.Read(t, "hook_relay.json", &v)
	return v
}

// same compares, where "<text>" stands for any text that is not blank.
func (p printed) same(t *testing.T, o outcome) {
	t.Helper()
	for name, pair := range map[string][2]string{"stdout": {p.Stdout, o.stdout}, "stderr": {p.Stderr, o.stderr}} {
		head, tail, masked := strings.Cut(pair[0], "<text>")
		inside, ok := strings.CutPrefix(pair[1], head)
		if ok {
			inside, ok = strings.CutSuffix(inside, tail)
		}
		if !ok || masked != (strings.TrimSpace(inside) != "") {
			t.Errorf("%s is %q, want %q", name, pair[1], pair[0])
		}
	}
	if o.status != 0 {
		t.Errorf("status %d", o.status)
	}
}

func TestHookRelayVectorsUnavailable(t *testing.T) {
	all := readVectors(t).Unavailable
	if len(all) == 0 {
		t.Fatal("no cases")
	}
	for _, v := range all {
		t.Run(string(v.Event), func(t *testing.T) {
			o := ask(t, filepath.Join(folder(t), "gone", "hook.sock"), v.Event, plenty)
			if o.stderr == "" {
				t.Error("stderr does not say why")
			}
			o.stderr = "" // the vector is the answer of the library, which has none
			v.Response.same(t, o)
		})
	}
}

// denial returns a part of the reason of a denial where the other process exits with 1, or throws, and Codex
// runs the tool; "" if there is none: see testdata/vectors/DEVIATIONS.md.
func (v cliCase) denial() string {
	_, err := time.ParseDuration(v.Opts.Timeout)
	switch _, number := strconv.Atoi(v.Opts.Timeout); {
	case !json.Valid([]byte(v.Stdin)):
		return "can't be read"
	case v.Opts.RelayID != nil && *v.Opts.RelayID == "":
		return "--socket"
	case v.Opts.Timeout != "" && err != nil && number != nil:
		return "--timeout"
	}
	return ""
}

// hasUnit reports whether the time-out is one for the bridge, and none for the other process.
func (v cliCase) hasUnit() bool { return strings.HasSuffix(v.Opts.Timeout, "ms") }

func TestHookRelayVectorsCLI(t *testing.T) {
	s := listen(t, hook.Options{Decide: denyVia})
	all := readVectors(t).CLI
	if len(all) == 0 {
		t.Fatal("no cases")
	}
	for _, v := range all {
		t.Run(v.Name, func(t *testing.T) {
			socket, event, timeout := s.Socket(), hook.PreToolUse, v.Opts.Timeout
			if id := v.Opts.RelayID; id != nil && *id == "" {
				socket = ""
			} else if id != nil {
				socket = filepath.Join(folder(t), *id, "hook.sock")
			}
			switch v.Opts.Event {
			case "":
			case "before_agent_finalize":
				event = hook.Stop
			default:
				event = hook.Event(v.Opts.Event)
			}
			if timeout == "" {
				timeout = plenty.String()
			} else if strings.Trim(timeout, "0123456789") == "" {
				timeout += "ms" // the other process takes milliseconds
			}
			stdin := v.Stdin
			if stdin == "{}" { // codex always says what it calls
				stdin = payload(event, "c")
			}
			o := start(t, strings.NewReader(stdin), "--socket", socket, "--event", string(event), "--timeout", timeout)()
			if word := v.denial(); word != "" {
				if string(v.ExitCode) == "0" {
					t.Error("the vector is no failure any more")
				}
				failed(t, event, o, word)
				return
			}
			if v.hasUnit() {
				v.Stdout = `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"via bridge"}}` + "\n"
				v.Stderr, v.ExitCode = "", json.RawMessage("0")
			}
			if string(v.ExitCode) != "0" {
				t.Errorf("the vector exits with %s", v.ExitCode)
			}
			v.same(t, o)
		})
	}
}

func denyVia(context.Context, *hook.Call) hook.Answer {
	return hook.Answer{Decision: hook.Deny, Reason: "via bridge"}
}
