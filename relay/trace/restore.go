package trace

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"codex-bridge.example/rpc"

	"github.com/go-json-experiment/json/jsontext"
)

// textStream identifies a text that was sent as deltas.
type textStream struct{ item, method, index string }

// restore sets the texts of deltas. A trace has only their lengths, and the text in the completed
// item. If that is redacted, the last delta has a different length.
func restore(steps []replayStep) error {
	deltas := make(map[textStream][]*replayStep)
	for i := range steps {
		s := &steps[i]
		switch {
		case s.Chars > 0 && !s.fromClient:
			key := textStream{textMember(s.Params, "itemId"), s.Method, indexMember(s.Params)}
			deltas[key] = append(deltas[key], s)
		case s.Method == "item/completed":
			item, _ := s.Params["item"].(map[string]any)
			for key, all := range deltas {
				if key.item == textMember(item, "id") {
					if err := fillDeltas(all, wholeText(item, key)); err != nil {
						return err
					}
					delete(deltas, key)
				}
			}
		}
	}
	return nil
}

func textMember(v map[string]any, name string) string {
	s, _ := v[name].(string)
	return s
}

func indexMember(params map[string]any) string {
	for _, name := range []string{"summaryIndex", "contentIndex"} {
		if n, ok := params[name].(float64); ok {
			return strconv.Itoa(int(n))
		}
	}
	return ""
}

// wholeText returns the complete text of a stream.
func wholeText(item map[string]any, key textStream) string {
	n, _ := strconv.Atoi(key.index)
	element := func(name string) string {
		list, _ := item[name].([]any)
		if n < len(list) {
			s, _ := list[n].(string)
			return s
		}
		return ""
	}
	switch {
	case strings.HasPrefix(key.method, "item/agentMessage/"), strings.HasPrefix(key.method, "item/plan/"):
		return textMember(item, "text")
	case strings.HasPrefix(key.method, "item/commandExecution/"):
		return textMember(item, "aggregatedOutput")
	case strings.HasPrefix(key.method, "item/reasoning/summary"):
		return element("summary")
	case strings.HasPrefix(key.method, "item/reasoning/"):
		return element("content")
	}
	return ""
}

// fillDeltas splits a text into the deltas.
func fillDeltas(deltas []*replayStep, all string) error {
	for i, s := range deltas {
		n := 0
		for k := 0; k < s.Chars && n < len(all); k++ {
			_, size := utf8.DecodeRuneInString(all[n:])
			n += size
		}
		if i == len(deltas)-1 {
			n = len(all)
		}
		part := all[:n]
		all = all[n:]
		e, err := rpc.ParseEnvelope(s.Message)
		if err != nil {
			return fmt.Errorf("event %d cannot be replayed: %w", s.SourceSeq, err)
		}
		raw, err := jsontext.AppendQuote(nil, part)
		if err != nil {
			return err
		}
		if delta := e.Root().Get("params").Get("delta"); delta.Exists() {
			patch := rpc.NewEnvelopePatch(e)
			patch.Replace(delta, raw)
			s.Message = patch.Bytes()
		}
	}
	return nil
}
