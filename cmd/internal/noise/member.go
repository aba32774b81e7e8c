package noise

import (
	"bytes"
	"fmt"
	"slices"
)

// Values are the values of unknown members, as encoders write them. A trace omits texts of a
// stream; the shortened forms are in the list too.
var Values = []string{`null`, `true`, `-7`, `0.5`, `""`, `"text"`, `"a \"quoted\" ü"`, `[]`, `{}`, `[1,2.5,null]`, `{"a":{"b":[{"id":1,"method":"x"}]}}`}

// data has the keys of objects whose members belong to a user or a tool.
var data = map[string]bool{
	"arguments": true, "inputSchema": true, "requestedSchema": true, "structuredContent": true, "_meta": true, "config": true,
	"granular": true, // the policy compares the whole object
	"layers":   true, "origins": true, "env": true, "answers": true, "payload": true, "input": true, "output": true, "rawOutput": true,
	"dynamicTools": true, "tools": true, "outputSchema": true, "mcp_servers": true, "content": true,
}

// Members returns the line, mostly unchanged, sometimes with one more member in one of its objects.
// With top it changes only the message's own object.
func (s *Source) Members(line []byte, top bool) []byte {
	if !s.once(everyMember) || len(line) == 0 || line[0] != '{' {
		return line
	}
	places := objects(line)
	if top {
		places = places[:1]
	}
	at := places[s.random.IntN(len(places))]
	member := fmt.Sprintf("%q:%s", s.next(), s.value())
	if rest := bytes.TrimLeft(line[at:], " \t"); rest[0] != '}' {
		member += ","
	}
	return slices.Concat(line[:at], []byte(member), line[at:])
}

// objects returns the offsets after the opening brace of each object in a JSON object, except data.
func objects(line []byte) []int {
	var places []int
	var within []bool // for each open value, whether it is data
	key := ""
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '"':
			end := i + 1
			for ; end < len(line) && line[end] != '"'; end++ {
				if line[end] == '\\' {
					end++
				}
			}
			key = string(line[i+1 : min(end, len(line))])
			i = end
		case '{', '[':
			own := data[key] || len(within) > 0 && within[len(within)-1]
			within = append(within, own)
			if line[i] == '{' && !own {
				places = append(places, i+1)
			}
			key = ""
		case '}', ']':
			within = within[:max(0, len(within)-1)]
			key = ""
		case ',':
			key = ""
		}
	}
	return places
}
