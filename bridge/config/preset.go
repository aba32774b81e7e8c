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

// presetKeys are the keys that set approval, sandbox and reviewers where no file does.
var presetKeys = []string{"policy.preset", "policy.security", "policy.ask"}

// approvalOrder has the approval policies of presets, the loosest first. A preset also allows the
// stricter ones.
var approvalOrder = []string{setting.Never, setting.OnRequest, setting.Untrusted}

// isMode reports whether a preset is a mode, which stands for a security and an ask.
func isMode(preset string) bool {
	return preset != "" && preset != setting.PresetYolo && preset != setting.PresetGuardian
}

// applyPreset sets the values of a layer's preset, security and ask. If a value must not be
// loosened, or commands need a question, the result is the stricter of both values.
func (m *merger) applyPreset(l *layer, off bool) {
	i := slices.IndexFunc(l.leaves, func(f leaf) bool { return slices.Contains(presetKeys, f.pattern) })
	if i < 0 {
		return
	}
	at := l.leaves[i]
	own := execLayer(l)
	if own.Mode != "" && own.Security+own.Ask != "" {
		m.fail(at, newError(fmt.Sprintf("preset %q stands for a security and an ask, and the file sets one of them", own.Mode), "keep one of the two"))
		return
	}
	// A later layer can only tighten the result of the earlier ones.
	var floor setting.ExecLayer
	if m.exec.Touched {
		floor = setting.ExecLayer{Security: m.exec.Security, Ask: m.exec.Ask}
	}
	m.execLayers = append(m.execLayers, own)
	m.exec = setting.ResolveExec(m.execLayers, floor)
	requirements, e := m.requirements()
	if e != nil {
		m.fail(at, e)
		return
	}
	in := setting.PresetInput{Preset: m.cfg.Policy.Preset, Exec: m.exec, Requirements: requirements}
	if isMode(in.Preset) {
		in.Preset = ""
	}
	out, err := setting.ResolvePreset(in)
	if err != nil {
		m.fail(at, newError(err.Error(), `set ask = "on-miss" with security = "allowlist", or a value that the machine allows`))
		return
	}
	approvals := slices.Clone(approvalOrder[max(0, slices.Index(approvalOrder, out.Approval)):])
	approvals = slices.DeleteFunc(approvals, func(word string) bool { return requirements.Approval(word) == "" })
	reviewers := []string{out.Reviewer}
	if out.Reviewer != setting.User && requirements.Reviewer(setting.User) != "" {
		reviewers = append(reviewers, setting.User)
	}
	forced := m.exec.Touched && m.exec.Mode != setting.SecurityFull
	for _, result := range []struct {
		key   string
		value any
	}{{"policy.approval", approvals}, {"policy.sandbox", out.Sandbox}, {"policy.reviewers", reviewers}} {
		path := keyPath{strings.Split(result.key, "."), result.key, result.key}
		f := leaf{keyPath: path, value: reflect.ValueOf(result.value), origin: at.origin}
		if e := m.setFromPreset(f, forced, off); e != nil {
			m.fail(at, e)
		}
	}
}

// execLayer returns the exec policy of one layer.
func execLayer(l *layer) (own setting.ExecLayer) {
	for _, f := range l.leaves {
		switch f.pattern {
		case "policy.preset":
			if preset := f.value.String(); isMode(preset) {
				own.Mode = preset
			}
		case "policy.security":
			own.Security = f.value.String()
		case "policy.ask":
			own.Ask = f.value.String()
		}
	}
	return own
}

// setFromPreset sets a key to the value of a preset. A value of a file stays, unless forced is true.
func (m *merger) setFromPreset(f leaf, forced, off bool) *Error {
	bound := m.bound(f, off)
	if m.isSet(f.name) && !forced && !m.fromPreset[f.name] {
		return nil
	}
	value := f.value
	if bound.IsValid() {
		if value = stricter(f.name, bound, value); !value.IsValid() {
			return newError(fmt.Sprintf("%s is %s, but this needs %s", f.name, show(bound), show(f.value)), "change one of them")
		}
		if equal(bound, value) {
			return nil
		}
	}
	put(m.root(), f.parts, value)
	m.cfg.origins[f.name] = f.origin
	if m.fromPreset == nil {
		m.fromPreset = make(map[string]bool)
	}
	m.fromPreset[f.name] = true
	return nil
}

// stricter returns what both values of a key allow, or the zero Value if that is nothing. A list
// keeps the order and the stricter values of bound; see strictFirst.
func stricter(key string, bound, value reflect.Value) reflect.Value {
	if bound.Kind() == reflect.String {
		if slices.Index(sandboxOrder, bound.String()) > slices.Index(sandboxOrder, value.String()) {
			return bound
		}
		return value
	}
	earlier := bound.Interface().([]string)
	both := slices.Clone(value.Interface().([]string))
	both = slices.DeleteFunc(both, func(s string) bool { return !slices.Contains(earlier, s) })
	if len(both) == 0 {
		return reflect.Value{}
	}
	kept, _ := tighten[key].merge(bound, reflect.ValueOf(both))
	return kept
}

// requirements returns what the machine allows Codex, or nil without a file.
func (m *merger) requirements() (*setting.Requirements, *Error) {
	const hint = "fix the file; Codex also reads it"
	file := m.opts.Requirements
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
