package userrules

import (
	"errors"
	"fmt"
	"slices"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// maxSteps is the maximum number of steps of a file; each rule takes some ten.
const maxSteps = 1_000_000

// dialect has the extensions of Starlark that Codex accepts, if they exist here.
var dialect = &syntax.FileOptions{Set: true, TopLevelControl: true, GlobalReassign: true}

// load runs a file and returns its rules.
func load(file string, text []byte) (found []Rule, err error) {
	thread := &starlark.Thread{Name: file, Print: func(*starlark.Thread, string) {}}
	thread.SetMaxExecutionSteps(maxSteps)
	make := func(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, named []starlark.Tuple) (starlark.Value, error) {
		var pattern, match, unmatched starlark.Value
		r := Rule{Decision: Allow, File: file, Line: int(t.CallFrame(1).Pos.Line)}
		justification := ""
		if err := starlark.UnpackArgs(b.Name(), args, named, "pattern", &pattern, "decision?", &r.Decision,
			"match?", &match, "not_match?", &unmatched, "justification?", &justification); err != nil {
			return nil, err
		}
		if r.Decision != Allow && r.Decision != Prompt && r.Decision != Forbidden {
			return nil, fmt.Errorf("%s: the decision %q is not allow, prompt or forbidden", b.Name(), r.Decision)
		}
		var err error
		if r.Pattern, err = parsePattern(pattern); err != nil {
			return nil, fmt.Errorf("%s: %w", b.Name(), err)
		}
		found = append(found, r)
		return starlark.None, nil
	}
	nothing := func(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
		return starlark.None, nil
	}
	_, err = starlark.ExecFileOptions(dialect, thread, file, text, starlark.StringDict{
		"prefix_rule": starlark.NewBuiltin("prefix_rule", make),
		// Paths of programs are ignored: programs match by name in any folder.
		"host_executable": starlark.NewBuiltin("host_executable", nothing),
		"network_rule":    starlark.NewBuiltin("network_rule", nothing),
	})
	var at *starlark.EvalError
	if errors.As(err, &at) {
		// Frames of builtins have no position in the file.
		for _, frame := range slices.Backward(at.CallStack) {
			if frame.Pos.Filename() == file {
				err = fmt.Errorf("%s: %w", frame.Pos, err)
				break
			}
		}
	}
	return found, err
}

// parsePattern parses a pattern: words, and lists of alternative words.
func parsePattern(pattern starlark.Value) ([][]string, error) {
	list, ok := pattern.(starlark.Iterable)
	if !ok {
		return nil, fmt.Errorf("the pattern is a %s, and no list", pattern.Type())
	}
	var all [][]string
	for v := range starlark.Elements(list) {
		if word, ok := starlark.AsString(v); ok {
			all = append(all, []string{word})
			continue
		}
		inner, ok := v.(starlark.Iterable)
		if !ok {
			return nil, fmt.Errorf("the pattern has a %s", v.Type())
		}
		var words []string
		for v := range starlark.Elements(inner) {
			word, ok := starlark.AsString(v)
			if !ok {
				return nil, fmt.Errorf("the alternatives have a %s", v.Type())
			}
			words = append(words, word)
		}
		if len(words) == 0 {
			return nil, errors.New("there are no alternatives")
		}
		all = append(all, words)
	}
	if len(all) == 0 {
		return nil, errors.New("the pattern is empty")
	}
	return all, nil
}
