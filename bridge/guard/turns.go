package guard

// clientTurns are the turns of a thread by the notifications that one client gets. A thread runs one turn
// at a time.
//
// Measured with Codex 0.169 and 0.171: on one connection, turn/started comes before the questions of its
// turn, also for the turns of agents, reviews and the queue. A client that opens a thread during a turn gets
// no turn/started for it, but rollout.RunningTurn has the turn.
type clientTurns struct {
	running string // the turn's id; "" if none runs
	last    string // the id of the turn that has begun last, also if it has ended
}

// turnBegun: a client learns that a turn of the thread runs.
type turnBegun struct {
	addsRecord
	client *Guard
	turn   string
}

func (e turnBegun) change(r *threadRecord) {
	if r.turns == nil {
		r.turns = make(map[*Guard]clientTurns)
	}
	r.turns[e.client] = clientTurns{e.turn, e.turn}
}

// turnEnded: a client learns that no turn of the thread runs.
type turnEnded struct {
	client *Guard
	last   string // set by change: the turn that has begun last; "" if there is none
}

func (e *turnEnded) change(r *threadRecord) {
	if one, known := r.turns[e.client]; known {
		e.last = one.last
		r.turns[e.client] = clientTurns{last: one.last}
	}
}

// forgetTurn records that no turn runs in a thread, and returns the one that has begun last; "" if there is
// none.
func (g *Guard) forgetTurn(thread string) (last string) {
	e := turnEnded{client: g}
	g.threads.apply(thread, &e)
	return e.last
}

// runsTurn reports whether a turn runs in a thread; for "", whether any does.
func (g *Guard) runsTurn(thread, turn string) bool {
	g.threads.mu.Lock()
	defer g.threads.mu.Unlock()
	record := g.threads.records[thread]
	if record == nil {
		return false
	}
	running := record.turns[g].running
	return running != "" && (turn == "" || turn == running)
}
