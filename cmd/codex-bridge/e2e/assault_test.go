//go:build linux

package e2e_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"codex-bridge/cmd/internal/editor"
)

// attack is something that a client sends and that acts beside the policy of
// threads: in the texts there are $THREAD, a thread that is untrusted and
// read-only and has run a turn, and its last $TURN; $CWD, its folder, $ROOT, the
// folder around it, $HOME, codex's home; $WORD, a word of the attack's own; $OUT, a
// folder of its own outside the workspace with the files victim and keys/key-$WORD,
// to which the link $CWD/link-$WORD leads; $PORT, a listener.
type attack struct {
	codexConfig string         // the user's own configuration of codex; empty: that of all the others
	own         bool           // what it does would reach other attacks: codex alone has a world of its own for it
	prepare     func(*assault) // what is there before
	first       []said         // what is sent before, as a part of the attack
	ready       string         // a file that there is when first has had its effect
	method      string         // as it stands between the quotes
	params      string         // JSON; empty: none
	then        []said         // what is sent after, so that the effect shows
	turn        bool           // a turn on the thread follows
	effect      effect         // of codex alone
	inert       bool           // which codex alone does not have either
	passes      bool           // under a policy codex is told of it, to no effect
	rewritten   bool           // or is told something smaller
	open        bool           // a policy does not close it
	offForm     bool           // or it is refused for its form
}

// said is a request of a client.
type said struct{ method, params string }

// effect is what comes of an attack, as far as it can be seen by now.
type effect func(*assault) bool

// assault is an attack under way.
type assault struct {
	*conversation
	attack
	name   string
	from   int // the place in the conversation where it began
	out    string
	word   string
	fill   *strings.Replacer
	line   *listener
	wayOut *listener // what the world takes for its way out
	codex  []byte    // config.toml before
	answer []byte    // to the attack itself
}

// A victim is what files hold that should be neither read nor changed.
const victim = "a secret of the user's\n"

// assault prepares an attack.
func (c *conversation) assault(name string, a attack, thread, turn string, wayOut *listener) *assault {
	c.t.Helper()
	line := listen(c.t)
	word := "word-" + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, name) + "-x" // no word begins another
	out := filepath.Join(c.root, "out", word)
	c.write(filepath.Join("out", word, "victim"), victim)
	s := &assault{
		conversation: c, attack: a, name: name, from: c.Mark(), out: out, word: word, line: line, wayOut: wayOut,
		fill: strings.NewReplacer("$THREAD", thread, "$TURN", turn, "$CWD", c.workspace, "$ROOT", c.root, "$HOME", c.home,
			"$OUT", out, "$WORD", word, "$PORT", line.port),
	}
	c.write(filepath.Join("out", word, "keys", "key-"+word), s.secret())
	if err := os.Symlink(out, filepath.Join(c.workspace, "link-"+word)); err != nil {
		c.t.Fatal(err)
	}
	if a.prepare != nil {
		a.prepare(s)
	}
	s.codex = s.config()
	return s
}

// send sends one request and returns its answer.
func (s *assault) send(id string, r said) editor.Message {
	s.t.Helper()
	mark := s.Mark()
	if err := s.Send([]byte(fmt.Sprintf(`{"id":%q,%s}`, id, s.members(r)))); err != nil {
		s.t.Fatal(err)
	}
	m, err := s.Wait(s.ctx, mark, func(m editor.Message) bool {
		return !m.Sent && m.IsAnswer() && string(m.ID) == fmt.Sprintf("%q", id)
	})
	if err != nil {
		s.t.Fatalf("%s: no answer to %s: %v", s.name, r.method, err)
	}
	return m
}

// members are those of a request that a notification has, too.
func (s *assault) members(r said) string {
	if r.params == "" {
		return `"method":"` + r.method + `"`
	}
	return `"method":"` + r.method + `","params":` + s.fill.Replace(r.params)
}

// exchange is a request and its answer.
type exchange struct {
	said
	editor.Message
}

// strike sends what comes first and the attack itself, which is the last of what
// it returns.
func (s *assault) strike(waiting bool) []exchange {
	s.t.Helper()
	var answers []exchange
	for i, r := range s.first {
		if r.method == "command/exec" {
			// It is answered at the command's end.
			if err := s.Send([]byte(fmt.Sprintf(`{"id":"%s/first %d",%s}`, s.name, i, s.members(r)))); err != nil {
				s.t.Fatal(err)
			}
			continue
		}
		answers = append(answers, exchange{r, s.send(fmt.Sprintf("%s/first %d", s.name, i), r)})
	}
	if waiting && s.ready != "" {
		s.until("it is not ready", func(s *assault) bool { return fileExists(s.fill.Replace(s.ready)) })
	}
	r := said{s.method, s.params}
	answer := s.send(s.name, r)
	s.answer = answer.Raw
	return append(answers, exchange{r, answer})
}

// follow sends what lets the effect show, and carries on where it is refused.
func (s *assault) follow(thread string) {
	s.t.Helper()
	for i, r := range s.then {
		s.send(fmt.Sprintf("%s/then %d", s.name, i), r)
	}
	if s.turn {
		s.say(thread, "good day to "+s.name)
	}
}

// until waits for an effect: much of what codex does is done in its own time.
func (s *assault) until(what string, happened effect) {
	s.t.Helper()
	for !happened(s) {
		select {
		case <-s.ctx.Done():
			s.t.Fatalf("%s: %s; the answer: %.500s", s.name, what, s.answer)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// heard is what codex has said since the attack began.
func (s *assault) heard() string {
	var b strings.Builder
	for _, m := range s.Messages()[s.from:] {
		if !m.Sent {
			b.Write(m.Raw)
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func (s *assault) config() []byte {
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
