//go:build !portable && (amd64 || arm64)

package supervise

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxReading is how many programs are read at the same time. Further ones wait in the kernel.
	maxReading = 64
	// maxAlone is the time after which another goroutine receives in place of one that has not yet answered.
	maxAlone = 10 * time.Millisecond
	// maxQuiet is the time without programs after which the receivers are no longer watched.
	maxQuiet = time.Second
	// maxSlice is the time after which a receiver gives its processor back for a moment. The runtime takes the processor
	// from a goroutine that has made only system calls for 10 ms, and then looks at all of them every 20 µs.
	// Measured: that takes twice the time of a receiver that only answers.
	maxSlice = 5 * time.Millisecond
)

// receivers take turns: one of them receives a process, decides and answers. So a program that starts waits for no
// other thread of this process. A decision that takes long, for instance of a person, leaves the turn to another
// receiver.
type receivers struct {
	// turn is odd while the receiver whose turn it is decides. Each change takes it from one owner.
	turn     atomic.Uint64
	watched  atomic.Bool
	wake     chan struct{} // has one element if a program started while nothing was watched
	ended    chan struct{} // is closed with the last process
	working  sync.WaitGroup
	slow     chan struct{} // has an element for each receiver that lost its turn
	deciding decisions
}

// serve answers each process that waits.
func (s *Supervisor) serve() {
	r := &s.receivers
	r.wake, r.ended, r.slow = make(chan struct{}, 1), make(chan struct{}), make(chan struct{}, maxReading+maxWaiting)
	r.working.Go(s.watch)
	s.receiveAll()
	r.working.Wait() // before the descriptor is closed
	s.decided(0)
	s.listener.close()
	s.processes.members.close()
	s.mu.Lock()
	s.on = false
	s.mu.Unlock()
}

// receiveAll answers processes as long as it has the turn.
func (s *Supervisor) receiveAll() {
	r := &s.receivers
	for slice := time.Now(); ; {
		if now := time.Now(); now.Sub(slice) > maxSlice {
			slice = now
			runtime.Gosched()
		}
		n, ok := s.listener.receive()
		if !ok {
			close(r.ended)
			return
		}
		turn := r.turn.Add(1)
		if !r.watched.Load() && r.watched.CompareAndSwap(false, true) {
			r.wake <- struct{}{}
		}
		s.handle(&n, turn)
		if !r.turn.CompareAndSwap(turn, turn+1) {
			<-r.slow
			return
		}
	}
}

// watch gives the turn to another receiver if one takes long.
func (s *Supervisor) watch() {
	r := &s.receivers
	for {
		select {
		case <-r.wake:
		case <-r.ended:
			return
		}
		for watching := true; watching; {
			last := s.watchTurns()
			r.watched.Store(false)
			// A program that has started meanwhile may have found this goroutine watching.
			watching = r.turn.Load() != last && r.watched.CompareAndSwap(false, true)
		}
	}
}

// watchTurns watches until no program has started for some time, and returns the last turn.
func (s *Supervisor) watchTurns() (last uint64) {
	tick := time.NewTicker(maxAlone)
	defer tick.Stop()
	for quiet := 0; quiet < int(maxQuiet/maxAlone); {
		select {
		case <-tick.C:
		case <-s.receivers.ended:
			return s.receivers.turn.Load()
		}
		turn := s.receivers.turn.Load()
		switch {
		case turn != last:
			quiet = 0
		case turn%2 == 0:
			quiet++
		default:
			s.replace(turn)
		}
		last = turn
	}
	return last
}

// replace gives a turn that takes long to another receiver, if there are not too many.
func (s *Supervisor) replace(turn uint64) {
	r := &s.receivers
	select {
	case r.slow <- struct{}{}:
	default:
		return
	}
	if !r.turn.CompareAndSwap(turn, turn+1) { // it has just answered
		<-r.slow
		return
	}
	r.deciding.watch()
	r.working.Go(s.receiveAll)
}
