package child

// head keeps what is written up to max, and says once that more came. (A
// bytes.Buffer inside would bring a ReadFrom along that knows no max.)
type limitedBuffer struct {
	kept   []byte
	max    int
	onFull func()
}

func (h *limitedBuffer) Write(p []byte) (int, error) {
	if len(h.kept)+len(p) > h.max {
		h.onFull()
		return 0, ErrTooLong
	}
	h.kept = append(h.kept, p...)
	return len(p), nil
}

// Tail keeps the last Max bytes that are written. It is one goroutine's at a time.
type Tail struct {
	Max  int
	Kept []byte
}

func (t *Tail) Write(p []byte) (int, error) {
	t.Kept = append(t.Kept, p...)
	if over := len(t.Kept) - t.Max; over > 0 {
		t.Kept = append(t.Kept[:0], t.Kept[over:]...)
	}
	return len(p), nil
}
