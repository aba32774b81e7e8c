package noise

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
)

// Prefix starts every name of this package.
const Prefix = "noise/"

// The frequencies: one in so many lines.
const (
	everyNotification = 12
	everyRequest      = 30
	everyMember       = 5
)

// Source creates noise. Its output is a function of the seed, the name and the calls.
type Source struct {
	random *rand.Rand
	name   string
	n      int
}

// New returns a Source. The name, letters and digits, is a part of the names that it creates.
func New(seed uint64, about, name string) *Source {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(about + "\x00" + name))                              // never fails
	return &Source{random: rand.New(rand.NewPCG(seed, sum.Sum64())), name: name} //nolint:gosec // the noise must be reproducible
}

// Is reports whether a name has the Prefix.
func Is(name string) bool { return strings.HasPrefix(name, Prefix) }

func (s *Source) once(in int) bool { return s.random.IntN(in) == 0 }

func (s *Source) next() string {
	s.n++
	return fmt.Sprintf("%s%s%d", Prefix, s.name, s.n)
}

func (s *Source) value() string { return Values[s.random.IntN(len(Values))] }

// Notification returns a line without its line end, or, mostly, nil.
func (s *Source) Notification() []byte {
	if !s.once(everyNotification) {
		return nil
	}
	name := s.next()
	if s.once(4) {
		return fmt.Appendf(nil, `{"method":%q}`, name)
	}
	return fmt.Appendf(nil, `{"method":%q,"params":{"value":%s}}`, name, s.value())
}

// Request returns a line without its line end, or, mostly, nil. Its id is the name of the method.
func (s *Source) Request() (id string, line []byte) {
	if !s.once(everyRequest) {
		return "", nil
	}
	id = s.next()
	return id, fmt.Appendf(nil, `{"id":%q,"method":%q,"params":{"value":%s}}`, id, id, s.value())
}
