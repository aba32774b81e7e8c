package bridge

import (
	"io"
	"sync/atomic"
)

// Bytes counts what the two sides have said, as it was written. It may be read at any time.
type ByteCounts struct{ FromClient, FromCodex atomic.Int64 }

// counted is r with what is read of it added up.
type countingReader struct {
	io.Reader
	total *atomic.Int64
}

func (c countingReader) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.total.Add(int64(n))
	return n, err
}
