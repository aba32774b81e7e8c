package guard_test

import (
	"fmt"
	"strings"
	"testing"

	"codex-bridge.example/bridge/guard"
)

const (
	// pinnedPolicy has Codex started with nothing that its threads would have to make up for.
	pinnedPolicy = readOnlyPolicy + "config_keys = [\"features.skill_mcp_dependency_install\"]\n"

	resumesT1 = `
editor> {"id":"resume","method":"thread/resume","params":{"threadId":"t1","cwd":"$start","approvalPolicy":"untrusted","sandbox":"read-only","approvalsReviewer":"user"}}
codex<  {"id":"$read","method":"config/read","params":{"includeLayers":true,"cwd":"$start"}}
codex>  {"id":"$read","result":{"config":{},"layers":[]}}
`
	resumedT1 = `codex<  {"id":"resume","method":"thread/resume","params":{"threadId":"t1","cwd":"$start","approvalPolicy":"untrusted","sandbox":"read-only","approvalsReviewer":"user"}}
codex>  {"id":"resume","result":{"thread":{"id":"t1"},"approvalPolicy":"untrusted",` + threadAnswer + `
`
	letsT1 = `editor< {"id":"resume","result":{"thread":{"id":"t1"},"approvalPolicy":"untrusted",` + threadAnswer + `
`
	refusesT1 = `editor< {"id":"resume","error":{"code":-32013,"message":"<text>","data":{"method":"thread/resume","rule":"policy.mode","reason":"the thread was opened before this policy was enforced, and Codex still has it in memory with its earlier configuration","hint":"<text>"}}}
editor> {"id":"turn","method":"turn/start","params":{"threadId":"t1","input":[]}}
editor< {"id":"turn","error":{"code":-32013,"message":"<text>","data":"$refused"}}
`
)

// lists returns a page of the threads that Codex has loaded.
func lists(id, cursor, loaded, next string) string {
	return `codex<  {"id":"$` + id + `","method":"thread/loaded/list","params":{"limit":1000` + cursor + `}}
codex>  {"id":"$` + id + `","result":{"data":` + loaded + `,"nextCursor":` + next + `}}
`
}

// A thread that Codex has had in memory since before this policy was enforced is not resumed. A
// thread that Codex reads from disk is.
func TestResumeOfThreadFromBeforeEnforcement(t *testing.T) {
	for _, mode := range []string{"audit", "off"} {
		for _, test := range []struct{ name, list, outcome string }{
			{"loaded", lists("list", "", `["t0","t1"]`, "null"), resumedT1 + refusesT1},
			{"not loaded", lists("list", "", `["t0"]`, "null"), resumedT1 + letsT1},
			{"on the second page", lists("list", "", `["t0"]`, `"more"`) + lists("again", `,"cursor":"more"`, `["t1"]`, "null"), resumedT1 + refusesT1},
			{
				"no list", `codex<  {"id":"$list","method":"thread/loaded/list","params":{"limit":1000}}
codex>  {"id":"$list","error":{"code":-32601,"message":"unknown"}}
`, `editor< {"id":"resume","error":{"code":-32011,"message":"<text>"}}
editor> {"id":"turn","method":"turn/start","params":{"threadId":"t1","input":[]}}
editor< {"id":"turn","error":{"code":-32013,"message":"<text>","data":"$refused"}}
`,
			},
		} {
			t.Run(mode+", "+test.name, func(t *testing.T) {
				before := ""
				if mode == "audit" {
					before = inMode("audit", pinnedPolicy)
				}
				c, g, _ := converse(t, before, guard.NoRecord)
				opens(c, "thread/start", "t1", "untrusted")
				g.SetPolicy(load(t, pinnedPolicy))
				c.Play("resume", resumesT1+test.list+test.outcome)
			})
		}
	}
}

// Codex is asked for its loaded threads only before a resume, and only if a thread may have been
// opened without an enforced policy.
func TestLoadedThreadsAreAskedForWhenNeeded(t *testing.T) {
	c, g, _ := converse(t, pinnedPolicy, guard.NoRecord)
	opens(c, "thread/start", "t1", "untrusted")
	c.Play("enforced from the start", resumesT1+resumedT1+letsT1)
	g.SetPolicy(load(t, inMode("audit", pinnedPolicy)))
	// Another policy in force changes nothing in what t1 was opened with.
	g.SetPolicy(load(t, pinnedPolicy))
	opens(c, "thread/start", "t2", "untrusted")
	opens(c, "thread/fork", "t3", "untrusted")
	takesTurn(c, "t3", "untrusted", "untrusted")
	c.Play("opened while one was enforced", strings.ReplaceAll(resumesT1, "$read", "$read2")+lists("list", "", `["t1"]`, "null")+resumedT1+letsT1)
	// Once Codex has unloaded the thread, what it loads under audit is not what the policy asks for.
	const closed = `{"method":"thread/closed","params":{"threadId":"t1"}}`
	c.Play("closed", "codex> "+closed+"\neditor< "+closed+"\n")
	c.Play("loaded by another", strings.ReplaceAll(resumesT1, "$read", "$read3")+lists("list2", "", `["t1"]`, "null")+resumedT1+refusesT1)
}

// The guard stops reading an endless list of loaded threads.
func TestEndlessListOfLoadedThreads(t *testing.T) {
	c, g, _ := converse(t, "", guard.NoRecord)
	g.SetPolicy(load(t, pinnedPolicy))
	var pages strings.Builder
	cursor := ""
	for i := range 100 {
		next := fmt.Sprint("page", i)
		pages.WriteString(lists(next, cursor, `["t0"]`, `"`+next+`"`))
		cursor = `,"cursor":"` + next + `"`
	}
	c.Play("resume", resumesT1+pages.String()+`editor< {"id":"resume","error":{"code":-32011,"message":"<text>"}}
`)
}
