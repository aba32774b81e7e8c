package child

// head keeps what is written up to max, and says once that more came. (A
// bytes.Buffer inside would bring a ReadFrom along that knows no max.)
type head struct {
	kept []byte
	max  int
	full func()
}

func (h *head) Write(p []byte) (int, error) {
	if len(h.kept)+len(p) > h.max {
		h.full()
		return 0, ErrTooLong
	}
	h.kept = append(h.kept, p...)
	return len(p), nil
}

// tail keeps the last max bytes that are written.
type tail struct {
	kept []byte
	max  int
}

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - t.max; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(p), nil
}
