package rules_test

import (
	"testing"

	"codex-bridge.example/bridge/rules"
)

func TestANSIQuotes(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{`plain`, "plain"},
		{`\ta\nb`, "\ta\nb"},
		{`\e\E\'`, "\x1b\x1b'"},
		{`\101`, "A"},
		{`\1011`, "A1"},
		{`\0601`, "01"},
		{`\7`, "\a"},
		{`\18`, "\x018"},
		{`\377`, "\xff"},
		{`\x41`, "A"},
		{`\x4g`, "\x04g"},
		{`\x4a`, "J"},
		{`\x4A`, "J"},
		{`\x4f`, "O"},
		{`\x4F`, "O"},
		{`\xaF`, "\xaf"},
		{`\xAf`, "\xaf"},
		{`\x90`, "\x90"},
		{`\x4@`, "\x04@"},
		{`\x4` + "`", "\x04`"},
		{`\u0041`, "A"},
		{`\u00411`, "A1"},
		{`\u41`, "A"},
		{`\U00000041`, "A"},
		{`\U000000411`, "A1"},
		{`\U0010FFFF`, "\U0010ffff"},
	} {
		if got, ok := rules.AnsiC(test.text); got != test.want || !ok {
			t.Errorf("%s: got %q, %v, want %q", test.text, got, ok, test.want)
		}
	}
	for _, text := range []string{
		`\`, `a\`, `\q`, `\8`, `\c`, `\xg`, `\u`, `\x00`, `\0`, `\000`, `\u0000`, `\400`,
		`\x414`, // ksh reads more digits
		`\uD800`, `\U00110000`, `\U80000041`, `\UFFFFFFFF`,
	} {
		if got, ok := rules.AnsiC(text); ok {
			t.Errorf("%s: got %q, but shells read it differently", text, got)
		}
	}
	// The text behind an escape that shells read differently is known.
	for text, want := range map[string]string{`a\x414z`: "a\x00z", `\x41424fg\x41`: "\x00gA", `\400b`: "\x00b", `\uD800b`: "\x00b", `\qb`: "\x00b", `a\`: "a\x00"} {
		if got, ok := rules.AnsiC(text); got != want || ok {
			t.Errorf("%s: got %q, %v, want %q", text, got, ok, want)
		}
	}
}
