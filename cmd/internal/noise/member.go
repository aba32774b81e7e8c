package noise

import (
	"bytes"
	"fmt"
	"slices"
)

// Values are the Values of unknown members, as encoders spell them. A trace omits texts of a
// stream; what is left of these Values is in the list too.
var Values = []string{`null`, `true`, `-7`, `0.5`, `""`, `"text"`, `"a \"quoted\" ü"`, `[]`, `{}`, `[1,2.5,null]`, `{"a":{"b":[{"id":1,"method":"x"}]}}`}

// data are the keys of what is somebody's own: a member more would be one of theirs.
var data = map[string]bool{
	"arguments": true, "inputSchema": true, "requestedSchema": true, "structuredContent": true, "_meta": true, "config": true,
	"granular": true, // the policy compares it whole: another member is another value
	"layers":   true, "origins": true, "env": true, "answers": true, "payload": true, "input": true, "output": true, "rawOutput": true,
	"dynamicTools": true, "tools": true, "outputSchema": true, "mcp_servers": true, "content": true,
}

// Members is the line of a message with a member more in one of its objects, most of the
// time as it was. With top only the message itself gets one.
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

// objects are the places where the objects of a line begin, after the brace, but for data.
// The line is a JSON object.
func objects(line []byte) []int {
	var places []int
	var within []bool // what is open, and whether it is data
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
