package image

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"strings"
	"testing"
)

// blank is an image of one color that takes no memory.
type blank struct {
	model         color.Model
	width, height int
}

func (b blank) ColorModel() color.Model { return b.model }
func (b blank) Bounds() image.Rectangle { return image.Rect(0, 0, b.width, b.height) }
func (b blank) At(int, int) color.Color { return b.model.Convert(color.NRGBA64{}) }

func encode(t *testing.T, b blank) []byte {
	t.Helper()
	var text bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&text, b); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}

// The bound is that of the decoded image: a few hundred kilobytes can take half a gigabyte.
func TestDecodedSizeIsBounded(t *testing.T) {
	t.Parallel()
	large := encode(t, blank{color.NRGBA64Model, 6000, 4000}) // 192 MB
	if _, err := decode(large); err == nil || !strings.Contains(err.Error(), "bytes in memory") {
		t.Errorf("%d bytes of PNG: %v", len(large), err)
	}
	if _, err := decode(encode(t, blank{color.NRGBAModel, 2000, 3000})); err != nil {
		t.Error(err)
	}
}

func TestPixelBytes(t *testing.T) {
	t.Parallel()
	for want, one := range map[int]image.Image{
		1: image.NewPaletted(image.Rect(0, 0, 1, 1), color.Palette{color.Black}), 2: image.NewGray16(image.Rect(0, 0, 1, 1)),
		3: image.NewYCbCr(image.Rect(0, 0, 1, 1), image.YCbCrSubsampleRatio444), 4: image.NewNRGBA(image.Rect(0, 0, 1, 1)), 8: image.NewNRGBA64(image.Rect(0, 0, 1, 1)),
	} {
		if got := pixelBytes(one.ColorModel()); got != want {
			t.Errorf("%T: %d, want %d", one, got, want)
		}
	}
}

func TestIsProgressive(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"": false, "\xff\xd8": false, "\x89PNG\r\n\x1a\n": false,
		"\xff\xd8\xff\xe0\x00\x04ab\xff\xc2\x00\x11":           true,
		"\xff\xd8\xff\xe0\x00\x04\xff\xc2\xff\xc0\x00\x11":     false, // in a segment
		"\xff\xd8\xff\xff\xc2\x00\x11\x00":                     true,
		"\xff\xd8\xff\xda\x00\x04ab\xff\xc2\x00\x11":           false, // in a scan
		"\xff\xd8\xff\xe0\xff\xff":                             false,
		"\xff\xd8\x00\x00\xff\x00\xff\xd0\xff\xc2\x00\x11\x00": true,
	} {
		if got := isProgressive([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
