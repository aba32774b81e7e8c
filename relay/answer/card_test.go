package answer_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"codex-bridge.example/relay/answer"
	"codex-bridge.example/rpc"
)

func TestApprovalCard(t *testing.T) {
	many := func(each string, n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(each, i))
		}
		return strings.Join(all, ",")
	}
	const command, permissions = "item/commandExecution/requestApproval", "item/permissions/requestApproval"
	for _, c := range []struct{ name, method, params, want string }{
		{"words", command, `{"command":["git","push","--force"]}`, "Command: git push --force"},
		{"words that are none", command, `{"command":["a",1,null]}`, "Command: a 1 null"},
		{"markup", command, `{"command":"(a_b)\\c|d*e~f<g>@h` + "`[i]" + `"}`, "Command: （a＿b）＼c｜d∗e～f&lt;g&gt;＠h｀［i］"},
		{"one host", command, `{"command":"a","proposedNetworkPolicyAmendments":[{"action":"allow","host":"API.Example.com"}]}`,
			"Command: a\nProposed network policy: allow api.example.com"},
		{"hosts", command, `{"command":"a","proposedNetworkPolicyAmendments":[{"action":"allow","host":"A"},{"action":"deny","host":"b"},{"action":"allow","host":"c"},{"action":"allow","host":"d"}]}`,
			"Command: a\nProposed network policy: allow a, deny b (+2 more)"},
		{"a rule", command, `{"command":"a","proposedExecpolicyAmendment":["a","b","c"]}`, "Command: a\nProposed exec policy: a, b (+1 more)"},
		{"a host that is asked about", command, `{"networkApprovalContext":{"protocol":"https","host":"A.b"}}`,
			"Request method: item/commandExecution/requestApproval\nNetwork: https a.b"},
		{"more than the sandbox", command, `{"command":"a","additionalPermissions":{"network":{"enabled":true}}}`,
			"Command: a\nAdditional permissions: network\nHigh-risk targets: network access\nNetwork enabled: true"},
		{"a folder for the session", "item/fileChange/requestApproval", `{"reason":"r","grantRoot":"/srv/x"}`, "Reason: r\nWrite access: /srv/x"},
		{"entries", permissions, `{"permissions":{"fileSystem":{"entries":[{"access":"write","path":"/a"},{"access":"read","path":{"type":"path","path":"/b"}},{"access":"read","path":"/c"}]}}}`,
			"Permissions: fileSystem\nFile system entries: write /a, read /b (+1 more)"},
		{"entries of other kinds", permissions, `{"permissions":{"fileSystem":{"entries":[{"access":"read","path":{"type":"glob_pattern","pattern":"/a/*.key"}},{"access":"write","path":{"type":"special","value":{"kind":"project_roots","subpath":"x"}}}]}}}`,
			"Permissions: fileSystem\nFile system entries: read /a/*.key, write project_roots/x"},
		{"a root by its name", permissions, `{"permissions":{"fileSystem":{"entries":[{"access":"write","path":{"type":"special","value":{"kind":"root"}}}]}}}`,
			"Permissions: fileSystem\nHigh-risk targets: filesystem root\nFile system entries: write root"},
		{"lists", permissions, `{"permissions":{"network":{"allowHosts":["A.example","b.example","c.example"]},"fileSystem":{"read":[],"write":["/a"]}}}`,
			"Permissions: network, fileSystem\nNetwork allowHosts: a.example, b.example (+1 more)\nFile system read: none; write: /a"},
		{"many members", permissions, `{"permissions":{"network":{` + many(`"m%d":"v"`, 9) + `}}}`,
			"Permissions: network\nNetwork m0: v; m1: v; m2: v; m3: v; m4: v; m5: v (+3 more)"},
		{"more than has room", permissions, `{"permissions":{"network":{"allowHosts":[` + many(`"a-rather-long-name-of-a-host-number-%d.example"`, 20) +
			`],"denyHosts":[` + many(`"another-rather-long-name-of-a-host-%d.example"`, 7) + `]},"fileSystem":{"write":[` + many(`"/a/rather/long/path/of/a/folder/number/%d"`, 30) + `]}}}`,
			"Permissions: network, fileSystem\nNetwork allowHosts: a-rather-long-name-of-a-host-number-0.example (+19 more); denyHosts: another-rather-long-name-of-a-host-0.example (+6 more)\nFile system write: /a/rather/long/path/of/a/folder/number/0 (+29 more)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			card, ok := answer.ApprovalCard(c.method, value(t, []byte(c.params)), "")
			if !ok || card.Description != c.want {
				t.Errorf("the card says\n%s\nwant\n%s", card.Description, c.want)
			}
		})
	}
}

