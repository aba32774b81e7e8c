package answer

import (
	"encoding/json"
	"strconv"
	"strings"

	"codex-bridge.example/rpc"
)

// Question is a question of the model to the user.
type Question struct {
	ID, Header, Text string
	Other            bool // other answers than the options are accepted
	Secret           bool
	Options          []Option
}

// Option is an answer to choose from.
type Option struct{ Label, Description string }

// Questions returns the questions of an item/tool/requestUserInput that can be asked: those
// with a unique id, a header and a text. If there are none, the result is Reply(nil, "").
func Questions(params rpc.Value) (out []Question) {
	seen := make(map[string]bool)
	for e := range params.Get("questions").Elements() {
		q := Question{ID: text(e, "id"), Header: text(e, "header"), Text: text(e, "question")}
		if q.ID == "" || q.Header == "" || q.Text == "" || seen[q.ID] {
			continue
		}
		seen[q.ID] = true
		q.Other, _ = e.Get("isOther").Bool()
		q.Secret, _ = e.Get("isSecret").Bool()
		for o := range e.Get("options").Elements() {
			if label := text(o, "label"); label != "" {
				q.Options = append(q.Options, Option{label, text(o, "description")})
			}
		}
		out = append(out, q)
	}
	return out
}

func text(v rpc.Value, key string) string {
	t, _ := v.Get(key).Text()
	return strings.TrimSpace(t)
}

// Prompt returns the lines of a chat message with the questions.
func Prompt(questions []Question) []string {
	if len(questions) == 0 {
		return nil
	}
	lines := []string{"Codex needs input:"}
	for i, q := range questions {
		header := Display(q.Header)
		if len(questions) > 1 {
			header = strconv.Itoa(i+1) + ". " + header
		}
		lines = append(lines, "", header, Display(q.Text))
		if q.Secret {
			lines = append(lines, "What you answer here can be seen by whoever reads this conversation.")
		}
		for n, o := range q.Options {
			line := strconv.Itoa(n+1) + ". " + Display(o.Label)
			if o.Description != "" {
				line += " - " + Display(o.Description)
			}
			lines = append(lines, line)
		}
		if q.Other && len(q.Options) > 0 {
			lines = append(lines, "Other: answer in your own words.")
		}
	}
	return lines
}

// Reply returns the result for a person's message. An answer that is not an option, where
// only options are accepted, is omitted. Reply(nil, "") has no answers.
func Reply(questions []Question, message string) json.RawMessage {
	type answers struct {
		Answers []string `json:"answers"`
	}
	all := make(map[string]answers, len(questions))
	for i, words := range split(questions, message) {
		a := answers{Answers: []string{}}
		if word, ok := questions[i].choose(words); ok {
			a.Answers = append(a.Answers, word)
		}
		all[questions[i].ID] = a
	}
	return marshal(map[string]any{"answers": all})
}

// split returns the part of the message that answers each question: by key, or else by
// line.
func split(questions []Question, message string) []string {
	words := make([]string, len(questions))
	if len(questions) == 1 {
		words[0] = strings.TrimSpace(message)
		return words
	}
	var free []string // by line; empty for a line with a key
	for line := range strings.Lines(message) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if i, rest, ok := parseKeyed(questions, line); ok {
			words[i], line = rest, ""
		}
		free = append(free, line)
	}
	for i := range words {
		if words[i] == "" && i < len(free) {
			words[i] = free[i]
		}
	}
	return words
}

// parseKeyed parses "key: words" or "key = words". An ambiguous key is ignored.
func parseKeyed(questions []Question, line string) (which int, words string, ok bool) {
	for at, r := range line {
		if r != ':' && r != '=' {
			continue
		}
		key := strings.TrimSpace(line[:at])
		if i, found := findQuestion(questions, key); found {
			return i, strings.TrimSpace(line[at+1:]), true
		}
	}
	return 0, "", false
}

func findQuestion(questions []Question, key string) (which int, ok bool) {
	for _, of := range [...]func(int, Question) string{
		func(_ int, q Question) string { return q.ID },
		func(_ int, q Question) string { return q.Header },
		func(_ int, q Question) string { return q.Text },
		func(i int, _ Question) string { return strconv.Itoa(i + 1) },
	} {
		which, n := 0, 0
		for i, q := range questions {
			if strings.EqualFold(of(i, q), key) {
				which, n = i, n+1
			}
		}
		if n > 0 {
			return which, n == 1
		}
	}
	return 0, false
}

// choose returns the answer in Codex's spelling.
func (q Question) choose(words string) (string, bool) {
	if words == "" {
		return "", false
	}
	for _, o := range q.Options {
		if strings.EqualFold(o.Label, words) || strings.EqualFold(Display(o.Label), words) {
			return o.Label, true
		}
	}
	if n, err := strconv.Atoi(words); err == nil && n >= 1 && n <= len(q.Options) {
		return q.Options[n-1].Label, true
	}
	return words, q.Other || len(q.Options) == 0
}
