package image

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"runtime/debug"
)

// maxDecoded bounds the bytes of an image in memory.
const maxDecoded = 160 << 20

// largeDecoded is the size in memory from which the memory of an image is given back at once.
const largeDecoded = 16 << 20

// checkDecoded decodes an image to find out whether it is whole. It returns an error without
// decoding an image that would be too large in memory.
func checkDecoded(data []byte, config image.Config) error {
	size := config.Width * config.Height * pixelBytes(config.ColorModel)
	if isProgressive(data) {
		size *= 5 // beside each sample of a byte its coefficient of four bytes
	}
	if size > maxDecoded {
		return fmt.Errorf("it has %d by %d pixels, which take %d bytes in memory; the maximum is %d. Send a smaller image", config.Width, config.Height, size, maxDecoded)
	}
	_, _, err := image.Decode(bytes.NewReader(data))
	if size >= largeDecoded {
		debug.FreeOSMemory()
	}
	if err != nil {
		return fmt.Errorf("it is damaged or incomplete: %w", err)
	}
	return nil
}

// pixelBytes returns the bytes of a decoded pixel: the maximum for a model that it does not know.
func pixelBytes(model color.Model) int {
	if _, ok := model.(color.Palette); ok {
		return 1
	}
	switch model {
	case color.GrayModel:
		return 1
	case color.Gray16Model:
		return 2
	case color.YCbCrModel:
		return 3
	case color.RGBAModel, color.NRGBAModel, color.CMYKModel, color.NYCbCrAModel:
		return 4
	default:
		return 8
	}
}

// isProgressive reports whether data is a progressive JPEG image.
func isProgressive(data []byte) bool {
	const start, progressive, scan = 0xd8, 0xc2, 0xda
	if len(data) < 2 || data[0] != 0xff || data[1] != start {
		return false
	}
	for at := 2; at+4 <= len(data); {
		switch {
		case data[at] != 0xff: // what the decoder skips, too
			at++
		case data[at+1] == progressive:
			return true
		case data[at+1] == scan:
			return false
		case data[at+1] == 0xff || data[at+1] == 0 || data[at+1] >= 0xd0 && data[at+1] <= 0xd8: // fill bytes, and markers without a length
			at++
		default:
			at += 2 + int(data[at+2])<<8 + int(data[at+3])
		}
	}
	return false
}
