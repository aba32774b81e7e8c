package tools

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"sync"
	"unicode/utf8"
)

const (
	maxTools       = 1024
	maxDescription = 32 << 10 // bytes
	maxCatalogue   = 4 << 20  // bytes of all descriptions and schemas
)

// Catalogue checks the tools of its providers. It may be used by many goroutines at once.
type Catalogue struct {
	mu         sync.Mutex
	providers  []Provider
	generation int // incremented by Set
	last       *Snapshot
}

// NewCatalogue returns a catalogue. Of two tools with the same name, the earlier provider's
// is used.
func NewCatalogue(providers ...Provider) *Catalogue {
	c := &Catalogue{}
	c.Set(providers...)
	return c
}

// Set replaces the providers for later calls.
func (c *Catalogue) Set(providers ...Provider) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.providers, c.last = slices.Clone(providers), nil
	c.generation++
}

// OmittedTool is a tool that the catalogue does not offer.
type OmittedTool struct {
	Tool   string `json:"tool"`
	Origin string `json:"origin"`
	Reason string `json:"reason"`
}

// String returns a sentence for people.
func (l OmittedTool) String() string {
	return fmt.Sprintf("the tool %q of %s is left out: %s", l.Tool, l.Origin, l.Reason)
}

// tool is an offered tool.
type tool struct {
	spec     Spec
	schema   *schema
	provider Provider
}

// Snapshot is the content of a catalogue at one time. It is immutable.
type Snapshot struct {
	Tools   []Spec        // sorted by namespace and name
	Omitted []OmittedTool // in the providers' order

	tools []*tool // in the order of Tools
	byKey map[string]*tool
}

// Refresh gets the providers' tools and checks new and changed ones.
func (c *Catalogue) Refresh() *Snapshot {
	c.mu.Lock()
	providers, last, round := c.providers, c.last, c.generation
	c.mu.Unlock()

	offered := make([][]Spec, len(providers))
	faults := make([]string, len(providers))
	var wg sync.WaitGroup // a provider may be slow
	for i, p := range providers {
		wg.Go(func() {
			defer func() {
				if fault := recover(); fault != nil {
					faults[i] = fmt.Sprintf("its tools could not be listed: %v", fault)
				}
			}()
			offered[i] = p.Specs()
		})
	}
	wg.Wait()
	o := &Snapshot{byKey: map[string]*tool{}}
	size := 0
	for i, specs := range offered {
		if faults[i] != "" {
			o.Omitted = append(o.Omitted, OmittedTool{"*", fmt.Sprintf("provider %d", i+1), faults[i]})
		}
		for _, s := range specs {
			t, reason := newTool(s, last)
			if reason == "" {
				reason = o.conflict(s)
			}
			if n := size + len(s.Description) + len(s.InputSchema); reason == "" && (n > maxCatalogue || len(o.tools) == maxTools) {
				reason = fmt.Sprintf("there are too many tools; the limits are %d tools and %d bytes of descriptions and schemas", maxTools, maxCatalogue)
			}
			if reason != "" {
				o.Omitted = append(o.Omitted, OmittedTool{displayName(s.Namespace, s.Name), s.Origin, reason})
				continue
			}
			t.provider = providers[i]
			size += len(s.Description) + len(s.InputSchema)
			o.byKey[codeModeName(s.Namespace, s.Name)] = t
			o.tools = append(o.tools, t)
		}
	}
	slices.SortStableFunc(o.tools, func(a, b *tool) int {
		return cmp.Or(cmp.Compare(a.spec.Namespace, b.spec.Namespace), cmp.Compare(a.spec.Name, b.spec.Name))
	})
	for _, t := range o.tools {
		o.Tools = append(o.Tools, t.spec)
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	if c.generation == round {
		c.last = o
	}
	return o
}

// newTool checks a tool and returns it, or the reason why it can't be used. An unchanged
// tool of the last snapshot is not checked again.
func newTool(s Spec, last *Snapshot) (*tool, string) {
	if last != nil {
		if t := last.byKey[codeModeName(s.Namespace, s.Name)]; t != nil && t.spec.equal(s) {
			return &tool{spec: s, schema: t.schema}, ""
		}
	}
	if reason := checkName(s.Namespace, s.Name); reason != "" {
		return nil, reason
	}
	switch {
	case s.Searchable && s.Namespace == "":
		return nil, "it is searchable but has no namespace, which Codex requires"
	case len(bytes.TrimSpace([]byte(s.Description))) == 0:
		return nil, "it has no description; the model would not know what it is for"
	case len(s.Description) > maxDescription:
		return nil, fmt.Sprintf("its description has more than %d bytes", maxDescription)
	case !utf8.ValidString(s.Description):
		return nil, "its description is not valid UTF-8"
	}
	schema, err := newSchema(s.InputSchema)
	if err != nil {
		return nil, err.Error()
	}
	return &tool{spec: s, schema: schema}, ""
}

func (s Spec) equal(other Spec) bool {
	return s.Namespace == other.Namespace && s.Name == other.Name && s.Description == other.Description &&
		s.Searchable == other.Searchable && s.Origin == other.Origin && bytes.Equal(s.InputSchema, other.InputSchema)
}

// conflict returns a reason if the name of s is taken, else "".
func (o *Snapshot) conflict(s Spec) string {
	t := o.byKey[codeModeName(s.Namespace, s.Name)]
	if t == nil {
		return ""
	}
	if t.spec.Namespace == s.Namespace && t.spec.Name == s.Name {
		return fmt.Sprintf("%s has a tool of that name already", t.spec.Origin)
	}
	return fmt.Sprintf("in code mode it has the same name as %q of %s", displayName(t.spec.Namespace, t.spec.Name), t.spec.Origin)
}

// Last returns the result of the last Refresh, or an empty Snapshot.
func (c *Catalogue) Last() *Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil {
		return &Snapshot{}
	}
	return c.last
}

// find returns the tool of a call, or nil. It uses the last snapshot, and refreshes it if
// the tool is not in it.
func (c *Catalogue) find(namespace, name string) *tool {
	c.mu.Lock()
	last := c.last
	c.mu.Unlock()
	if t := last.find(namespace, name); t != nil {
		return t
	}
	return c.Refresh().find(namespace, name)
}

// Has reports whether the snapshot has a tool.
func (o *Snapshot) Has(namespace, name string) bool { return o.find(namespace, name) != nil }

// Reserves reports whether the client can't use a tool name, because the catalogue has that
// tool or its namespace.
func (o *Snapshot) Reserves(namespace, name string) bool {
	if o.Has(namespace, name) {
		return true
	}
	for _, s := range o.Tools {
		if namespace != "" && s.Namespace == namespace {
			return true
		}
	}
	return false
}

func (o *Snapshot) find(namespace, name string) *tool {
	if o == nil {
		return nil
	}
	t := o.byKey[codeModeName(namespace, name)]
	if t == nil || t.spec.Namespace != namespace || t.spec.Name != name {
		return nil
	}
	return t
}
