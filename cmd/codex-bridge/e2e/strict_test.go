//go:build linux

package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

// form is a line of testdata/strict/corpus.txt.
type form struct {
	name, codex, bridge, text string
}

// readCorpus reads the forms of messages.
func readCorpus(t *testing.T) []form {
	t.Helper()
	b, err := os.ReadFile("../../../testdata/strict/corpus.txt")
	if err != nil {
		t.Fatal(err)
	}
	columns := regexp.MustCompile(`^(\S+)\s+(runs|answers|drops|dies)\s+(passes|refused|dropped)\s+(\S.*)$`)
	var forms []form
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		m := columns.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("corpus: %s", line)
		}
		text, err := strconv.Unquote(m[4])
		if err != nil {
			t.Fatalf("corpus: %s: %v", line, err)
		}
		forms = append(forms, form{m[1], m[2], m[3], text})
	}
	return forms
}

const (
	harmless       = "thread/loaded/list"
	harmlessParams = `{}`
	denied         = "fs/writeFile"
)

var repeat = regexp.MustCompile(`\$([NK])(\d+)`)

// line returns a message in the form. file is written by the denied method.
func (f form) line(id int, dangerous bool, file string) []byte {
	deniedParams := fmt.Sprintf(`{"path":%q,"dataBase64":""}`, file)
	method, params, escaped, content := harmless, harmlessParams, `thread\/loaded\u002flist`, `"y":1`
	if dangerous {
		method, params, escaped, content = denied, deniedParams, `fs\/write\u0046ile`, fmt.Sprintf(`"path":%q,"dataBase64":""`, file)
	}
	text := repeat.ReplaceAllStringFunc(f.text, func(s string) string {
		n, _ := strconv.Atoi(s[2:]) // digits, by the expression
		if s[1] == 'N' {
			return strings.Repeat("[", n) + strings.Repeat("]", n)
		}
		members := make([]string, n)
		for i := range members {
			members[i] = fmt.Sprintf(`"m%d":%d`, i, i)
		}
		return strings.Join(members, ",")
	})
	return []byte(strings.NewReplacer("$ID", strconv.Itoa(id), "$HP", harmlessParams, "$H", harmless, "$DP", deniedParams, "$D", denied,
		"$M", method, "$P", params, "$E", escaped, "$C", content, "$F", file).Replace(text))
}

// sendLine sends a line and a request after it that has a response. It returns the responses to the
// line until then.
func (c *conversation) sendLine(line []byte) (answers []editor.Message, mark int) {
	c.t.Helper()
	mark = c.Mark()
	if err := c.Send(line); err != nil {
		c.t.Fatal(err)
	}
	const fence = `"fence"`
	if err := c.Send([]byte(`{"id":` + fence + `,"method":"thread/loaded/list","params":{}}`)); err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.Wait(c.ctx, mark, func(m editor.Message) bool { return !m.Sent && m.IsAnswer() && string(m.ID) == fence }); err != nil {
		c.t.Fatalf("after %.200q: %v", line, err)
	}
	for _, m := range c.Messages()[mark:] {
		if !m.Sent && m.IsAnswer() && string(m.ID) != fence {
			answers = append(answers, m)
		}
	}
	return answers, mark
}

// waitReply waits for the response to a line: Codex's responses are not ordered.
func (c *conversation) waitReply(mark int, name string) editor.Message {
	c.t.Helper()
	m, err := c.Wait(c.ctx, mark, func(m editor.Message) bool { return !m.Sent && m.IsAnswer() && string(m.ID) != `"fence"` })
	if err != nil {
		c.t.Fatalf("%s: no response: %v", name, err)
	}
	return m
}

