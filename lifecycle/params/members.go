package params

import (
	"errors"
	"fmt"

	"codex-bridge.example/rpc"
)

// Members reads the members of an object by name.
type Members map[string]func(rpc.Value) error

// Read reads an object. A member that is not in m is an error.
func (m Members) Read(v rpc.Value) error {
	if v.Kind() != rpc.Object {
		return fmt.Errorf("it is %s, not an object", v.Kind())
	}
	for name, member := range v.Members() {
		err := errors.New("it is not known; leave it out")
		if read, known := m[name]; known {
			err = read(member)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// Into returns a function that reads a value into to.
func Into[T any](to *T, read func(rpc.Value) (T, error)) func(rpc.Value) error {
	return func(v rpc.Value) (err error) {
		*to, err = read(v)
		return err
	}
}

// Optional returns a function for Into that reads null as nil.
func Optional[T any](read func(rpc.Value) (T, error)) func(rpc.Value) (*T, error) {
	return func(v rpc.Value) (*T, error) {
		if v.Kind() == rpc.Null {
			return nil, nil
		}
		one, err := read(v)
		return &one, err
	}
}

// Text reads a string, for Into.
func Text(v rpc.Value) (string, error) {
	text, ok := v.Text()
	if !ok {
		return "", fmt.Errorf("it is %s, not a string", v.Kind())
	}
	return text, nil
}

// Bool reads a boolean, for Into.
func Bool(v rpc.Value) (bool, error) {
	b, ok := v.Bool()
	if !ok {
		return false, fmt.Errorf("it is %s, not a boolean", v.Kind())
	}
	return b, nil
}

// List returns a function for Into that reads a list.
func List[T any](read func(rpc.Value) (T, error)) func(rpc.Value) ([]T, error) {
	return func(v rpc.Value) (list []T, err error) {
		if v.Kind() != rpc.Array {
			return nil, fmt.Errorf("it is %s, not a list", v.Kind())
		}
		for e := range v.Elements() {
			one, err := read(e)
			if err != nil {
				return nil, fmt.Errorf("element %d: %w", len(list), err)
			}
			list = append(list, one)
		}
		return list, nil
	}
}
