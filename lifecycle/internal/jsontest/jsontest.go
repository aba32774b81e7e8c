// Package jsontest makes JSON values for tests, and writes the same value in many ways.
package jsontest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand"
	"reflect"
	"strconv"

	"pgregory.net/rapid"
)

// Value is any JSON value, depth collections deep at the most. Numbers are whole.
func Value(t *rapid.T, depth int) any {
	kind := rapid.IntRange(0, 5).Draw(t, "kind")
	if depth == 0 {
		kind %= 4
	}
	switch kind {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2:
		return float64(rapid.IntRange(-1_000_000, 1_000_000).Draw(t, "number"))
	case 3:
		return Text(t)
	case 4:
		list := make([]any, rapid.IntRange(0, 3).Draw(t, "length"))
		for i := range list {
			list[i] = Value(t, depth-1)
		}
		return list
	}
	object := make(map[string]any)
	for range rapid.IntRange(0, 4).Draw(t, "members") {
		object[Text(t)] = Value(t, depth-1)
	}
	return object
}

// Text is a short text, with what has to be escaped and what has not.
func Text(t *rapid.T) string { return rapid.StringMatching(`[ab."\\<é🙂]{0,4}`).Draw(t, "text") }

// Equal tells whether two values are the same.
func Equal(a, b any) bool { return reflect.DeepEqual(a, b) }

// Write writes a value with the members in any order, white space anywhere, and numbers
// and texts in any spelling.
func Write(rnd *rand.Rand, v any) []byte {
	var out bytes.Buffer
	write(rnd, &out, v)
	return out.Bytes()
}

func write(rnd *rand.Rand, out *bytes.Buffer, v any) {
	space := func() { out.WriteString([]string{"", "", " ", "\n\t"}[rnd.Intn(4)]) }
	space()
	switch v := v.(type) {
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		rnd.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		out.WriteByte('{')
		for i, name := range names {
			if i > 0 {
				out.WriteByte(',')
			}
			write(rnd, out, name)
			out.WriteByte(':')
			write(rnd, out, v[name])
		}
		out.WriteByte('}')
	case []any:
		out.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				out.WriteByte(',')
			}
			write(rnd, out, e)
		}
		out.WriteByte(']')
	case string:
		out.WriteByte('"')
		for _, r := range v {
			if (r < 0x10000 && rnd.Intn(3) == 0) || r == '"' || r == '\\' {
				fmt.Fprintf(out, `\u%04x`, r)
				continue
			}
			out.WriteRune(r)
		}
		out.WriteByte('"')
	case float64:
		out.WriteString(strconv.FormatFloat(v, []byte("fe")[rnd.Intn(2)], -1, 64))
	default:
		text, err := json.Marshal(v)
		if err != nil {
			panic(err) // null and the booleans have a JSON form
		}
		out.Write(text)
	}
	space()
}
