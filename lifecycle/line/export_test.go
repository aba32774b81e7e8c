package line

import "context"

// Do joins the line, and does f in its turn.
func (l *Lines) Do(ctx context.Context, key string, f func(context.Context) error) error {
	p, err := l.Join(key)
	if err != nil {
		return err
	}
	return p.Do(ctx, f)
}

// Waiting is how many stand in line for the key, with the one that is being served.
func (l *Lines) Waiting(key string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.lines[key])
}
