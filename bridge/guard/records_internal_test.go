package guard

func init() { checksRecords = true }

// recordLocked returns the record of a thread to change it; it adds one if there is none.
func (t *threads) recordLocked(id string) *threadRecord {
	if t.records == nil {
		t.records = make(map[string]*threadRecord)
	}
	if t.records[id] == nil {
		t.records[id] = new(threadRecord)
	}
	t.recordChanges++
	t.records[id].version = t.recordChanges
	return t.records[id]
}

// loadedLocked returns what Codex may have in memory of a thread, to change it.
func (t *threads) loadedLocked(id string) *loadedThread { return t.recordLocked(id).loadedThread() }
