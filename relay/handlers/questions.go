package handlers

import (
	"sync"
	"time"
)

const (
	maxQuestions   = 12 // to a client about permissions, for each thread and window
	questionWindow = time.Minute
	maxAskers      = 512 // threads that are counted
)

// questions keeps a model from wearing a person down: beyond the limit the client
// is not asked by way of a hook, and Codex's own approval takes its course.
type questions struct {
	mu    sync.Mutex
	asked map[string][]time.Time // by session, oldest first, none older than the window
}

func newQuestions() *questions { return &questions{asked: make(map[string][]time.Time)} }

func (q *questions) take(session string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	for id, times := range q.asked {
		for len(times) > 0 && now.Sub(times[0]) >= questionWindow {
			times = times[1:]
		}
		if q.asked[id] = times; len(times) == 0 {
			delete(q.asked, id)
		}
	}
	if len(q.asked[session]) >= maxQuestions || len(q.asked[session]) == 0 && len(q.asked) >= maxAskers {
		return false
	}
	q.asked[session] = append(q.asked[session], now)
	return true
}
