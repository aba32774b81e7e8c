package guard_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/policy"
)

// Under audit a method of a request that is sent as a notification reaches Codex unchanged.
func TestAuditPassesNotification(t *testing.T) {
	c, _, _ := converse(t, inMode("audit", readOnlyPolicy), guard.NoRecord)
	c.Play("notification", `
editor> {"method":"thread/start","params":{"cwd":"$start","approvalPolicy":"never","sandbox":"read-only","approvalsReviewer":"user"}}
codex<= {"method":"thread/start","params":{"cwd":"$start","approvalPolicy":"never","sandbox":"read-only","approvalsReviewer":"user"}}
`)
}

// Under audit Codex loads a project that the policy would keep untrusted, so the client gets no
// warning.
func TestAuditWarnsOfNoUntrustedProject(t *testing.T) {
	const kept = "[policy]\napproval = [\"untrusted\"]\nsandbox = \"read-only\"\n"
	for _, test := range []struct {
		policy string
		told   int
	}{{kept, 1}, {inMode("audit", kept), 0}} {
		var log bytes.Buffer
		w := world(t)
		plant(t, w.StartFolder, txtar.Parse([]byte("-- .git/HEAD --\nx\n-- .codex/config.toml --\n")))
		g := guard.New(load(t, test.policy), w, guard.NoRecord, slog.New(slog.NewTextHandler(&log, nil)))
		c := bridgetest.Start(t, g)
		c.Bind("start", w.StartFolder)
		c.Play("start", `
editor> {"id":1,"method":"thread/start","params":{"cwd":"$start","approvalPolicy":"untrusted","sandbox":"read-only"}}
codex<  {"id":"$read","method":"config/read","params":{"includeLayers":true}}
codex>  {"id":"$read","result":{"config":{}}}
codex<  {"id":1,"method":"thread/start","params":"$sent"}
codex>  {"id":1,"result":{"thread":{"id":"t1"},"approvalPolicy":"on-request",`+threadAnswer+`
editor< {"id":1,"result":"$started"}
`)
		if got := strings.Count(log.String(), "is not a trusted project"); got != test.told {
			t.Errorf("said %d times:\n%s", got, log.String())
		}
	}
}

// A denied message keeps its own reason if the denial can't be logged.
func TestUnloggedDenialKeepsItsReason(t *testing.T) {
	c, _, _ := converse(t, readOnlyPolicy, &book{err: errors.New("the disk is full")})
	c.Play("denied", `
editor> {"id":1,"method":"fs/writeFile","params":{"path":"/x","dataBase64":""}}
editor< {"id":1,"error":{"code":-32010,"message":"<text>","data":{"method":"fs/writeFile","rule":"policy.methods","reason":"<text>","origin":"<text>","hint":"<text>"}}}
`)
}

// Codex's request is declined, and the client's response refused, with their own reasons if they
// can't be logged.
func TestUnloggedQuestionIsDeclined(t *testing.T) {
	var members strings.Builder
	for i := range 1001 {
		fmt.Fprintf(&members, `,"x%d":0`, i)
	}
	c, _, _ := converse(t, readOnlyPolicy, &book{err: errors.New("the disk is full")})
	c.Play("declined", `
editor> {"id":1,"method":"model/list","params":{}}
codex<= {"id":1,"method":"model/list","params":{}}
codex>  {"method":"item/fileChange/requestApproval","id":0,"params":{"threadId":"t","turnId":"u","itemId":"i"}}
codex<  {"id":0,"result":{"decision":"decline"}}
codex>  {"method":"item/permissions/requestApproval","id":2,"params":{"threadId":"t","turnId":"u","itemId":"i","permissions":{}}}
editor< {"method":"item/permissions/requestApproval","id":2,"params":"$asked"}
editor> {"id":2,"result":{"permissions":{}`+members.String()+`}}
codex<  {"id":2,"error":{"code":-32014,"message":"<text>","data":{"method":"item/permissions/requestApproval","rule":"policy.unknown_methods","reason":"<text>","field":"result","hint":"<text>"}}}
`)
}

