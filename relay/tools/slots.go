package tools

import (
	"context"
	"sync"
)

// slots bound how many calls of a tool run at once.
type slots struct {
	most int
	mu   sync.Mutex
	of   map[string]chan struct{} // by key
}

// take waits for a place. It is to be given back.
func (s *slots) take(ctx context.Context, key string) (back func(), ok bool) {
	s.mu.Lock()
	places := s.of[key]
	if places == nil {
		places = make(chan struct{}, s.most)
		s.of[key] = places
	}
	s.mu.Unlock()
	select {
	case places <- struct{}{}:
		return func() { <-places }, true
	case <-ctx.Done():
		return nil, false
	}
}
