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

// Catalogue is what the providers offer. It may be used by many goroutines at once.
type Catalogue struct {
	mu        sync.Mutex
	providers []Provider
	round     int // of Set
	last      *Offer
}

// NewCatalogue makes a catalogue. Of two tools with the same name that of the earlier
// provider is taken.
func NewCatalogue(providers ...Provider) *Catalogue {
	c := &Catalogue{}
	c.Set(providers...)
	return c
}

// Set puts other providers in force, for the calls that come.
func (c *Catalogue) Set(providers ...Provider) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.providers, c.last = slices.Clone(providers), nil
	c.round++
}

// Left is a tool that is left out of the catalogue.
type Left struct {
	Tool   string `json:"tool"`
	Origin string `json:"origin"`
	Reason string `json:"reason"`
}

// String says it to people.
func (l Left) String() string {
	return fmt.Sprintf("the tool %q of %s is left out: %s", l.Tool, l.Origin, l.Reason)
}

// tool is one that is offered.
type tool struct {
	spec     Spec
	schema   *schema
	provider Provider
}

// Offer is the catalogue at one time. It does not change.
type Offer struct {
	Tools []Spec // sorted by namespace and name
	Left  []Left // in the order in which they were offered

	tools []*tool // of Tools, in that order
	byKey map[string]*tool
}

// Look asks the providers what they have, and checks what is new.
func (c *Catalogue) Look() *Offer {
	c.mu.Lock()
	providers, last, round := c.providers, c.last, c.round
	c.mu.Unlock()

	offered := make([][]Spec, len(providers))
	faults := make([]string, len(providers))
	var asked sync.WaitGroup // one may take its time
	for i, p := range providers {
		asked.Go(func() {
			defer func() {
				if fault := recover(); fault != nil {
					faults[i] = fmt.Sprintf("what it offers could not be found out: %v", fault)
				}
			}()
			offered[i] = p.Specs()
		})
	}
	asked.Wait()
	o := &Offer{byKey: map[string]*tool{}}
	size := 0
	for i, specs := range offered {
		if faults[i] != "" {
			o.Left = append(o.Left, Left{"*", fmt.Sprintf("provider %d", i+1), faults[i]})
		}
		for _, s := range specs {
			t, reason := take(s, last)
			if reason == "" {
				reason = o.conflict(s)
			}
			if n := size + len(s.Description) + len(s.InputSchema); reason == "" && (n > maxCatalogue || len(o.tools) == maxTools) {
				reason = fmt.Sprintf("there are too many tools; %d are offered at most, and %d bytes of their descriptions and schemas", maxTools, maxCatalogue)
			}
			if reason != "" {
				o.Left = append(o.Left, Left{called(s.Namespace, s.Name), s.Origin, reason})
				continue
			}
			t.provider = providers[i]
			size += len(s.Description) + len(s.InputSchema)
			o.byKey[key(s.Namespace, s.Name)] = t
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
	if c.round == round {
		c.last = o
	}
	return o
}

// take checks a tool by itself; one that was checked before is not checked again.
func take(s Spec, last *Offer) (*tool, string) {
	if last != nil {
		if t := last.byKey[key(s.Namespace, s.Name)]; t != nil && t.spec.equal(s) {
			return &tool{spec: s, schema: t.schema}, ""
		}
	}
	if reason := checkName(s.Namespace, s.Name); reason != "" {
		return nil, reason
	}
	switch {
	case s.Searchable && s.Namespace == "":
		return nil, "it is found by search only, and has no namespace, without which Codex does not take it"
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

// conflict tells which tool has the name of s already; "" none.
func (o *Offer) conflict(s Spec) string {
	t := o.byKey[key(s.Namespace, s.Name)]
	if t == nil {
		return ""
	}
	if t.spec.Namespace == s.Namespace && t.spec.Name == s.Name {
		return fmt.Sprintf("%s has a tool of that name already", t.spec.Origin)
	}
	return fmt.Sprintf("in code mode it has the same name as %q of %s", called(t.spec.Namespace, t.spec.Name), t.spec.Origin)
}

// Last is what the last Look has found; without one, an Offer of nothing.
func (c *Catalogue) Last() *Offer {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil {
		return &Offer{}
	}
	return c.last
}

// find finds the tool of a call. The last look tells which one it is: what it has been
// since, its provider knows.
func (c *Catalogue) find(namespace, name string) *tool {
	c.mu.Lock()
	last := c.last
	c.mu.Unlock()
	if t := last.find(namespace, name); t != nil {
		return t
	}
	return c.Look().find(namespace, name)
}

// Has tells whether a tool is the host's.
func (c *Catalogue) Has(namespace, name string) bool { return c.find(namespace, name) != nil }

// Has tells whether a tool is offered.
func (o *Offer) Has(namespace, name string) bool { return o.find(namespace, name) != nil }

// Reserves tells whether a tool of that name can't be one of the client's: the host has it,
// or its namespace.
func (o *Offer) Reserves(namespace, name string) bool {
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

func (o *Offer) find(namespace, name string) *tool {
	if o == nil {
		return nil
	}
	t := o.byKey[key(namespace, name)]
	if t == nil || t.spec.Namespace != namespace || t.spec.Name != name {
		return nil
	}
	return t
}
