package image

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	_ "image/gif"  // for decode
	_ "image/jpeg" // for decode
	_ "image/png"  // for decode

	_ "golang.org/x/image/webp" // for decode
)

// The bounds of a job.
const (
	maxImages = 16
	maxBytes  = 20 << 20 // of one image
	maxTotal  = 40 << 20 // of all images: in base64 they are one line, and Codex takes 64 MiB
	maxPixels = 50 << 20 // of one image, which is decoded in memory to check it
)

// Image is an image that models take.
type Image struct {
	Mime string
	Data []byte
}

// URL returns the image as a data: URL.
func (i Image) URL() string {
	return "data:" + i.Mime + ";base64," + base64.StdEncoding.EncodeToString(i.Data)
}

// decode returns the image with the content data, which decides its type. It refuses an image that
// is truncated or damaged: the model's provider would refuse the turn.
func decode(data []byte) (Image, error) {
	if len(data) > maxBytes {
		return Image{}, fmt.Errorf("it has %d bytes; the maximum is %d", len(data), maxBytes)
	}
	config, kind, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return Image{}, fmt.Errorf("it is not a readable PNG, JPEG, GIF or WebP image: %w", err)
	}
	if pixels := config.Width * config.Height; config.Width < 1 || config.Height < 1 || pixels > maxPixels {
		return Image{}, fmt.Errorf("it has %d by %d pixels; the maximum is %d pixels", config.Width, config.Height, maxPixels)
	}
	if err := checkDecoded(data, config); err != nil {
		return Image{}, err
	}
	return Image{Mime: "image/" + kind, Data: data}, nil
}

// checkImages checks the images of a job together against the bounds.
func checkImages(images []Image) error {
	if len(images) == 0 {
		return fmt.Errorf("there is no image; give 1 to %d", maxImages)
	}
	if len(images) > maxImages {
		return fmt.Errorf("there are %d images; the maximum is %d. Send several requests", len(images), maxImages)
	}
	total := 0
	for _, i := range images {
		total += len(i.Data)
	}
	if total > maxTotal {
		return fmt.Errorf("the images have %d bytes together; the maximum is %d. Send several requests", total, maxTotal)
	}
	return nil
}
