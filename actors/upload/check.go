package upload

import (
	"bytes"
	"context"
	"image"
	"image/jpeg"
	"image/png"

	"parley/actors/kernel"
)

// Limits of pictures.
const (
	// MaxBytes is the size of a picture (rest.md, Limits).
	MaxBytes = 2 << 20
	// MaxSide is the largest width and height in pixels.
	MaxSide = 8192
	// MaxPixels is the largest area. Decoding takes up to 15 bytes a pixel, in a progressive JPEG without subsampling.
	MaxPixels = 8 << 20
	// MaxScans is the number of scans of a JPEG: each passes over the whole area and needs but a few bytes of the file.
	MaxScans = 64
	// decodes is the number of pictures that are decoded at once.
	decodes = 2
	// decodeQueue is the number of callers that wait for that; one more is refused.
	decodeQueue = 64
)

// Beginnings of files.
var (
	pngSignature  = []byte("\x89PNG\r\n\x1a\n")
	jpegSignature = []byte("\xff\xd8\xff")
	startOfScan   = []byte("\xff\xda")
)

// Sniff finds the format of a file by its first bytes; empty for any that is not taken.
func Sniff(data []byte) Format {
	switch {
	case bytes.HasPrefix(data, pngSignature):
		return PNG
	case bytes.HasPrefix(data, jpegSignature):
		return JPEG
	}
	return ""
}

// Checker decodes pictures, a few at once, so that a burst of them can neither exhaust memory nor starve the rest.
type Checker struct {
	slots   chan struct{}
	waiting chan struct{}
}

// NewChecker makes a Checker.
func NewChecker() *Checker {
	return &Checker{slots: make(chan struct{}, decodes), waiting: make(chan struct{}, decodeQueue)}
}

// Check decodes a picture from its first to its last pixel and gives it an id. CodeMediaType: it is none that can be
// read; CodeTooLarge: over MaxBytes; CodeInvalid: over the limits of its area; CodeOverloaded: too many wait.
func (c *Checker) Check(ctx context.Context, data []byte) (*Picture, error) {
	format := Sniff(data)
	switch {
	case len(data) > MaxBytes:
		return nil, ErrTooLarge()
	case format == "":
		return nil, kernel.Fail(kernel.CodeMediaType, "the file must be a JPG or PNG picture")
	}
	if err := checkHeader(format, data); err != nil {
		return nil, err
	}
	if err := c.decode(ctx, format, data); err != nil {
		return nil, err
	}
	return &Picture{ID: newID(), Format: format, Data: data}, nil
}

// ErrTooLarge is the error for a file over MaxBytes.
func ErrTooLarge() error {
	return kernel.Fail(kernel.CodeTooLarge, "the picture is larger than %d MB", MaxBytes>>20)
}

func unreadable(f Format) error {
	return kernel.Fail(kernel.CodeMediaType, "the file begins like a %s picture and can't be read as one", f)
}

// checkHeader looks at what a picture says of itself before memory is spent on it.
func checkHeader(format Format, data []byte) error {
	var config image.Config
	var err error
	if format == PNG {
		config, err = png.DecodeConfig(bytes.NewReader(data))
	} else {
		config, err = jpeg.DecodeConfig(bytes.NewReader(data))
	}
	switch {
	case err != nil || config.Width <= 0 || config.Height <= 0:
		return unreadable(format)
	case config.Width > MaxSide || config.Height > MaxSide || config.Width*config.Height > MaxPixels:
		return kernel.Invalid("the picture has %d × %d pixels; at most %d megapixels and %d on a side are taken",
			config.Width, config.Height, MaxPixels/1_000_000, MaxSide)
	case format == JPEG && bytes.Count(data, startOfScan) > MaxScans:
		return kernel.Invalid("the picture has more than %d scans; save it in another way", MaxScans)
	}
	return nil
}

func (c *Checker) decode(ctx context.Context, format Format, data []byte) error {
	select {
	case c.waiting <- struct{}{}:
		defer func() { <-c.waiting }()
	default:
		return kernel.ErrOverloaded
	}
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return kernel.ErrTimeout
	}
	var err error
	if format == PNG {
		_, err = png.Decode(bytes.NewReader(data))
	} else {
		_, err = jpeg.Decode(bytes.NewReader(data))
	}
	if err != nil {
		return unreadable(format)
	}
	return nil
}