// The effect of each form with Codex alone, as the corpus says.
func TestFormsWithoutBridge(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	c := w.open(codexPath, "app-server")
	c.initialize(nil)
	files := map[string]form{}
	for i, f := range readCorpus(t) {
		file := filepath.Join(w.root, f.name)
		line := f.line(1000+i, true, file)
		if f.codex == "dies" {
			other := w.open(codexPath, "app-server")
			other.initialize(nil)
			if err := other.Send(line); err != nil {
				t.Fatal(err)
			}
			other.drain() // it exits by itself
			continue
		}
		answers, mark := c.sendLine(line)
		switch f.codex {
		case "runs":
			c.waitReply(mark, f.name)
		case "answers":
			if m := c.waitReply(mark, f.name); m.Error == nil {
				t.Errorf("%s: Codex responds %s", f.name, m.Raw)
			}
		default:
			if len(answers) > 0 {
				t.Errorf("%s: Codex responds %s", f.name, answers[0].Raw)
			}
		}
		files[file] = f
	}
	c.closeAndWait()
	for file, f := range files {
		if fileExists(file) != (f.codex == "runs") {
			t.Errorf("%s: Codex wrote the file: %t", f.name, fileExists(file))
		}
	}
}

// Under a policy no form of a denied method reaches Codex, each line has a response, and Codex
// survives. Forwarded lines are valid for Codex.
func TestNoFormPassesDeniedMethod(t *testing.T) {
	t.Parallel()
	o, dir := withTee(t, options{config: policyConfig})
	w := newWorld(t, o)
	c := w.open(proxyArgv...)
	c.initialize(nil)
	passed := 0
	for i, f := range readCorpus(t) {
		for j, dangerous := range []bool{false, true} {
			file := filepath.Join(w.root, "file-"+f.name)
			line := f.line(1000+2*i+j, dangerous, file)
			answers, mark := c.sendLine(line)
			if f.bridge == "dropped" {
				if len(answers) > 0 {
					t.Errorf("%s: %.200q: response %s", f.name, line, answers[0].Raw)
				}
				continue
			}
			m := c.waitReply(mark, f.name)
			switch {
			case f.bridge == "passes" && !dangerous:
				if passed++; m.Error != nil {
					t.Errorf("%s: %.200q: %s", f.name, line, m.Raw)
				}
			case m.Error == nil:
				t.Errorf("%s: %.200q: %s", f.name, line, m.Raw)
			case f.bridge == "passes" && m.Error.Code != -32010:
				t.Errorf("%s: %.200q: not refused because of its method: %s", f.name, line, m.Raw)
			}
			if fileExists(file) {
				t.Errorf("%s: the file was written", f.name)
			}
		}
	}
	c.closeAndWait()
	requests := 0
	for _, line := range recordedLines(t, dir, "in") {
		if id := editor.Member(line, "id"); id != "" && id != "fence" || strings.Contains(string(line), `"id":"",`) {
			requests++
		}
		if strings.Contains(string(line), "file-") {
			t.Errorf("Codex got %s", line)
		}
	}
	if want := 1 + passed; requests != want { // initialize, and the harmless messages of accepted forms
		t.Errorf("Codex got %d requests, want %d", requests, want)
	}
}

// The decision log has each line that the bridge refuses because it breaks the protocol.
func TestProtocolErrorsAreLogged(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: "[policy]\n"})
	c := w.open(proxyArgv...).initializeWithBridge()
	refused := map[string]string{
		`{"id":901,"method":"thread/list","params":[]}`:                                "thread/list",
		`{"id":902,"method":"thread/list","method":"thread/shellCommand","params":{}}`: "message",
		`{"id":null,"method":"thread/shellCommand","params":{}}`:                       "message",
	}
	for line := range refused {
		c.sendLine([]byte(line))
	}
	c.closeAndWait()
	log, _, _ := w.runCommand("decisions", "list", "--json", "--verdict", "deny")
	for line, method := range refused {
		if n := strings.Count(log, `"method":"`+method+`"`); n == 0 || strings.Count(log, `"rule":"protocol"`) < len(refused) {
			t.Errorf("%s is not in the log:\n%s", line, log)
		}
	}
}
