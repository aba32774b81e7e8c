package guard

// makeWritable records canonical folders that commands of a thread can write; "" is a thread whose id is
// not known yet.
func (t *threads) makeWritable(id string, folders []string) {
	if id != "" && len(missing(t.writableOf(id), folders)) == 0 {
		return
	}
	t.writable.add(folders)
	t.addWritable(id, folders)
}

// reserveWritable is writableFolders.reserve for the thread with an id.
func (t *threads) reserveWritable(id string, judge func(all []string) (folders []string)) bool {
	var found []string
	ok := t.writable.reserve(func(all []string) []string {
		found = judge(all)
		return found
	})
	if ok {
		t.addWritable(id, found)
	}
	return ok
}

func (t *threads) addWritable(id string, folders []string) {
	if id != "" && len(folders) > 0 {
		t.apply(id, foldersWritable{folders: folders})
	}
}

// writableOf returns the folders that commands of a thread can write.
func (t *threads) writableOf(id string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if record := t.records[id]; record != nil {
		return record.writable
	}
	return nil
}

// foldersWritable: commands of the thread can write folders. The list of all threads has them.
type foldersWritable struct {
	addsRecord
	folders []string
}

func (e foldersWritable) change(r *threadRecord) { r.addWritable(e.folders) }
