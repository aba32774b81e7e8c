package config

import "slices"

// Options name the files. The zero value names none; Load then returns the defaults. Discover returns
// the files of the machine.
type Options struct {
	Managed      string // the machine's file; may be missing
	User         string // the user's file; may be missing
	UserRequired bool   // a missing User is an error
	Workspace    string // a folder; its WorkspaceFiles are the last layers
	Home         string // the home folder for ~; without it ~ is an error
	// Requirements is Codex's own file of what the machine allows. Only a preset uses it: the bridge
	// then chooses values that Codex accepts. A missing file allows everything.
	Requirements string

	// Loaded is the caller's configuration. With it, Watch also reports a change between Load and
	// Watch.
	Loaded *Config
}

// Load reads, checks and merges the configuration. Its error is an *Error, or several that print a
// line each. Errors returns them.
func Load(opts Options) (*Config, error) { return build(readAll(opts), opts) }

// LoadLenient is Load, except that it skips a workspace file that does not load. WorkspaceError then
// returns its error.
func LoadLenient(opts Options) (*Config, error) {
	sources := readAll(opts)
	cfg, err := build(sources, opts)
	if err == nil {
		return cfg, nil
	}
	loaded := slices.DeleteFunc(slices.Clone(sources), func(s source) bool { return s.layer == Workspace })
	cfg, failed := build(loaded, opts)
	if failed != nil {
		return nil, err
	}
	for _, s := range sources {
		if s.layer != Workspace {
			continue
		}
		if more, failed := build(append(loaded, s), opts); failed == nil {
			cfg, loaded = more, append(loaded, s)
		}
	}
	cfg.invalid, cfg.digest = err, digest(sources) // Watch reports the file when it changes
	return cfg, nil
}

// WorkspaceError returns the error of a workspace file that LoadLenient skipped, nil if it skipped
// none.
func (c *Config) WorkspaceError() error { return c.invalid }

func build(sources []source, opts Options) (*Config, error) {
	var layers []*layer
	var errs []*Error
	ignore := false // Compat.IgnoreUnknown: the managed file is the first
	for _, src := range sources {
		if src.err != nil {
			errs = append(errs, src.err)
			continue
		}
		l, invalid := decode(src, opts.Home, ignore)
		if l != nil {
			ignore = l.ignoresUnknown
		}
		layers = append(layers, l)
		errs = append(errs, sorted(invalid)...)
	}
	if errs != nil {
		return nil, join(errs)
	}
	m := &merger{cfg: Default(), opts: opts}
	m.cfg.origins = make(map[string]Origin)
	m.cfg.digest = digest(sources)
	for _, l := range layers {
		m.apply(l)
		if m.errs != nil {
			return nil, join(sorted(m.errs))
		}
	}
	m.finish()
	if m.errs != nil {
		return nil, join(sorted(m.errs))
	}
	return m.cfg, nil
}
