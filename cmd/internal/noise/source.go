package noise

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
)

// Prefix begins every name that is made here.
const Prefix = "noise/"

// How seldom something is made: once in so many lines.
const (
	everyNotification = 12
	everyRequest      = 30
	everyMember       = 5
)

// Source makes noise. What it makes is a function of the seed, its name and the calls.
type Source struct {
	random *rand.Rand
	name   string
	n      int
}

// New makes a Source. The name is a part of the names that it makes, letters and digits.
func New(seed uint64, about, name string) *Source {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(about + "\x00" + name))                              // never fails
	return &Source{random: rand.New(rand.NewPCG(seed, sum.Sum64())), name: name} //nolint:gosec // it is to be the same again
}

// Is tells whether a name was made here.
func Is(name string) bool { return strings.HasPrefix(name, Prefix) }

func (s *Source) once(in int) bool { return s.random.IntN(in) == 0 }

func (s *Source) next() string {
	s.n++
	return fmt.Sprintf("%s%s%d", Prefix, s.name, s.n)
}

func (s *Source) value() string { return Values[s.random.IntN(len(Values))] }

// Notification is a line, without its end, or nil most of the time.
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

// Request is a line, without its end, or nil most of the time. Its id is the method's name.
func (s *Source) Request() (id string, line []byte) {
	if !s.once(everyRequest) {
		return "", nil
	}
	id = s.next()
	return id, fmt.Appendf(nil, `{"id":%q,"method":%q,"params":{"value":%s}}`, id, id, s.value())
}