// The card names everything that a consent for the session allows beyond the call, and shows a rule
// of Codex in full.
func TestSessionScope(t *testing.T) {
	const command = "item/commandExecution/requestApproval"
	for _, c := range []struct{ method, params, want string }{
		{command, `{}`, "for this session"},
		{command, `{"availableDecisions":["accept","cancel"]}`, ""},
		{command, `{"availableDecisions":["accept",{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["git","push"]}}]}`, "always, for commands that begin with git push"},
		{command, `{"availableDecisions":[{"applyNetworkPolicyAmendment":{"network_policy_amendment":{"action":"allow","host":"A.b"}}}]}`, "always, for the host a.b"},
		{"item/fileChange/requestApproval", `{}`, "for this session"},
		{"mcpServer/elicitation/request", `{"_meta":{"persist":["session","always"]}}`, "always"},
		{"mcpServer/elicitation/request", `{"_meta":{"persist":"session"}}`, "for this session"},
		{"mcpServer/elicitation/request", `{"_meta":{"persist":[]}}`, ""},
	} {
		if got := answer.SessionScope(c.method, value(t, []byte(c.params))); got != c.want {
			t.Errorf("%s is %q, want %q", c.params, got, c.want)
		}
	}
}

// A shortened value still shows its end. A card shows a text that is too long for its description
// below the description.
func TestCardsHideNothing(t *testing.T) {
	const command, permissions, files = "item/commandExecution/requestApproval", "item/permissions/requestApproval", "item/fileChange/requestApproval"
	padding, long, far := strings.Repeat("\\u200b", 5000), strings.Repeat("x", 5000), strings.Repeat(" ", 5000)
	for name, c := range map[string]struct {
		method, params string
		want           []string
	}{
		"host":        {command, `{"networkApprovalContext":{"protocol":"https","host":"good.example` + padding + `.evil.com","port":1}}`, []string{"https good.example.evil.com (5000 characters not shown) port: 1"}},
		"spaces":      {permissions, `{"permissions":{"fileSystem":{"write":["/a` + far + `/etc"]}}}`, []string{"write: /a  ", "… (+4959 more characters)", `{"fileSystem":{"write":["/a` + far + `/etc"]}}`}},
		"path":        {permissions, `{"permissions":{"fileSystem":{"write":["/` + long + `"]}}}`, []string{"x… (+"}},
		"OSC":         {permissions, `{"permissions":{"fileSystem":{"write":["/a\u001b]/etc"]}}}`, []string{"write: /a (6 characters not shown)"}},
		"grantRoot":   {files, `{"reason":"r","grantRoot":"/a` + padding + `/etc"}`, []string{"Write access: /a/etc (5000 characters not shown)"}},
		"reason":      {files, `{"reason":"` + long + `"}`, []string{"x… (+4"}},
		"command":     {command, `{"command":"echo ` + strings.Repeat("y ", 200) + `; rm -rf /srv"}`, []string{"y ...", "\nWhole command:\n  | echo y", "y ; rm -rf /srv"}},
		"two lines":   {command, `{"command":"echo ` + padding + `; rm -rf /srv"}`, []string{"Command: echo ; rm -rf /srv\n", "\nWhole command:\n  | \"echo " + padding + `; rm -rf /srv"`}},
		"too long":    {command, `{"command":"` + long + `"}`, []string{"xx...\n", "\nWhole command:\n  | " + long}},
		"read as":     {command, `{"command":"bash -lc 'cd /etc \u0026\u0026 ls'","commandActions":[{"command":"ls"}]}`, []string{"Command: ls", "Whole command:\n  | bash -lc 'cd /etc && ls'"}},
		"read after":  {command, `{"command":"rm x; bash -lc ls","commandActions":[{"command":"ls"}]}`, []string{"Command: ls", "Whole command:\n  | rm x; bash -lc ls"}},
		"home":        {permissions, `{"permissions":{"fileSystem":{"write":["/home/other/.ssh","/home/more/x"]}}}`, []string{"write: ~/.ssh, ~/x", `{"write":["/home/other/.ssh","/home/more/x"]}`}},
		"not read":    {command, `{"command":"ls; rm x","commandActions":[{"command":"ls"},{"type":"unknown"}]}`, []string{"Command: ls; rm x"}},
		"other kinds": {permissions, `{"permissions":{"network":null,"processes":{"kill":true}}}`, []string{"Permissions: none", `Not granted: processes: {"kill":true}`}},
		"entry":       {permissions, `{"permissions":{"fileSystem":{"entries":[{"access":"write","path":{"type":"path","path":"/a","pattern":"/etc/*"},"deep":true}]}}}`, []string{`write /a pattern: "/etc/*" deep: true`}},
		"lists":       {permissions, `{"permissions":{"fileSystem":{"write":["/a","/b","/c","/d"]}}}`, []string{"write: /a, /b (+2 more)", "write: /a, /b, /c, /d"}},
		"lines": {
			command, `{"command":"` + strings.Repeat("z", 100) + `","additionalPermissions":{"fileSystem":{"write":["/` + strings.Repeat("p", 60) + `","/etc"]}},"proposedExecpolicyAmendment":["a","b","c"]}`,
			[]string{"/etc", "Proposed exec policy: a, b, c"},
		},
	} {
		card, _ := answer.ApprovalCard(c.method, value(t, []byte(c.params)), "agent:main:session-1")
		all := card.Description + "\n" + strings.Join(card.Lines, "\n")
		for _, want := range c.want {
			if !strings.Contains(all, want) {
				t.Errorf("%s: the card says\n%.600s\nwithout %q", name, all, want)
			}
		}
	}
	if got := answer.SessionScope(command, value(t, []byte(`{"availableDecisions":[{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["git","`+strings.Repeat("x", 300)+`","end"]}}]}`))); !strings.HasSuffix(got, "x end") {
		t.Error(got)
	}
	card, _ := answer.ApprovalCard(command, value(t, []byte(`{"command":"/bin/bash -lc 'go test'","commandActions":[{"command":"go test"}]}`)), "")
	if fmt.Sprint(card.Lines[1:]) != "[Command: go test Shell: /bin/bash -lc]" {
		t.Errorf("a terminal shows %q", card.Lines)
	}
}

