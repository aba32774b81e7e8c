package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"

	"codex-bridge/bridge/setting"
)

// profile are the keys that stand for values of approval, sandbox and reviewers.
var profile = []string{"policy.preset", "policy.security", "policy.ask"}

// strict are the approval policies that a word can be followed by, and the words that ask
// more than it.
var strict = []string{setting.Never, setting.OnRequest, setting.Untrusted}

// execLayer returns the exec policy of one layer.
func execLayer(l *layer) (own setting.ExecLayer) {
	for _, f := range l.leaves {
		switch f.pattern {
		case "policy.preset":
			if word := f.value.String(); isShort(word) {
				own.Mode = word
			}
		case "policy.security":
			own.Security = f.value.String()
		case "policy.ask":
			own.Ask = f.value.String()
		}
	}
	return own
}

// isShort reports whether a preset is short for a security and an ask.
func isShort(word string) bool {
	return word != "" && word != setting.PresetYolo && word != setting.PresetGuardian
}

// profiled gives a layer with a preset, a security or an ask the values that they stand
// for. Where an earlier layer binds, or commands have to be asked about, what is said
// holds as far as both allow it.
func (m *merger) profiled(l *layer, off bool) {
	i := slices.IndexFunc(l.leaves, func(f leaf) bool { return slices.Contains(profile, f.pattern) })
	if i < 0 {
		return
	}
	at := l.leaves[i]
	own := execLayer(l)
	if own.Mode != "" && own.Security+own.Ask != "" {
		m.fail(at, problem{fmt.Sprintf("preset %q is short for a security and an ask, and there is one of those, too", own.Mode), "keep one of the two"})
		return
	}
	in := setting.PresetInput{Preset: m.cfg.Policy.Preset}
	if isShort(in.Preset) {
		in.Preset = ""
	}
	// A later layer may only tighten: the earlier ones are its floor.
	floor := setting.ExecLayer{}
	if m.exec.Touched {
		floor = setting.ExecLayer{Security: m.exec.Security, Ask: m.exec.Ask}
	}
	m.layers = append(m.layers, own)
	m.exec = setting.ResolveExec(m.layers, floor)
	in.Exec = m.exec
	var err error
	if in.Requirements, err = m.requirements(); err != nil {
		m.fail(at, problem{err.Error(), "fix that file; Codex reads it, too"})
		return
	}
	out, err := setting.ResolvePreset(in)
	if err != nil {
		m.fail(at, problem{err.Error(), `say ask = "on-miss" with security = "allowlist", or what the machine allows`})
		return
	}
	r := in.Requirements
	approvals := strict[max(0, slices.Index(strict, out.Approval)):]
	approvals = slices.DeleteFunc(slices.Clone(approvals), func(word string) bool { return r.Approval(word) == "" })
	reviewers := []string{out.Reviewer}
	if out.Reviewer != setting.User && r.Reviewer(setting.User) != "" {
		reviewers = append(reviewers, setting.User)
	}
	forced := in.Exec.Touched && in.Exec.Mode != setting.SecurityFull
	m.stands(at, "policy.approval", reflect.ValueOf(approvals), forced, off)
	m.stands(at, "policy.sandbox", reflect.ValueOf(out.Sandbox), forced, off)
	m.stands(at, "policy.reviewers", reflect.ValueOf(reviewers), forced, off)
}

// stands sets a key to what a profile stands for.
func (m *merger) stands(at leaf, key string, value reflect.Value, forced, off bool) {
	f := leaf{keyPath: keyPath{strings.Split(key, "."), key, key}, value: value, origin: at.origin}
	root := reflect.ValueOf(m.cfg).Elem()
	bound := m.earlier(f, off)
	if _, said := m.cfg.origins[key]; said {
		if !forced && !m.stood[key] {
			return
		}
		bound = get(root, f.parts)
	}
	if bound.IsValid() {
		if value = meet(key, bound, value); !value.IsValid() {
			m.fail(at, problem{fmt.Sprintf("%s is %s, and this stands for %s", key, show(bound), show(f.value)), "change one of them"})
			return
		}
		if reflect.DeepEqual(bound.Interface(), value.Interface()) {
			return
		}
	}
	put(root, f.parts, value)
	m.cfg.origins[key] = at.origin
	if m.stood == nil {
		m.stood = make(map[string]bool)
	}
	m.stood[key] = true
}

// meet is the most that both values of a key allow; the zero Value when that is nothing. Of a list the
// stricter values of a stay, and its order: see strictFirst.
func meet(key string, a, b reflect.Value) reflect.Value {
	if a.Kind() == reflect.String {
		scale := []string{"danger-full-access", "workspace-write", "read-only"}
		if slices.Index(scale, a.String()) > slices.Index(scale, b.String()) {
			return a
		}
		return b
	}
	both := slices.DeleteFunc(slices.Clone(texts(b)), func(s string) bool { return !slices.Contains(texts(a), s) })
	if len(both) == 0 {
		return reflect.Value{}
	}
	kept, _ := tighten[key].merge(a, reflect.ValueOf(both))
	return kept
}

// requirements are what the machine allows Codex, nil when it says nothing.
func (m *merger) requirements() (*setting.Requirements, error) {
	if m.opts.Requirements == "" {
		return nil, nil
	}
	text, err := readFile(m.opts.Requirements, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s can't be read: %s", m.opts.Requirements, reason(err))
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("this machine's name, which %s may ask for, can't be found out: %w", m.opts.Requirements, err)
	}
	r, err := setting.ParseRequirements([]byte(text), host)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.opts.Requirements, err)
	}
	return r, nil
}
