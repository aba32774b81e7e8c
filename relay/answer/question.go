package answer

import (
	"encoding/json"
	"strconv"
	"strings"

	"codex-bridge/rpc"
)

// Question is one that the model asks the user.
type Question struct {
	ID, Header, Text string
	Other            bool // an answer of one's own is taken beside the options
	Secret           bool
	Options          []Option
}

// Option is an answer to choose.
type Option struct{ Label, Description string }

// Questions are those of an item/tool/requestUserInput that can be asked: with an id
// of their own, a header and a text. Where there are none, the answer is
// Reply(nil, ""), at once.
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

// Prompt are the lines by which a chat asks the questions.
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

// Reply is the result that answers the questions with what a person wrote. An answer
// that was not to choose is none. Without questions, or when the turn is over,
// Reply(nil, "") answers nothing.
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

// split finds for each question the words that answer it: by key, else by line.
func split(questions []Question, message string) []string {
	words := make([]string, len(questions))
	if len(questions) == 1 {
		words[0] = strings.TrimSpace(message)
		return words
	}
	var free []string // by line; empty for a line that names its question
	for line := range strings.Lines(message) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if i, rest, ok := keyed(questions, line); ok {
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

// keyed reads "key: words" or "key = words". A key that could mean two questions
// means none.
func keyed(questions []Question, line string) (which int, words string, ok bool) {
	for at, r := range line {
		if r != ':' && r != '=' {
			continue
		}
		key := strings.TrimSpace(line[:at])
		if i, found := named(questions, key); found {
			return i, strings.TrimSpace(line[at+1:]), true
		}
	}
	return 0, "", false
}

func named(questions []Question, key string) (which int, ok bool) {
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

// choose is the answer that words mean, as codex knows it.
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