// The id of a thread in another spelling than Codex's is refused.
func TestThreadIDInAnotherSpelling(t *testing.T) {
	c, _, _ := converse(t, loosePolicy, guard.NoRecord)
	const id = "0190A000-0000-7000-8000-000000000001"
	c.Play("resume", `
editor> {"id":1,"method":"thread/resume","params":{"threadId":"`+id+`","cwd":"$start","approvalPolicy":"on-request","sandbox":"read-only","approvalsReviewer":"user"}}
codex<  {"id":"$read","method":"config/read","params":"$for"}
codex>  {"id":"$read","result":{"config":{},"layers":[]}}
editor< {"id":1,"error":{"code":-32602,"message":"<text>","data":{"method":"thread/resume","rule":"protocol","field":"params.threadId","reason":"<text>","hint":"send `+strings.ToLower(id)+`"}}}
`)
}

// A thread is refused only if the client disabled a notification that the policy needs.
func TestDisabledNotificationThatPolicyNeedsRefusesThread(t *testing.T) {
	for name, test := range map[string]struct {
		silent string
		opens  bool
	}{
		"needed by nobody":         {`["turn/started","initialize","*",""]`, true},
		"of a hook that fails":     {`["hook/completed"]`, false},
		"of a thread that is gone": {`["thread/closed"]`, false},
	} {
		t.Run(name, func(t *testing.T) {
			c, g, _ := converse(t, inMode("audit", readOnlyPolicy), guard.NoRecord)
			c.Play("hello", `
editor> {"id":1,"method":"initialize","params":{"clientInfo":{"name":"e"},"capabilities":{"optOutNotificationMethods":`+test.silent+`}}}
codex<= {"id":1,"method":"initialize","params":{"clientInfo":{"name":"e"},"capabilities":{"optOutNotificationMethods":`+test.silent+`}}}
codex>  {"id":1,"result":{}}
editor< {"id":1,"result":{}}
`)
			g.SetPolicy(load(t, readOnlyPolicy+"config_keys = [\"features.skill_mcp_dependency_install\"]\n"))
			const start = `editor> {"id":2,"method":"thread/start","params":{"cwd":"$start","approvalPolicy":"untrusted","sandbox":"read-only","approvalsReviewer":"user"}}
`
			if test.opens {
				c.Play("start", start+`codex<= {"id":2,"method":"thread/start","params":{"cwd":"$start","approvalPolicy":"untrusted","sandbox":"read-only","approvalsReviewer":"user"}}
`)
				return
			}
			c.Play("start", start+`codex<  {"id":"$read","method":"config/read","params":"$params"}
codex>  {"id":"$read","result":{"config":{},"layers":[]}}
editor< {"id":2,"error":{"code":-32013,"message":"<text>","data":{"method":"thread/start","rule":"policy.mode","reason":"<text>","hint":"<text>"}}}
`)
		})
	}
}

// Under audit the client may disable any notification, and the log has no refusal.
func TestAuditNeedsNoNotifications(t *testing.T) {
	b := &book{}
	c, _, _ := converse(t, inMode("audit", readOnlyPolicy), b)
	c.Play("hello", `
editor> {"id":1,"method":"initialize","params":{"clientInfo":{"name":"e"},"capabilities":{"optOutNotificationMethods":["thread/closed"]}}}
codex<= {"id":1,"method":"initialize","params":{"clientInfo":{"name":"e"},"capabilities":{"optOutNotificationMethods":["thread/closed"]}}}
codex>  {"id":1,"result":{}}
editor< {"id":1,"result":{}}
editor> {"id":2,"method":"thread/start","params":{"cwd":"$start","approvalPolicy":"untrusted","sandbox":"read-only","approvalsReviewer":"user"}}
codex<= {"id":2,"method":"thread/start","params":{"cwd":"$start","approvalPolicy":"untrusted","sandbox":"read-only","approvalsReviewer":"user"}}
`)
	if got := verdicts(b); got != "" {
		t.Errorf("the log has %q", got)
	}
}

// The check of Codex applies only under enforce.
func TestAuditTakesAnyCodex(t *testing.T) {
	c, g, _ := converse(t, inMode("audit", readOnlyPolicy), guard.NoRecord)
	g.SetCodexCheck(codexVersion("0.100.0").supported)
	c.Play("old codex", `
editor> {"id":1,"method":"model/list","params":{}}
codex<= {"id":1,"method":"model/list","params":{}}
`)
}