// The card of a tool counts what it cuts, and shows parameters that the server does not display.
func TestElicitationCardHidesNothing(t *testing.T) {
	long := strings.Repeat("x", 600)
	card := answer.ElicitationCard(value(t, []byte(`{"serverName":"s","message":"`+long+`","_meta":{"tool_name":"post","tool_params_display":[`+
		`{"name":"a","display_name":"A","value":"`+strings.Repeat("\\u200b", 600)+`end"},{"name":"to","value":"me"},{"name":"deep","value":{"a":{"b":{"c":{"hidden":1}}}}}],`+
		`"tool_params":{"at":"/home/other/x","to":"you","body":"`+long+`","deep":{"a":{"b":{"c":{"hidden":1}}}}}}}`)))
	all := card.Title + "\n" + card.Description + "\n" + strings.Join(card.Lines, "\n")
	for _, want := range []string{
		"x… (+5", `- A: "end" (600 characters not shown)`, `- to: "me"`, `- to: "you"`, "- body: \"x", "x… (+506 more characters)",
		`- deep: {"a":{"b":{"c":{truncated}}}}`, "Not shown: 12 characters", `- at: "～/x"`, `{"at":"/home/other/x","to":"you","body":"` + long + `"`, `"c":{"hidden":1}`,
	} {
		if !strings.Contains(all, want) {
			t.Errorf("the card says\n%s\nwithout %q", all, want)
		}
	}
}

