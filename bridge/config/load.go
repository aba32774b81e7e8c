package config

import (
	"cmp"
	"errors"
	"slices"
)

// Options say where the files are. The zero value names none, and Load then
// gives the defaults; Discover gives those of the machine.
type Options struct {
	Managed      string // the machine's file; a missing one is no layer
	User         string // the user's file
	UserRequired bool   // the user named the file, so that a missing one is an error
	Workspace    string // the folder whose WorkspaceFiles are the last layers
	Home         string // what ~ means; empty makes ~ an error
	// Requirements is Codex's own file of what the machine allows. It is read for a
	// preset only, which chooses among what is allowed; Codex holds to it itself. A
	// missing one allows all.
	Requirements string

	// Loaded is for Watch: the configuration that the caller has. A change
	// between Load and Watch is then reported too. With nil, Watch takes the
	// files as it finds them.
	Loaded *Config
}

// WorkspaceFile is the name of a workspace's configuration.
const WorkspaceFile = ".codex-bridge.toml"

// Load reads, checks and merges the configuration. Its error is an *Error, or
// several joined by errors.Join, which print a line each; Errors takes them
// apart.
func Load(opts Options) (*Config, error) { return build(readAll(opts), opts) }

// LoadProxy is Load, except that it skips a workspace file that does not load. Invalid then returns its
// error.
func LoadProxy(opts Options) (*Config, error) {
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

// Invalid returns the error of a workspace file that LoadProxy skipped, nil if it skipped none.
func (c *Config) Invalid() error { return c.invalid }

// Errors returns the faults that an error of Load is made of.
func Errors(err error) []*Error {
	var list []*Error
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			list = append(list, Errors(e)...)
		}
		return list
	}
	var e *Error
	if errors.As(err, &e) {
		list = append(list, e)
	}
	return list
}

func build(sources []source, opts Options) (*Config, error) {
	var layers []*layer
	var all []error
	for _, src := range sources {
		errs := []*Error{}
		if src.err != nil {
			errs = append(errs, src.err)
		} else if d, err := parse(src); err != nil {
			errs = append(errs, err)
		} else {
			l, faults := decode(d, opts.Home)
			layers, errs = append(layers, l), faults
		}
		if len(errs) > 0 {
			all = append(all, join(errs))
		}
	}
	if all != nil {
		return nil, flat(all)
	}
	m := &merger{cfg: Default(), opts: opts}
	m.cfg.origins = make(map[string]Origin)
	m.cfg.digest = digest(sources)
	for _, l := range layers {
		m.apply(l)
		if m.errs != nil {
			return nil, join(m.errs)
		}
	}
	if m.finish(); m.errs != nil {
		return nil, join(m.errs)
	}
	return m.cfg, nil
}

// flat joins the faults of several files without nesting them.
func flat(errs []error) error {
	if len(errs) == 1 {
		return errs[0]
	}
	var list []error
	for _, err := range errs {
		for _, e := range Errors(err) {
			list = append(list, e)
		}
	}
	return errors.Join(list...)
}

// compare orders faults as they stand in a file.
func compare(a, b *Error) int {
	return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Key, b.Key))
}
