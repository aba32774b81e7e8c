package answer_test

import (
	"fmt"
	"strings"
	"testing"

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

func TestFiles(t *testing.T) {
	if got := answer.Files([]string{"/1", "/2", "/3", "/4", "/5", "/6\x1b[1m", "/7", "/8"}); got != "Files: /1, /2, /3, /4, /5, /6 (4 characters not shown) (+2 more)" {
		t.Error(got)
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
		"spaces":      {permissions, `{"permissions":{"fileSystem":{"write":["/a` + far + `/etc"]}}}`, []string{"write: /a /etc"}},
		"path":        {permissions, `{"permissions":{"fileSystem":{"write":["/` + long + `"]}}}`, []string{"x… (+"}},
		"OSC":         {permissions, `{"permissions":{"fileSystem":{"write":["/a\u001b]/etc"]}}}`, []string{"write: /a (6 characters not shown)"}},
		"grantRoot":   {files, `{"reason":"r","grantRoot":"/a` + padding + `/etc"}`, []string{"Write access: /a/etc (5000 characters not shown)"}},
		"reason":      {files, `{"reason":"` + long + `"}`, []string{"x… (+4"}},
		"command":     {command, `{"command":"echo ` + strings.Repeat("y ", 200) + `; rm -rf /srv"}`, []string{"y ...", "Whole command: echo y", "y ; rm -rf /srv"}},
		"two lines":   {command, `{"command":"echo ` + padding + `; rm -rf /srv"}`, []string{"Whole command: echo ; rm -rf /srv (5000 characters not shown)"}},
		"too long":    {command, `{"command":"` + long + `"}`, []string{"Whole command: xx", "x… (+1"}},
		"read as":     {command, `{"command":"bash -lc 'cd /etc \u0026\u0026 ls'","commandActions":[{"command":"ls"}]}`, []string{"Command: ls", "Whole command: bash -lc 'cd /etc &amp;&amp; ls'"}},
		"read after":  {command, `{"command":"rm x; bash -lc ls","commandActions":[{"command":"ls"}]}`, []string{"Command: ls", "Whole command: rm x; bash -lc ls"}},
		"home":        {permissions, `{"permissions":{"fileSystem":{"write":["/home/other/.ssh","/home/more/x"]}}}`, []string{"write: ~/.ssh, ~/x", "~ stands for /home/other, /home/more"}},
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
		all := card.Description + "\n" + strings.Join(card.More, "\n")
		for _, want := range c.want {
			if !strings.Contains(all, want) {
				t.Errorf("%s: the card says\n%.600s\nwithout %q", name, all, want)
			}
		}
	}
	if got := answer.Files([]string{"/home/other/.ssh/config"}); got != "Files: /home/other/.ssh/config" {
		t.Error(got)
	}
	if got := answer.Files([]string{"/a" + strings.Repeat("\u200b", 5000) + "/etc"}); got != "Files: /a/etc (5000 characters not shown)" {
		t.Error(got)
	}
	if got := answer.SessionScope(command, value(t, []byte(`{"availableDecisions":[{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["git","`+strings.Repeat("x", 300)+`","end"]}}]}`))); !strings.HasSuffix(got, "x end") {
		t.Error(got)
	}
	card, _ := answer.ApprovalCard(command, value(t, []byte(`{"command":"/bin/bash -lc 'go test'","commandActions":[{"command":"go test"}]}`)), "")
	if card.More != nil {
		t.Errorf("below a whole description is %q", card.More)
	}
}

// The card of a tool counts what it cuts, and shows parameters that the server does not display.
func TestElicitationCardHidesNothing(t *testing.T) {
	long := strings.Repeat("x", 600)
	card := answer.ElicitationCard(value(t, []byte(`{"serverName":"s","message":"`+long+`","_meta":{"tool_name":"post","tool_params_display":[`+
		`{"name":"a","display_name":"A","value":"`+strings.Repeat("\\u200b", 600)+`end"},{"name":"to","value":"me"},{"name":"deep","value":{"a":{"b":{"c":{"hidden":1}}}}}],`+
		`"tool_params":{"at":"/home/other/x","to":"you","body":"`+long+`","deep":{"a":{"b":{"c":{"hidden":1}}}}}}}`)))
	all := card.Title + "\n" + card.Description + "\n" + strings.Join(card.More, "\n")
	for _, want := range []string{
		"x… (+5", `- A: "end" (600 characters not shown)`, `- to: "me"`, `- to: "you"`, "- body: \"x", "x… (+506 more characters)",
		`- deep: {"a":{"b":{"c":{truncated}}}}`, "Not shown: 12 characters", `- at: "～/x"`, "~ stands for /home/other",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("the card says\n%s\nwithout %q", all, want)
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
