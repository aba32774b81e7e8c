package guard_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// echo handles bridge/echo, like a feature behind that of Own.
type echo struct{}

func (echo) Routes() []bridge.Route {
	return []bridge.Route{{From: bridge.Client, Method: "bridge/echo", Why: "t", HandleClient: func(_ context.Context, call *bridge.ClientMessage) *rpc.Error {
		call.Reply([]byte(`{}`))
		return nil
	}}}
}

func (echo) Stage() bridge.Stage { return bridge.BeforeGuard }

// A method of the bridge is refused if an enforced policy denies it.
func TestOwnMethodIsDenied(t *testing.T) {
	const (
		passes  = `editor< {"id":1,"result":{}}`
		refused = `editor< {"id":1,"error":{"code":-32010,"message":"<text>","data":"$data"}}`
	)
	for name, test := range map[string]struct{ mode, methods, want string }{
		"denied":             {"enforce", `"bridge/echo" = "deny"`, refused},
		"another one denied": {"enforce", `"bridge/other" = "deny"`, passes},
		"none denied":        {"enforce", ``, passes},
		"denied, audit":      {"audit", `"bridge/echo" = "deny"`, passes},
		"denied, off":        {"off", `"bridge/echo" = "deny"`, passes},
	} {
		t.Run(name, func(t *testing.T) {
			g := guard.New(load(t, readOnlyPolicy+"mode = \""+test.mode+"\"\n[policy.methods]\n"+test.methods+"\n"), world(t), guard.NoRecord, slog.New(slog.DiscardHandler))
			c := bridgetest.Start(t, g.BridgeMethods(nil), echo{}, g)
			c.Play(name, `editor> {"id":1,"method":"bridge/echo","params":{"threadId":"t"}}`+"\n"+test.want+"\n")
		})
	}
}

// A method of the bridge is refused for a session whose thread has a policy that denies it. If the
// thread is unknown, the policies of all threads count.
func TestOwnMethodIsDeniedBySession(t *testing.T) {
	const denies = "[policy.methods]\n\"bridge/echo\" = \"deny\"\n"
	g := guard.New(load(t, loosePolicy+denies), world(t), guard.NoRecord, slog.New(slog.DiscardHandler))
	c := bridgetest.Start(t, g.BridgeMethods(func(_ context.Context, session string) (string, error) {
		if session == "broken" {
			return "", errors.New("the store can't be read")
		}
		return map[string]string{"kept": "t1", "new": "t2"}[session], nil
	}), echo{}, g)
	c.Bind("start", world(t).StartFolder)
	opens(c, "thread/start", "t1", "on-request")
	g.SetPolicy(load(t, loosePolicy))
	opens(c, "thread/start", "t2", "on-request")
	for params, refused := range map[string]bool{
		`"sessionKey":"kept"`: true, `"sessionKey":"new"`: false, `"sessionKey":"none"`: false, `"sessionKey":"broken"`: true,
		`"threadId":"t1","sessionKey":"new"`: true, `"threadId":"t2","sessionKey":"broken"`: false, // the thread counts
	} {
		want := `"result":{}`
		if refused {
			want = `"error":{"code":-32010,"message":"<text>","data":"$data"}`
		}
		c.Play(params, `editor> {"id":9,"method":"bridge/echo","params":{`+params+"}}\neditor< {\"id\":9,"+want+"}\n")
	}
}

// A method that begins work in a folder is refused if the folder's policy file requires that the policy is
// enforced, and the file denies the method or can't be enforced. Another file that can't be
// loaded refuses it only where a policy is enforced anyway.
func TestOwnMethodInFolder(t *testing.T) {
	const denies = readOnlyPolicy + "[policy.methods]\n\"bridge/echo\" = \"deny\"\n"
	unsafe := errors.New("commands could write it")
	for name, test := range map[string]struct {
		active, folder string
		failure        error
		refused        bool
	}{
		"passes":                       {readOnlyPolicy, readOnlyPolicy, nil, false},
		"denied":                       {readOnlyPolicy, denies, nil, true},
		"denied, nothing enforced":     {"", denies, nil, true},
		"unsafe":                       {readOnlyPolicy, readOnlyPolicy, unsafe, true},
		"unsafe, nothing enforced":     {"", readOnlyPolicy, unsafe, true},
		"unsafe, audit":                {inMode("audit", readOnlyPolicy), readOnlyPolicy, unsafe, true},
		"not loaded":                   {readOnlyPolicy, "", unsafe, true},
		"not loaded, nothing enforced": {"", "", unsafe, false},
	} {
		g := guard.New(load(t, test.active), world(t), guard.NoRecord, slog.New(slog.DiscardHandler))
		g.SetFolderPolicies(func(string) (*policy.Policy, error) {
			if test.folder == "" {
				return nil, test.failure
			}
			return load(t, test.folder), test.failure
		})
		c := bridgetest.Start(t, g.BridgeMethods(nil), echo{}, g)
		want := `"result":{}`
		if test.refused {
			want = `"error":{"code":-32010,"message":"<text>","data":"$data"}`
		}
		c.Play(name, `editor> {"id":9,"method":"bridge/echo","params":{"cwd":"`+world(t).StartFolder+"\"}}\neditor< {\"id\":9,"+want+"}\n")
	}
}
