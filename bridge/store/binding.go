package store

import "time"

// Binding is the thread of a session, as it is kept. Record is what is known of the
// thread; the store does not read it.
type Binding struct {
	Session string
	Thread  string
	Record  string
	// What became of the session last, and why; the thread that it had before.
	Action, Reason, Before string
	Mode                   string    // of its last turn
	Updated                time.Time // kept in microseconds
}

const bindingColumns = `session, thread, record, action, reason, before, mode, updated`

func (b *Binding) from(scan func(...any) error) error {
	var updated string
	if err := scan(&b.Session, &b.Thread, &b.Record, &b.Action, &b.Reason, &b.Before, &b.Mode, &updated); err != nil {
		return err
	}
	var err error
	b.Updated, err = time.Parse(stampForm, updated)
	return err
}