// A response of Codex without a thread id fails the request and is logged.
func TestThreadWithoutIDIsNotOpened(t *testing.T) {
	b := &book{}
	c, g, _ := converse(t, readOnlyPolicy, b)
	c.Play("start", `
editor> {"id":1,"method":"thread/start","params":{"cwd":"$start","approvalPolicy":"untrusted","sandbox":"read-only","approvalsReviewer":"user"}}
codex<= {"id":1,"method":"thread/start","params":{"cwd":"$start","approvalPolicy":"untrusted","sandbox":"read-only","approvalsReviewer":"user"}}
codex>  {"id":1,"result":{"approvalPolicy":"untrusted",`+threadAnswer+`
editor< {"id":1,"error":{"code":-32013,"message":"<text>"}}
`)
	if g.Threads() != 0 || verdicts(b) != "deny" || !strings.Contains(b.entries[0].Reason, "thread.id") {
		t.Errorf("%d threads may take turns, the log has %+v", g.Threads(), b.entries)
	}
}

// The log has the thread and the turn of a message, also under their other names, and cuts the long
// name of a method.
func TestLogNamesThreadAndTurn(t *testing.T) {
	b := &book{}
	c, _, _ := converse(t, "[policy]\nsandbox = \"read-only\"\napproval = [\"untrusted\"]\nproject_trust = \"codex\"\n[policy.methods]\n\"turn/steer\" = \"deny\"\n", b)
	fits, long := strings.Repeat("m", 200), strings.Repeat("m", 201)
	euro := strings.Repeat("m", 199) + "€"
	c.Play("messages", `
editor> {"id":1,"method":"turn/steer","params":{"threadId":"t1","expectedTurnId":"u1","input":[]}}
editor< {"id":1,"error":"$steer"}
codex>  {"id":2,"method":"item/fileChange/requestApproval","params":{"threadId":"t2","turnId":"u2","itemId":"i"}}
codex<  {"id":2,"result":{"decision":"decline"}}
codex>  {"id":3,"method":"applyPatchApproval","params":{"conversationId":"t3","callId":"c","fileChanges":{"/x":{"add":{"content":""}}}}}
codex<  {"id":3,"result":"$denied"}
editor> {"id":4,"method":"`+fits+`","params":{}}
editor< {"id":4,"error":"$fits"}
editor> {"id":5,"method":"`+long+`","params":{}}
editor< {"id":5,"error":"$long"}
editor> {"id":6,"method":"`+euro+`","params":{}}
editor< {"id":6,"error":"$euro"}
`)
	type named struct{ Method, Thread, Turn string }
	var got []named
	for _, e := range b.entries {
		got = append(got, named{e.Method, e.Thread, e.Turn})
	}
	want := []named{
		{"turn/steer", "t1", "u1"}, {"item/fileChange/requestApproval", "t2", "u2"}, {"applyPatchApproval", "t3", ""},
		{fits, "", ""}, {fits + "…", "", ""}, {fits[:199] + "…", "", ""},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Under audit the log has the decisions on Codex's requests and the client's responses, and both
// pass unchanged. Without a policy nothing is logged.
func TestAuditPassesQuestionsAndAnswers(t *testing.T) {
	const question = `{"method":"item/fileChange/requestApproval","id":0,"params":{"threadId":"t","turnId":"u","itemId":"i"}}`
	const script = `
editor> {"id":1,"method":"model/list","params":{}}
codex<= {"id":1,"method":"model/list","params":{}}
codex>  ` + question + `
editor<= ` + question + `
editor> {"id":0,"result":{"decision":"acceptForSession"}}
codex<= {"id":0,"result":{"decision":"acceptForSession"}}
editor> {"id":0,"result":{"decision":"accept"}}
codex<= {"id":0,"result":{"decision":"accept"}}
`
	for _, test := range []struct{ name, policy, failure, logged string }{
		{"audit", inMode("audit", readOnlyPolicy), "", "deny deny deny"},
		{"audit, and nothing can be logged", inMode("audit", readOnlyPolicy), "the disk is full", ""},
		{"no policy", "", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := &book{}
			if test.failure != "" {
				b.err = errors.New(test.failure)
			}
			c, g, _ := converse(t, test.policy, b)
			notified := heard(g)
			c.Play("question", script)
			if got := verdicts(b); got != test.logged || len(*notified) > 0 {
				t.Errorf("the log has %q, the client is notified of %+v", got, *notified)
			}
			if rewritten, refused := g.Counts(); rewritten != 0 || refused != 0 {
				t.Errorf("%d are rewritten, %d refused", rewritten, refused)
			}
		})
	}
}

// The policy that is active at the time of the client's response counts; without a policy any
// response passes.
func TestPolicyOfTheAnswersTimeCounts(t *testing.T) {
	const question = `{"method":"item/fileChange/requestApproval","id":0,"params":{"threadId":"t","turnId":"u","itemId":"i"}}`
	for _, test := range []struct{ name, before, then, sent, logged string }{
		{"a policy comes", "", readOnlyPolicy, "decline", "deny"},
		{"a policy goes", readOnlyPolicy + "escalation = \"ask\"\n", "", "acceptForSession", "rewrite"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := &book{}
			c, g, _ := converse(t, test.before, b)
			c.Play("question", `
editor> {"id":1,"method":"model/list","params":{}}
codex<= {"id":1,"method":"model/list","params":{}}
codex>  `+question+`
editor< {"method":"item/fileChange/requestApproval","id":0,"params":"$params"}
`)
			g.SetPolicy(load(t, test.then))
			c.Play("answer", `
editor> {"id":0,"result":{"decision":"acceptForSession"}}
codex<  {"id":0,"result":{"decision":"`+test.sent+`"}}
`)
			if got := verdicts(b); got != test.logged {
				t.Errorf("the log has %q", got)
			}
		})
	}
}

