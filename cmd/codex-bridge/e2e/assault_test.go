//go:build linux

package e2e_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"codex-bridge.example/cmd/internal/editor"
)

// attack is a request of a client that acts besides the policy of threads. In its texts, $THREAD is
// an untrusted, read-only thread that has run a turn, $TURN its last turn, $CWD its folder, $ROOT
// the folder above, $HOME Codex's home. $WORD is a unique word of the attack. $OUT is a unique
// folder outside the workspace with the files victim and keys/key-$WORD, to which the link
// $CWD/link-$WORD leads. $PORT is a listener.
type attack struct {
	codexConfig string           // the user's configuration of Codex; empty: the one of all other attacks
	own         bool             // its effect would reach other attacks: with Codex alone it has its own world
	prepare     func(*attackRun) // creates files before
	first       []request        // requests before it, as a part of the attack
	ready       string           // a file that exists when first has had its effect
	method      string           // as written between the quotes
	params      string           // JSON; empty: none
	then        []request        // requests after it, to show the effect
	turn        bool             // a turn on the thread follows
	effect      effect           // with Codex alone
	inert       bool             // no effect with Codex alone either
	passes      bool             // under a policy it reaches Codex without effect
	rewritten   bool             // or reaches it reduced
	open        bool             // a policy does not stop it
	offForm     bool             // or its form is refused
}

// request is a request of a client.
type request struct{ method, params string }

// effect reports whether an attack has had its effect yet.
type effect func(*attackRun) bool

// attackRun is a running attack.
type attackRun struct {
	*conversation
	attack
	name   string
	from   int // the index of its first message in the conversation
	out    string
	word   string
	fill   *strings.Replacer
	line   *listener
	wayOut *listener // the world's proxy to other machines
	codex  []byte    // config.toml before
	answer []byte    // response to the attack
}

// The content of files that an attack must not read or change.
const victim = "a secret of the user's\n"

// newAttackRun prepares an attack.
func (c *conversation) newAttackRun(name string, a attack, thread, turn string, wayOut *listener) *attackRun {
	c.t.Helper()
	line := listen(c.t)
	word := "word-" + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, name) + "-x" // no word is the start of another
	out := filepath.Join(c.root, "out", word)
	c.write(filepath.Join("out", word, "victim"), victim)
	s := &attackRun{
		conversation: c, attack: a, name: name, from: c.Mark(), out: out, word: word, line: line, wayOut: wayOut,
		fill: strings.NewReplacer("$THREAD", thread, "$TURN", turn, "$CWD", c.workspace, "$ROOT", c.root, "$HOME", c.home,
			"$OUT", out, "$WORD", word, "$PORT", line.port),
	}
	c.write(filepath.Join("out", word, "keys", "key-"+word), s.secretText())
	if err := os.Symlink(out, filepath.Join(c.workspace, "link-"+word)); err != nil {
		c.t.Fatal(err)
	}
	if a.prepare != nil {
		a.prepare(s)
	}
	s.codex = s.config()
	return s
}

// sendAttack sends one request and returns its response.
func (s *attackRun) sendAttack(id string, r request) editor.Message {
	s.t.Helper()
	mark := s.Mark()
	if err := s.Send([]byte(fmt.Sprintf(`{"id":%q,%s}`, id, s.members(r)))); err != nil {
		s.t.Fatal(err)
	}
	m, err := s.Wait(s.ctx, mark, func(m editor.Message) bool {
		return !m.Sent && m.IsAnswer() && string(m.ID) == fmt.Sprintf("%q", id)
	})
	if err != nil {
		s.t.Fatalf("%s: no response to %s: %v", s.name, r.method, err)
	}
	return m
}

// members returns the members that a request shares with a notification.
func (s *attackRun) members(r request) string {
	if r.params == "" {
		return `"method":"` + r.method + `"`
	}
	return `"method":"` + r.method + `","params":` + s.fill.Replace(r.params)
}

// exchange is a request and its response.
type exchange struct {
	request
	editor.Message
}

// runAttack sends the first requests and then the attack, which is the last of the returned
// exchanges.
func (s *attackRun) runAttack(waiting bool) []exchange {
	s.t.Helper()
	var answers []exchange
	for i, r := range s.first {
		if r.method == "command/exec" {
			// The response comes at the end of the command.
			if err := s.Send([]byte(fmt.Sprintf(`{"id":"%s/first %d",%s}`, s.name, i, s.members(r)))); err != nil {
				s.t.Fatal(err)
			}
			continue
		}
		answers = append(answers, exchange{r, s.sendAttack(fmt.Sprintf("%s/first %d", s.name, i), r)})
	}
	if waiting && s.ready != "" {
		s.waitEffect("it is not ready", func(s *attackRun) bool { return fileExists(s.fill.Replace(s.ready)) })
	}
	r := request{s.method, s.params}
	answer := s.sendAttack(s.name, r)
	s.answer = answer.Raw
	return append(answers, exchange{r, answer})
}

// runFollowUps sends the requests that show the effect, and continues after refusals.
func (s *attackRun) runFollowUps(thread string) {
	s.t.Helper()
	for i, r := range s.then {
		s.sendAttack(fmt.Sprintf("%s/then %d", s.name, i), r)
	}
	if s.turn {
		s.runTurn(thread, "good day to "+s.name)
	}
}

// waitEffect waits for an effect: Codex does much asynchronously.
func (s *attackRun) waitEffect(what string, happened effect) {
	s.t.Helper()
	for !happened(s) {
		select {
		case <-s.ctx.Done():
			s.t.Fatalf("%s: %s; response: %.500s", s.name, what, s.answer)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// receivedText returns Codex's output since the start of the attack.
func (s *attackRun) receivedText() string {
	var b strings.Builder
	for _, m := range s.Messages()[s.from:] {
		if !m.Sent {
			b.Write(m.Raw)
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func (s *attackRun) config() []byte {
	s.t.Helper()
	b, err := os.ReadFile(filepath.Join(s.home, "config.toml"))
	if err != nil {
		s.t.Fatal(err)
	}
	return b
}

func fileExists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, os.ErrNotExist)
}
