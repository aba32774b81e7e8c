package grants

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"codex-bridge/rpc"
)

var errNodes = fmt.Errorf("it has more than %d values", maxNodes)

// writer writes JSON with the members of objects in the order of their names. It is
// stricter than RFC 8785, which has a number go through a float64: 9007199254740993
// and 9007199254740992 would be one. Here a number stays as it is written, and the
// same number in another form is another one.
type writer struct {
	out   []byte
	nodes int
}

func (w *writer) value(v rpc.Value, depth int) error {
	if w.nodes++; w.nodes > maxNodes {
		return errNodes
	}
	if depth > maxDepth {
		return fmt.Errorf("it is deeper than %d", maxDepth)
	}
	switch v.Kind() {
	case rpc.Object:
		members := maps.Collect(v.Members())
		w.out = append(w.out, '{')
		for i, name := range slices.Sorted(maps.Keys(members)) {
			w.comma(i)
			w.text(name)
			w.out = append(w.out, ':')
			if err := w.value(members[name], depth+1); err != nil {
				return err
			}
		}
		w.out = append(w.out, '}')
	case rpc.Array:
		w.out = append(w.out, '[')
		i := 0
		for element := range v.Elements() {
			w.comma(i)
			i++
			if err := w.value(element, depth+1); err != nil {
				return err
			}
		}
		w.out = append(w.out, ']')
	case rpc.String:
		text, _ := v.Text()
		w.text(text)
	case rpc.Number, rpc.Bool, rpc.Null:
		w.out = append(w.out, v.Raw()...)
	default:
		return errors.New("it is empty")
	}
	return nil
}

func (w *writer) comma(i int) {
	if i > 0 {
		w.out = append(w.out, ',')
	}
}

// text writes a string with its length before it: no escapes, nothing to mistake.
func (w *writer) text(text string) {
	w.out = strconv.AppendInt(w.out, int64(len(text)), 10)
	w.out = append(w.out, '"')
	w.out = append(w.out, text...)
	w.out = append(w.out, '"')
}
