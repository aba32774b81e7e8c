package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"

	"codex-bridge.example/bridge/setting"
)

// presetKeys are the keys that set approval, sandbox and reviewers where their file does not.
var presetKeys = []string{"policy.preset", "policy.security", "policy.ask"}

// approvalOrder has the approval policies of presets, the loosest first. A preset also allows the
// stricter ones.
var approvalOrder = []string{setting.Never, setting.OnRequest, setting.Untrusted}

// isMode reports whether a preset is a mode, which stands for a security and an ask.
func isMode(preset string) bool {
	return preset != "" && preset != setting.PresetYolo && preset != setting.PresetGuardian
}

// expandPreset adds the values of the layer's own preset, security and ask to the layer, so that they are
// merged with those of other layers like all values. If commands need a question, the layer gets the
// stricter of both values for a key that it sets. ask is that of earlier layers, for
// an allowlist without one.
func (l *layer) expandPreset(file, ask string) (*Error, leaf) {
	i := slices.IndexFunc(l.leaves, func(f leaf) bool { return slices.Contains(presetKeys, f.pattern) })
	if i < 0 {
		return nil, leaf{}
	}
	at := l.leaves[i]
	own := l.exec()
	if own.Security == setting.SecurityAllowlist && own.Ask == "" {
		own.Ask = ask
	}
	if own.Mode != "" && own.Security+own.Ask != "" {
		return newError(fmt.Sprintf("preset %q stands for a security and an ask, and the file sets one of them", own.Mode), "keep one of the two"), at
	}
	requirements, e := readRequirements(file)
	if e != nil {
		return e, at
	}
	in := setting.PresetInput{Preset: l.word("policy.preset"), Exec: setting.ResolveExec([]setting.ExecLayer{own}, setting.ExecLayer{}), Requirements: requirements}
	if isMode(in.Preset) {
		in.Preset = ""
	}
	out, err := setting.ResolvePreset(in)
	if err != nil {
		return newError(err.Error(), `set ask = "on-miss" with security = "allowlist", or a value that the machine allows`), at
	}
	approvals := slices.Clone(approvalOrder[max(0, slices.Index(approvalOrder, out.Approval)):])
	approvals = slices.DeleteFunc(approvals, func(word string) bool { return requirements.Approval(word) == "" })
	reviewers := []string{out.Reviewer}
	if out.Reviewer != setting.User && requirements.Reviewer(setting.User) != "" {
		reviewers = append(reviewers, setting.User)
	}
	forced := in.Exec.Touched && in.Exec.Mode != setting.SecurityFull
	for _, result := range []struct {
		key   string
		value any
	}{{"policy.approval", approvals}, {"policy.sandbox", out.Sandbox}, {"policy.reviewers", reviewers}} {
		value := reflect.ValueOf(result.value)
		own := slices.IndexFunc(l.leaves, func(f leaf) bool { return f.name == result.key })
		switch {
		case own < 0:
			path := keyPath{strings.Split(result.key, "."), result.key, result.key}
			l.leaves = append(l.leaves, leaf{keyPath: path, value: value, origin: at.origin, from: " of " + at.name})
		case forced:
			f := &l.leaves[own]
			both := stricter(f.value, value)
			if !both.IsValid() {
				return newError(fmt.Sprintf("%s is %s, but this needs %s", f.name, show(f.value), show(value)), "change one of them"), at
			}
			if !equal(f.value, both) {
				f.value, f.origin, f.from = both, at.origin, " of "+at.name
			}
		}
	}
	return nil, leaf{}
}

// word returns the value of a layer's key, or "".
func (l *layer) word(name string) string {
	if i := slices.IndexFunc(l.leaves, func(f leaf) bool { return f.name == name }); i >= 0 {
		return l.leaves[i].value.String()
	}
	return ""
}

// exec returns the exec policy of the layer.
func (l *layer) exec() setting.ExecLayer {
	own := setting.ExecLayer{Security: l.word("policy.security"), Ask: l.word("policy.ask")}
	if preset := l.word("policy.preset"); isMode(preset) {
		own.Mode = preset
	}
	if l.unknownSecurity && (own.Ask == "" || own.Ask == setting.AskOff) {
		own.Ask = setting.AskOnMiss
	}
	return own
}

// stricter returns what a value of a file and one of its preset both allow, or the zero Value if that is
// nothing.
func stricter(own, preset reflect.Value) reflect.Value {
	if own.Kind() == reflect.String {
		if slices.Index(sandboxOrder, own.String()) > slices.Index(sandboxOrder, preset.String()) {
			return own
		}
		return preset
	}
	allowed := preset.Interface().([]string)
	both := slices.DeleteFunc(slices.Clone(own.Interface().([]string)), func(s string) bool { return !slices.Contains(allowed, s) })
	if len(both) == 0 {
		return reflect.Value{}
	}
	return reflect.ValueOf(both)
}

// readRequirements returns what the machine allows Codex, or nil without a file.
func readRequirements(file string) (*setting.Requirements, *Error) {
	const hint = "fix the file; Codex also reads it"
	if file == "" {
		return nil, nil
	}
	text, err := readFile(file, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, newError(file+": "+readError(file, err).Message, hint)
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, newError(fmt.Sprintf("can't get this machine's name, which %s may depend on: %v", file, err), "set a host name")
	}
	r, err := setting.ParseRequirements([]byte(text), host)
	if err != nil {
		return nil, newError(file+": "+err.Error(), hint)
	}
	return r, nil
}
