package guard

import "crypto/sha256"

// settingsUpdates are the latest reports of a thread's settings. Codex sends each to all clients of the
// thread, in one order. One that comes from a slower client must not replace later settings.
type settingsUpdates struct {
	next  uint64                         // number of the next report
	sums  *[maxUpdates][sha256.Size]byte // nil before the first report
	count int                            // entries of sums, which end before next
	got   map[*Guard]uint64              // number of the next report that a client gets
}

func (u *settingsUpdates) isEmpty() bool { return u.next == 0 && len(u.got) == 0 }

// maxUpdates is by how many reports a client may be slower than another one.
const maxUpdates = 32

// isNew reports whether no other client got this report before. A report that differs from the one with its
// number is new.
func (u *settingsUpdates) isNew(client *Guard, settings []byte) bool {
	number, known := u.got[client]
	sum := sha256.Sum256(settings)
	if known && number < u.next && number >= u.next-uint64(u.count) && u.sums[number%maxUpdates] == sum {
		u.got[client] = number + 1
		return false
	}
	if u.sums == nil {
		u.sums = new([maxUpdates][sha256.Size]byte)
	}
	u.sums[u.next%maxUpdates] = sum
	u.next++
	u.count = min(u.count+1, maxUpdates)
	u.gotAll(client)
	return true
}

// gotAll records that a client gets only later reports: it has got all, or has just opened the thread.
func (u *settingsUpdates) gotAll(client *Guard) {
	if u.got == nil {
		u.got = make(map[*Guard]uint64)
	}
	u.got[client] = u.next
}

// clientLeft: the connection of a client has ended.
type clientLeft struct{ client *Guard }

func (e clientLeft) change(r *threadRecord) {
	delete(r.updates.got, e.client)
	delete(r.shownApprovals, e.client)
	delete(r.turns, e.client)
}