// A terminal shows each text once: as it is, or whole and quoted, in the place of the line that cuts it or has other
// characters. The title of a tool's question is the start of its message, which stands whole below if it must be quoted.
func TestTerminalShowsTextsOnce(t *testing.T) {
	const command, files = "item/commandExecution/requestApproval", "item/fileChange/requestApproval"
	long := strings.Repeat("x", 200)
	for _, c := range []struct{ method, params, session, want string }{
		{files, `{"reason":"plain"}`, "s", "Reason: plain|Session: s"},
		{files, `{"reason":"[codex-bridge: leaves the sandbox] a_b"}`, "s", "Reason: [codex-bridge: leaves the sandbox] a_b|Session: s"},
		{files, `{"reason":"` + long + `","grantRoot":"/a_b"}`, strings.Repeat("s", 80), "Reason: " + long + "|(+1 more line)|Session: " + strings.Repeat("s", 80) + "|Write access: /a_b"},
		{command, `{"reason":"a_b","networkApprovalContext":{"protocol":"https","host":"h"}}`, "", "Reason: a_b|Network: https h"},
		{command, `{"command":"ls","reason":"a_b"}`, "", "Command: ls|Reason: a_b"},
		{"", `{"message":"May it run?","_meta":{"tool_name":"post"}}`, "", "May it run?||Tool: post"},
		{"", `{"message":"May it run? [codex-bridge: leaves the sandbox] a_b","_meta":{"tool_name":"post"}}`, "", "May it run? [codex-bridge: leaves the sandbox] a_b||Tool: post"},
		{"", `{"message":"Tool: post\u200b","_meta":{"tool_name":"post"}}`, "", `Tool: post||Tool: post|Not shown: 1 characters|Whole message: "Tool: post\u200b"`},
		{"", `{"message":"` + long + long + `","_meta":{"tool_name":"post"}}`, "", long + long + "||Tool: post"},
	} {
		card, ok := answer.ApprovalCard(c.method, value(t, []byte(c.params)), c.session)
		if ok {
			c.want = card.Title + "|" + c.want
		} else {
			card = answer.ElicitationCard(value(t, []byte(c.params)))
		}
		if got := strings.Join(card.Lines, "|"); got != c.want {
			t.Errorf("%s: a terminal shows\n%s\nwant\n%s", c.params, got, c.want)
		}
	}
}

// A card counts the commands, lines and list values that it has no room for.
func TestCardCountsWhatItLeavesOut(t *testing.T) {
	long := strings.Repeat("x", 100)
	actions := func(commands ...string) string {
		for i, c := range commands {
			commands[i] = `{"command":"` + c + `"}`
		}
		return `{"command":"bash","commandActions":[` + strings.Join(commands, ",") + `]}`
	}
	for name, test := range map[string]struct{ method, params, want string }{
		"commands":     {"item/commandExecution/requestApproval", actions("go test ./...", "ls", long, long, "rm -rf /srv"), "Command: go test ./... &amp;&amp; ls &amp;&amp; " + long + " (+2 more)"},
		"long command": {"item/commandExecution/requestApproval", actions(long+long, "rm -rf /srv"), "xxx... (+1 more)"},
		"no more":      {"item/commandExecution/requestApproval", actions("go test ./...", "ls"), "Command: go test ./... &amp;&amp; ls\n"},
		"lines": {
			"item/commandExecution/requestApproval", `{"command":"` + long + `","networkApprovalContext":{"protocol":"https","host":"` + long + `"},` +
				`"additionalPermissions":{"network":{"enabled":true},"fileSystem":{"write":["/","/a"]}},"proposedExecpolicyAmendment":["` + long + `"]}`,
			"(+5 more lines)",
		},
		"scalar": {"item/permissions/requestApproval", `{"permissions":{"network":{"enabled":true},"fileSystem":{"write":["` + long + `","` + long + `1","` + long + `2","` + long + `3"]}}}`, "Network enabled: true"},
	} {
		doc, err := rpc.ParseValue([]byte(test.params))
		if err != nil {
			t.Fatal(name, err)
		}
		card, ok := answer.ApprovalCard(test.method, doc.Root(), "agent:main:session-1")
		if !ok || !strings.Contains(card.Description, test.want) || len([]rune(card.Description)) > 256 {
			t.Errorf("%s: %q, want %q", name, card.Description, test.want)
		}
	}
}

