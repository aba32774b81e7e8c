package config

import (
	"cmp"
	"errors"
	"slices"
	"strings"
)

// Options name the files. The zero value names none; Load then returns the defaults. Discover returns
// the files of the machine.
type Options struct {
	Managed      string // the machine's file; may be missing
	Candidate    string // a file that counts as one more of the machine, after Managed, so it only tightens; "": none
	User         string // the user's file; may be missing
	UserRequired bool   // a missing User is an error
	UserError    *Error // why User can't be looked for; nil if it can. Load returns it
	Workspace    string // a folder; its WorkspaceFiles are the last layers
	Draft        *Draft // a text that counts as a file; nil: none
	Home         string // the home folder for ~; without it ~ is an error
	// Requirements is Codex's own file of what the machine allows. Only a preset uses it: the bridge
	// then chooses values that Codex accepts. A missing file allows everything.
	Requirements string

	// Bundle returns the bundle of a policy source. Without it [policy_source] has no effect.
	Bundle func(PolicySource) Bundle
	// Recheck makes Watch read the files and the bundle again. It may be nil.
	Recheck <-chan struct{}

	// Check checks a configuration that is otherwise valid; nil for none. Its error is one of the last file
	// that Load has merged.
	Check func(*Config) error

	// Loaded is the caller's configuration. With it, Watch also reports a change between Load and
	// Watch.
	Loaded *Config
}

// Draft is the text of a file that need not exist. Load reads it in place of the user's file, or, if IsWorkspace,
// after the files of the workspace.
type Draft struct {
	File, Text  string
	IsWorkspace bool
}

// Load reads, checks and merges the configuration. Its error is an *Error, or several that print a
// line each, or one of Check.
func Load(opts Options) (*Config, error) { return build(readAll(opts), opts) }

// LoadLenient is Load, except that it skips workspace files that do not load. WorkspaceError then
// returns their errors.
func LoadLenient(opts Options) (*Config, error) { return lenient(readAll(opts), opts, nil) }

// lenient builds the configuration of the files that are valid. A file that is not counts with its content
// in last, the configuration before, so that it loosens nothing and holds up no other file. Without one, a
// workspace file is skipped, and an error of another file is returned.
func lenient(sources []source, opts Options, last *Config) (*Config, error) {
	cfg, err := build(sources, opts)
	if err == nil {
		return cfg, nil
	}
	var loaded []source
	var failures []error
	skipped := false
	for _, s := range sources {
		_, failed := build(append(slices.Clip(loaded), s), opts)
		if failed == nil {
			loaded = append(loaded, s)
			continue
		}
		failures = append(failures, failed)
		if kept, ok := last.source(s); ok {
			if _, failed := build(append(slices.Clip(loaded), kept), opts); failed == nil {
				loaded = append(loaded, kept)
				continue
			}
		}
		if s.layer != Workspace {
			if strings.Contains(err.Error(), failed.Error()) {
				return nil, err
			}
			return nil, errors.Join(failed, err) // err is only of a workspace file
		}
		skipped = true
	}
	if cfg, err = build(loaded, opts); err != nil {
		return nil, err
	}
	cfg.invalid, cfg.skipped = errors.Join(failures...), skipped
	cfg.read = digest(sources) // Watch reports the file when it changes
	return cfg, nil
}

// source returns the content of a file in the configuration.
func (c *Config) source(of source) (source, bool) {
	if c == nil {
		return source{}, false
	}
	i := slices.IndexFunc(c.sources, func(s source) bool { return s.layer == of.layer && s.file == of.file })
	if i < 0 {
		return source{}, false
	}
	return c.sources[i], true
}

// WorkspaceError returns the errors of the files that are not valid: workspace files that LoadLenient
// skipped, and for Watch files of which the last valid content counts. It is nil if there are none.
func (c *Config) WorkspaceError() error { return c.invalid }

// Skipped reports whether a workspace file does not count at all, since it is not valid.
func (c *Config) Skipped() bool { return c.skipped }

func build(sources []source, opts Options) (*Config, error) {
	var layers []*layer
	var errs []*Error
	ignore := false // Compat.IgnoreUnknown: the managed file is the first
	for _, src := range sources {
		if src.err != nil {
			errs = append(errs, src.err)
			continue
		}
		for _, src := range src.withBundle() {
			l, invalid := decode(src, opts.Home, ignore)
			if l != nil {
				ignore = l.ignoresUnknown
			}
			layers = append(layers, l)
			errs = append(errs, sorted(invalid)...)
		}
	}
	if errs != nil {
		return nil, join(errs)
	}
	m := &merger{cfg: Default(), opts: opts}
	m.cfg.Policy.Missing = missingBundle(sources)
	m.trusted = m.cfg.Policy.Missing != ""
	m.cfg.origins = make(map[string]Origin)
	m.cfg.sources, m.cfg.read = sources, digest(sources)
	m.warnAboutEmpty(sources)
	m.protected = len(m.cfg.Policy.ProtectedPaths)
	ask := ""
	for _, l := range layers {
		l.implyMode()
		if e, at := l.expandPreset(opts.Requirements, ask); e != nil {
			m.fail(at, e)
		}
		ask = cmp.Or(l.word("policy.ask"), ask)
		switch {
		case !l.hasPolicy():
		case l.layer == Workspace:
			m.alone = append(m.alone, l)
		default:
			m.trusted = true
		}
	}
	for _, l := range layers {
		if m.errs == nil {
			m.apply(l)
		}
	}
	if m.errs == nil {
		m.finish()
	}
	if m.errs != nil {
		return nil, join(sorted(m.errs))
	}
	if opts.Check != nil {
		if err := opts.Check(m.cfg); err != nil {
			return nil, err
		}
	}
	return m.cfg, nil
}