// The bridge notifies a client that knows the bridge of each decision, with the changed fields, and
// counts the decisions.
func TestClientIsNotifiedOfDecisions(t *testing.T) {
	c, g, _ := converse(t, readOnlyPolicy+"escalation = \"ask\"\n", guard.NoRecord)
	notified := heard(g)
	c.Play("decisions", `
editor> {"id":1,"method":"fs/writeFile","params":{"path":"/x","dataBase64":""}}
editor< {"id":1,"error":"$denied"}
editor> {"id":2,"method":"thread/start","params":{"cwd":"$start","approvalPolicy":"on-request","sandbox":"read-only","approvalsReviewer":"user"}}
codex<  {"id":2,"method":"thread/start","params":{"cwd":"$start","approvalPolicy":"untrusted","sandbox":"read-only","approvalsReviewer":"user"}}
codex>  {"id":2,"result":{"thread":{"id":"t1"},"approvalPolicy":"untrusted",`+threadAnswer+`
editor< {"id":2,"result":"$started"}
codex>  {"method":"turn/started","params":{"threadId":"t1","turn":{"id":"u"}}}
editor< {"method":"turn/started","params":"$turn"}
codex>  {"method":"item/fileChange/requestApproval","id":0,"params":{"threadId":"t1","turnId":"u","itemId":"i"}}
editor< {"method":"item/fileChange/requestApproval","id":0,"params":"$asked"}
editor> {"id":0,"result":{"decision":"acceptForSession"}}
codex<  {"id":0,"result":{"decision":"accept"}}
codex>  {"method":"thread/settings/updated","params":{"threadId":"t1","threadSettings":{"approvalPolicy":"never"}}}
editor< {"method":"thread/settings/updated","params":"$settings"}
editor> {"id":0,"result":{"decision":"accept"}}
editor> {"id":3,"method":"model/list","params":{}}
codex<  {"id":3,"method":"model/list","params":{}}
`)
	type event struct {
		Method, ID, Thread string
		Verdict            policy.Verdict
		Changes            int
		Refused            bool
	}
	var got []event
	for _, a := range *notified {
		got = append(got, event{a.Method, string(a.ID), a.ThreadID, a.Verdict, len(a.Changes), a.Error != nil})
	}
	want := []event{
		{"fs/writeFile", "1", "", policy.Deny, 0, true},
		{"thread/start", "2", "", policy.Rewrite, 1, false},
		{"item/fileChange/requestApproval", "0", "t1", policy.Rewrite, 1, false},
		{"item/fileChange/requestApproval", "0", "t1", policy.Rewrite, 1, false},
		{"thread/settings/updated", "", "", policy.Deny, 0, true},
		{"answer", "0", "", policy.Deny, 0, true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if rewritten, refused := g.Counts(); rewritten != 3 || refused != 3 {
		t.Errorf("%d are rewritten, %d refused", rewritten, refused)
	}
}

// Under audit a thread may take turns with any settings. Settings that Codex reports are not
// logged.
func TestAuditAcceptsReportedSettings(t *testing.T) {
	b := &book{}
	c, g, _ := converse(t, inMode("audit", readOnlyPolicy), b)
	opens(c, "thread/start", "t1", "untrusted")
	const loosened = `{"method":"thread/settings/updated","params":{"threadId":"t1","threadSettings":{"approvalPolicy":"never","approvalsReviewer":"user","sandboxPolicy":{"type":"dangerFullAccess"},"activePermissionProfile":null,"cwd":"$start","model":"gpt-5.5"}}}`
	c.Play("settings", "codex> "+loosened+"\neditor< "+loosened+"\n")
	if g.Threads() != 1 || g.Sandbox("t1", "u") != "danger-full-access" || len(b.entries) != 0 {
		t.Errorf("%d threads may take turns, in %q; the log has %+v", g.Threads(), g.Sandbox("t1", "u"), b.entries)
	}
	// An answer in which no folder is named makes no thread.
	c.Play("start", `
editor> {"id":1,"method":"thread/start","params":{"cwd":"$start","approvalPolicy":"untrusted","sandbox":"read-only","approvalsReviewer":"user"}}
codex<  {"id":1,"method":"thread/start","params":"$sent"}
codex>  {"id":1,"result":{"thread":{"id":"t2"},"approvalPolicy":"untrusted"}}
editor< {"id":1,"result":{"thread":{"id":"t2"},"approvalPolicy":"untrusted"}}
`)
	if g.Threads() != 1 || g.Workspace("t2") != "" {
		t.Errorf("%d threads may take turns, t2 in %q", g.Threads(), g.Workspace("t2"))
	}
}

// Without a policy the guard does not store threads.
func TestNoPolicyKeepsNoThreads(t *testing.T) {
	b := &book{}
	c, g, _ := converse(t, "", b)
	opens(c, "thread/start", "t1", "untrusted")
	const loosened = `{"method":"thread/settings/updated","params":{"threadId":"t1","threadSettings":{"approvalPolicy":"never"}}}`
	c.Play("settings", "codex> "+loosened+"\neditor<= "+loosened+"\n")
	if g.Threads() != 0 || len(b.entries) != 0 {
		t.Errorf("%d threads may take turns, the log has %+v", g.Threads(), b.entries)
	}
}

// The user's own rules for commands are read when a policy becomes active. Rules that Codex may
// have read then still count after the file has changed. Without a policy they are not read.
func TestUserRulesAreReadWithPolicy(t *testing.T) {
	for _, test := range []struct {
		name, policy, then string
		rules              int
	}{
		{"enforce", readOnlyPolicy, readOnlyPolicy, 2},
		{"audit", inMode("audit", readOnlyPolicy), readOnlyPolicy, 2},
		{"no policy", "", readOnlyPolicy, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := world(t)
			w.CodexHome = t.TempDir()
			file := filepath.Join(w.CodexHome, "rules", "default.rules")
			allow := func(command string) {
				t.Helper()
				text := "prefix_rule(pattern=[\"" + command + "\"], decision=\"allow\")\n"
				if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			allow("make")
			g := guard.New(load(t, test.policy), w, guard.NoRecord, slog.New(slog.DiscardHandler))
			allow("npm-install")
			g.SetPolicy(load(t, test.then))
			if got := len(g.UserRules().Rules); got != test.rules {
				t.Errorf("%d rules count", got)
			}
		})
	}
}

// A thread that is resumed without a sandbox gets that of its last turn from Codex's file. If Codex
// does not know the file, the thread is not resumed.
func TestResumeWithoutSandbox(t *testing.T) {
	const policy = "[policy]\ngate = false\nsandbox = \"workspace-write\"\napproval = [\"on-request\"]\nproject_trust = \"codex\"\nprotected_paths = [\"secrets\"]\n"
	const asks = `
editor> {"id":1,"method":"thread/resume","params":{"threadId":"t1","cwd":"$start","approvalPolicy":"on-request","approvalsReviewer":"user"}}
codex<  {"id":"$list","method":"thread/loaded/list","params":{"limit":1000}}
codex>  {"id":"$list","result":{"data":[]}}
codex<  {"id":"$read","method":"thread/read","params":{"threadId":"t1","includeTurns":false}}
`
	w := world(t)
	var err error
	if w.CodexHome, err = w.Paths.Canonical(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(w.CodexHome, "sessions", "rollout-t1.jsonl")
	const last = `{"type":"session_meta","payload":{}}` + "\n" + `{"type":"turn_context","payload":{"turn_id":"u","cwd":"/","approval_policy":"on-request","sandbox_policy":{"type":"read-only"}}}` + "\n"
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(last), 0o600)); err != nil {
		t.Fatal(err)
	}
	g := guard.New(load(t, policy), w, guard.NoRecord, slog.New(slog.DiscardHandler))
	c := bridgetest.Start(t, g)
	c.Bind("start", w.StartFolder)
	c.Bind("rollout", file)
	c.Play("unknown", asks+`codex>  {"id":"$read","error":{"code":-32600,"message":"no rollout found"}}
editor< {"id":1,"error":{"code":-32010,"message":"<text>","data":{"method":"thread/resume","rule":"policy.protected_paths","field":"params.threadId","reason":"<text>","origin":"<text>","hint":"send sandbox"}}}
`)
	c.Play("known", strings.NewReplacer("$read", "$again", "$list", "$relist").Replace(asks)+`codex>  {"id":"$again","result":{"thread":{"id":"t1","path":"$rollout"}}}
codex<  {"id":"$config","method":"config/read","params":{"includeLayers":true,"cwd":"$start"}}
codex>  {"id":"$config","result":{"config":{},"layers":[]}}
codex<  {"id":1,"method":"thread/resume","params":{"threadId":"t1","cwd":"$start","approvalPolicy":"on-request","approvalsReviewer":"user","sandbox":"read-only","config":"$overlay"}}
`)
}

// A thread/start that names everything opens no thread if Codex's configuration can't be read: parts
// of it win over the request.
func TestStartNeedsConfiguration(t *testing.T) {
	c, _, _ := converse(t, readOnlyPolicy, guard.NoRecord)
	c.Play("start", `
editor> {"id":1,"method":"thread/start","params":{"cwd":"$start","approvalPolicy":"untrusted","sandbox":"read-only","approvalsReviewer":"user"}}
codex<  {"id":"$read","method":"config/read","params":"$params"}
codex>  {"id":"$read","error":{"code":-32600,"message":"broken"}}
editor< {"id":1,"error":{"code":-32010,"message":"<text>","data":{"method":"thread/start","rule":"policy.mode","reason":"the bridge could not read Codex's configuration","hint":"<text>"}}}
`)
}

// With wildcards alone a forbidden model becomes the first that Codex lists and the policy allows. Without the
// list the request is refused with a hint.
func TestModelOfList(t *testing.T) {
	const start = `{"id":1,"method":"thread/start","params":{"cwd":"$start","approvalPolicy":"on-request","sandbox":"read-only","approvalsReviewer":"user","model":"NAME"}}`
	const refused = `editor< {"id":1,"error":{"code":-32010,"message":"<text>","data":{"method":"thread/start","rule":"policy.models","field":"params.model","reason":"<text>","origin":"<text>","hint":"name an allowed model in model, or add a plain name to the list, which then replaces it"}}}`
	for answer, want := range map[string]string{
		`"result":{"data":[{"model":"gpt-6.1-terra","isDefault":false},{"model":"gpt-6.1-sol","isDefault":true}]}`: `codex<  {"id":"$read","method":"config/read","params":"$params"}
codex>  {"id":"$read","result":{"config":{}}}
codex<  ` + strings.Replace(start, "NAME", "gpt-6.1-sol", 1),
		`"result":{"data":[{"model":"o9"}]}`:         refused,
		`"result":{"data":{}}`:                       refused,
		`"result":{"data":[{"model":7}]}`:            refused,
		`"error":{"code":-32600,"message":"broken"}`: refused,
	} {
		c, _, _ := converse(t, "[policy]\nsandbox = \"read-only\"\nmodels = [\"gpt-6.1*\"]\nproject_trust = \"codex\"\n", guard.NoRecord)
		c.Play("start", `
editor> `+strings.Replace(start, "NAME", "gpt-5.5", 1)+`
codex<  {"id":"$list","method":"model/list","params":{"limit":1000}}
codex>  {"id":"$list",`+answer+`}
`+want+"\n")
	}
}