// Two questions never look the same, apart from a session's name. A multi-line command is shown in lines.
func TestCardsDifferProperty(t *testing.T) {
	const command = "item/commandExecution/requestApproval"
	card, _ := answer.ApprovalCard(command, value(t, []byte(`{"command":"/bin/bash -lc 'touch a # then\nrm  -rf b'","cwd":"/w x"}`)), "")
	if got := strings.Join(card.Lines[2:], "\n"); got != "Whole command:\n  | /bin/bash -lc 'touch a # then\n  | rm  -rf b'\nFolder: /w x" || card.Description != `Command: /bin/bash -lc 'touch a # then⏎rm  -rf b'` {
		t.Errorf("the card says\n%s\n%s", card.Description, got)
	}
	texts := rapid.OneOf(
		rapid.StringOfN(rapid.SampledFrom([]rune("ab \\\"'n&;,(（@＠~\n\r\t\u00a0\u200b\x1b")), 0, 8, -1),
		rapid.SampledFrom([]string{"ls", "/bin/sh -c ls", "/bin/bash -lc ls", "bash -lc ls", "bash -lc 'ls'", "/x/bash -lc ls", "/home/u/x", "~/x", "a && b", "a &amp;&amp; b"}),
		rapid.Map(rapid.SampledFrom([]string{"b", "c", " ", "\n"}), func(end string) string { return strings.Repeat("a", 300) + end }),
	)
	for _, q := range []struct{ method, params string }{
		{command, `{"command":%s}`}, {command, `{"command":"ls","cwd":%s}`}, {command, `{"command":"ls","reason":%s}`},
		{command, `{"command":%s,"commandActions":[{"command":"ls"}]}`}, {command, `{"command":"ls","proposedExecpolicyAmendment":["a",%s]}`},
		{command, `{"networkApprovalContext":{"protocol":"https","host":%s}}`}, {command, `{"command":"ls","additionalPermissions":{"fileSystem":{"write":["/a",%s]}}}`},
		{"item/fileChange/requestApproval", `{"reason":%s}`}, {"item/fileChange/requestApproval", `{"grantRoot":%s}`},
		{"item/permissions/requestApproval", `{"permissions":{"fileSystem":{"write":["/a",%s]}}}`}, {"", `{"message":"m","_meta":{"tool_params":{"a":%s}}}`}, {"", `{"message":%s}`},
	} {
		show := func(text string) string {
			card, ok := answer.ApprovalCard(q.method, value(t, fmt.Appendf(nil, q.params, quoted(text))), "s")
			if !ok {
				card = answer.ElicitationCard(value(t, fmt.Appendf(nil, q.params, quoted(text))))
			}
			return strings.Join(card.Lines, "\n")
		}
		rapid.Check(t, func(t *rapid.T) {
			one, other := texts.Draw(t, "one"), texts.Draw(t, "other")
			if q.method == "" { // Codex's elicitations may have blanks around a text
				one, other = strings.TrimSpace(one), strings.TrimSpace(other)
			}
			if one != other && show(one) == show(other) {
				t.Fatalf("%s: %q looks like %q:\n%s", q.params, one, other, show(one))
			}
		})
	}
}

func quoted(text string) []byte {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string
	}
	return raw
}

// A question about a host has no command, also if that is null. An empty one is shown as such.
func TestCardWithoutCommand(t *testing.T) {
	const method = "item/commandExecution/requestApproval"
	for params, shown := range map[string]bool{
		`{"networkApprovalContext":{"protocol":"https","host":"a.b"}}`:                false,
		`{"command":null,"networkApprovalContext":{"protocol":"https","host":"a.b"}}`: false,
		`{"command":"","networkApprovalContext":{"protocol":"https","host":"a.b"}}`:   true,
	} {
		card, _ := answer.ApprovalCard(method, value(t, []byte(params)), "")
		if slices.Contains(card.Lines, "Whole command:") != shown {
			t.Errorf("%s: %q", params, card.Lines)
		}
	}
}
