package toml

import (
	"encoding"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// Values reads a document and returns its values as Node.Plain does.
func Values(text string) (map[string]any, error) {
	root, err := Parse(TrimBOM(text))
	if err != nil {
		return nil, err
	}
	return root.Plain().(map[string]any), nil
}

// Decode reads a document into a struct. A field takes the key of its tag "toml", in exactly these letters, as
// in Codex: both Go libraries match keys in any case. Unknown keys are ignored.
func Decode(text string, into any) error {
	root, err := Parse(TrimBOM(text))
	if err != nil {
		return err
	}
	return decode(root, reflect.ValueOf(into).Elem(), "")
}

// decode sets v to the value of a node.
func decode(n *Node, v reflect.Value, key string) error {
	if text, isText := n.Scalar.(string); isText {
		if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
			return u.UnmarshalText([]byte(text))
		}
	}
	switch kind := v.Kind(); {
	case kind == reflect.Interface:
		v.Set(reflect.ValueOf(n.Plain()))
		return nil
	case kind == reflect.Struct && n.Table != nil:
		return decodeStruct(n, v, key)
	case kind == reflect.Map && n.Table != nil:
		if v.IsNil() {
			v.Set(reflect.MakeMap(v.Type()))
		}
		for name, member := range n.Table {
			value := reflect.New(v.Type().Elem()).Elem()
			if err := decode(member, value, join(key, name)); err != nil {
				return err
			}
			v.SetMapIndex(reflect.ValueOf(name), value)
		}
		return nil
	case kind == reflect.Slice && n.List != nil:
		v.Set(reflect.MakeSlice(v.Type(), len(n.List), len(n.List)))
		for i, element := range n.List {
			if err := decode(element, v.Index(i), fmt.Sprintf("%s[%d]", key, i)); err != nil {
				return err
			}
		}
		return nil
	case n.Scalar != nil:
		if scalar := reflect.ValueOf(n.Scalar); scalar.Kind() == kind || scalar.CanInt() && v.CanInt() && !v.OverflowInt(scalar.Int()) {
			v.Set(scalar.Convert(v.Type()))
			return nil
		}
	}
	return fmt.Errorf("%s: not a %s", key, v.Kind())
}

// decodeStruct sets the fields of v that a table has.
func decodeStruct(n *Node, v reflect.Value, key string) error {
	for f, field := range v.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
		member := n.Table[name]
		if name == "" || member == nil {
			continue
		}
		if err := decode(member, field, join(key, name)); err != nil {
			return err
		}
	}
	return nil
}

func join(key, name string) string { return strings.TrimPrefix(key+"."+name, ".") }

// Encode writes a struct as a document. Fields have their keys in the tag "toml".
func Encode(w io.Writer, v any) error {
	e := toml.NewEncoder(w)
	e.SetIndentTables(false)
	return e.Encode(v)
}
