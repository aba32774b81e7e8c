package image

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	_ "image/gif"  // for Read
	_ "image/jpeg" // for Read
	_ "image/png"  // for Read

	_ "golang.org/x/image/webp" // for Read
)

// The bounds of a job.
const (
	MaxImages = 16
	MaxBytes  = 20 << 20 // of one image
	MaxTotal  = 40 << 20 // of all: in base64 they are one line for Codex, which may have 64 MiB
	MaxPixels = 50 << 20 // of one image: so many are held in memory to see whether it is whole
)

// Image is an image that models take.
type Image struct {
	Mime string
	Data []byte
}

// URL is the image as Codex takes it.
func (i Image) URL() string {
	return "data:" + i.Mime + ";base64," + base64.StdEncoding.EncodeToString(i.Data)
}

// Read is the image of that content, which tells what kind it is; names do not count. One
// that is cut off or damaged is refused: the model's provider would refuse the whole turn.
func Read(data []byte) (Image, error) {
	if len(data) > MaxBytes {
		return Image{}, fmt.Errorf("it has %d bytes, and %d are allowed; make it smaller", len(data), MaxBytes)
	}
	config, kind, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return Image{}, fmt.Errorf("it is no PNG, JPEG, GIF or WebP image that can be read: %w", err)
	}
	if pixels := config.Width * config.Height; config.Width < 1 || config.Height < 1 || pixels > MaxPixels {
		return Image{}, fmt.Errorf("it measures %d by %d, and up to %d pixels are allowed; make it smaller", config.Width, config.Height, MaxPixels)
	}
	if _, _, err := image.Decode(bytes.NewReader(data)); err != nil {
		return Image{}, fmt.Errorf("it is damaged, or not whole: %w", err)
	}
	return Image{Mime: "image/" + kind, Data: data}, nil
}

// Check holds the images of a job together to the bounds.
func Check(images []Image) error {
	if len(images) == 0 {
		return fmt.Errorf("there is no image; give 1 to %d", MaxImages)
	}
	if len(images) > MaxImages {
		return fmt.Errorf("there are %d images, and %d are allowed; ask in several steps", len(images), MaxImages)
	}
	total := 0
	for _, i := range images {
		total += len(i.Data)
	}
	if total > MaxTotal {
		return fmt.Errorf("the images have %d bytes together, and %d are allowed; ask in several steps", total, MaxTotal)
	}
	return nil
}
