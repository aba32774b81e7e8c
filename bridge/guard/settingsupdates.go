package guard

import "crypto/sha256"

// settingsUpdates are the latest reports of a thread's settings. Codex sends each to all clients of the
// thread, in one order. One that comes from a slower client must not replace later settings.
type settingsUpdates struct {
	next  uint64 // number of the next report
	sums  [maxUpdates][sha256.Size]byte
	count int // entries of sums, which end before next
}

// maxUpdates is by how many reports a client may be slower than another one.
const maxUpdates = 32

// gotUpdates has the number of the next report that a client gets, by thread. The mutex of threads
// guards it.
type gotUpdates map[string]uint64

// isNewUpdateLocked reports whether no other client got this report before. A report that differs from
// the one with its number is new.
func (t *threads) isNewUpdateLocked(got *gotUpdates, id string, settings []byte) bool {
	all := t.updates[id]
	if all == nil {
		if t.updates == nil {
			t.updates = make(map[string]*settingsUpdates)
		}
		all = new(settingsUpdates)
		t.updates[id] = all
	}
	if *got == nil {
		*got = make(gotUpdates)
	}
	number, known := (*got)[id]
	sum := sha256.Sum256(settings)
	if known && number < all.next && number >= all.next-uint64(all.count) && all.sums[number%maxUpdates] == sum {
		(*got)[id] = number + 1
		return false
	}
	all.sums[all.next%maxUpdates] = sum
	all.next++
	all.count = min(all.count+1, maxUpdates)
	(*got)[id] = all.next
	return true
}

// gotAllUpdates records that a client has just opened the thread: it gets only later reports.
func (t *threads) gotAllUpdates(got *gotUpdates, id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if *got == nil {
		*got = make(gotUpdates)
	}
	(*got)[id] = 0
	if all := t.updates[id]; all != nil {
		(*got)[id] = all.next
	}
}
