package rollout

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// compressedSuffix ends the name of a file that Codex has compressed.
//
// Measured with Codex 0.169: rollout/compress replaces files that have not changed for some time.
// When the thread is resumed, Codex writes the plain file again and removes the compressed one.
// thread/read returns the name of the plain file.
const compressedSuffix = ".zst"

// maxUnpacked is how many bytes of a compressed file are read.
const maxUnpacked = 1 << 30

var errUnpacked = fmt.Errorf("it is longer than %d MiB", maxUnpacked>>20)

// otherForm returns the name that a file has when it is compressed, or is not any more.
func otherForm(name string) string {
	if plain, ok := strings.CutSuffix(name, compressedSuffix); ok {
		return plain
	}
	return name + compressedSuffix
}

func isCompressed(f *os.File) bool { return strings.HasSuffix(f.Name(), compressedSuffix) }

// content returns the text of a file from its beginning. The caller calls closeText.
func content(f *os.File) (text io.Reader, closeText func(), err error) {
	if !isCompressed(f) {
		return f, func() {}, nil
	}
	unpacked, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, nil, err
	}
	return unpacked, unpacked.Close, nil
}

// compressedEnds is readEnds for a compressed file.
func compressedEnds(f *os.File, maxBytes int64) (tail, head []byte, err error) {
	text, closeText, err := content(f)
	if err != nil {
		return nil, nil, err
	}
	defer closeText()
	var size int64
	for {
		n, err := io.CopyN((*appender)(&tail), text, maxBytes)
		if size += n; size > maxUnpacked {
			return nil, nil, errUnpacked
		}
		if head == nil && size > maxBytes {
			head = bytes.Clone(tail[:min(size-maxBytes, maxHead)])
		}
		if cut := int64(len(tail)) - maxBytes; cut > 0 {
			tail = append(tail[:0], tail[cut:]...)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, err
		}
	}
	if head != nil {
		_, tail, _ = bytes.Cut(tail, []byte{'\n'})
	}
	return tail, head, nil
}

// appender is a slice that bytes are appended to.
type appender []byte

func (a *appender) Write(p []byte) (int, error) {
	*a = append(*a, p...)
	return len(p), nil
}
