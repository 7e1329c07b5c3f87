package upload_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"sync"
	"testing"

	"parley/actors/kernel"
	"parley/actors/upload"
)

func drawn(w, h int) *image.Paletted {
	m := image.NewPaletted(image.Rect(0, 0, w, h), color.Palette{color.White, color.Black})
	for i := range min(w, h) {
		m.Set(i, i, color.Black)
	}
	return m
}

func pngOf(t testing.TB, w, h int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, drawn(w, h)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func jpegOf(t testing.TB, w, h int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, drawn(w, h), nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// resized claims another size in the header of a PNG.
func resized(data []byte, w, h uint32) []byte {
	const header = 8 // of the signature
	data = bytes.Clone(data)
	binary.BigEndian.PutUint32(data[header+8:], w)
	binary.BigEndian.PutUint32(data[header+12:], h)
	binary.BigEndian.PutUint32(data[header+21:], crc32.ChecksumIEEE(data[header+4:header+21]))
	return data
}

func TestCheck(t *testing.T) {
	small, photo := pngOf(t, 3, 2), jpegOf(t, 40, 30)
	var anim bytes.Buffer
	if err := gif.Encode(&anim, drawn(2, 2), nil); err != nil {
		t.Fatal(err)
	}
	none := kernel.Code(255)
	for name, c := range map[string]struct {
		data []byte
		code kernel.Code // none: it is good
	}{
		"png":                  {small, none},
		"jpg":                  {photo, none},
		"something behind it":  {append(bytes.Clone(small), "<script>alert(1)</script>"...), none},
		"as wide as may be":    {pngOf(t, upload.MaxSide, 1024), none},
		"a pixel too wide":     {pngOf(t, upload.MaxSide+1, 1), kernel.CodeInvalid},
		"a pixel too high":     {pngOf(t, 1, upload.MaxSide+1), kernel.CodeInvalid},
		"too many pixels":      {pngOf(t, 4096, 2049), kernel.CodeInvalid},
		"claims to be huge":    {resized(small, 1<<20, 1<<20), kernel.CodeInvalid},
		"claims to have none":  {resized(small, 0, 5), kernel.CodeMediaType},
		"claims more than is":  {resized(small, 2000, 2000), kernel.CodeMediaType},
		"gif":                  {anim.Bytes(), kernel.CodeMediaType},
		"svg":                  {[]byte(`<svg xmlns="http://www.w3.org/2000/svg"/>`), kernel.CodeMediaType},
		"html":                 {[]byte("<!doctype html>"), kernel.CodeMediaType},
		"nothing":              {nil, kernel.CodeMediaType},
		"png, signature alone": {small[:8], kernel.CodeMediaType},
		"png, cut":             {small[:len(small)-20], kernel.CodeMediaType},
		"jpg, cut":             {photo[:len(photo)/2], kernel.CodeMediaType},
		"jpg, signature alone": {photo[:3], kernel.CodeMediaType},
		"too large":            {append(bytes.Clone(small), make([]byte, upload.MaxBytes)...), kernel.CodeTooLarge},
		"a thousand scans":     {append(bytes.Clone(photo), bytes.Repeat([]byte("\xff\xda"), 1000)...), kernel.CodeInvalid},
	} {
		p, err := upload.NewChecker().Check(context.Background(), c.data)
		switch {
		case c.code == none && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.code == none && !bytes.Equal(p.Data, c.data):
			t.Errorf("%s: the bytes changed", name)
		case c.code != none && (err == nil || kernel.AsError(err).Code != c.code):
			t.Errorf("%s: %v, want code %d", name, err, c.code)
		}
	}
}

func TestFlippedBytesNeverPanic(t *testing.T) {
	c := upload.NewChecker()
	for _, whole := range [][]byte{pngOf(t, 20, 20), jpegOf(t, 20, 20)} {
		for i := range whole {
			data := bytes.Clone(whole)
			data[i] ^= 0x41
			_, _ = c.Check(context.Background(), data)
		}
	}
}

// More callers than may wait are refused, and nobody is lost.
func TestCheckIsBounded(t *testing.T) {
	c, data := upload.NewChecker(), jpegOf(t, 1000, 1000)
	var wg sync.WaitGroup
	var mu sync.Mutex
	got := map[bool]int{}
	for range 300 {
		wg.Go(func() {
			_, err := c.Check(context.Background(), data)
			if err != nil && kernel.AsError(err).Code != kernel.CodeOverloaded {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			got[err == nil]++
		})
	}
	wg.Wait()
	if got[true] < 2 || got[true]+got[false] != 300 {
		t.Errorf("%v", got)
	}
	if _, err := c.Check(context.Background(), data); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestNames(t *testing.T) {
	a, err := upload.NewChecker().Check(context.Background(), pngOf(t, 1, 1))
	if err != nil {
		t.Fatal(err)
	}
	b, err := upload.NewChecker().Check(context.Background(), jpegOf(t, 1, 1))
	if err != nil {
		t.Fatal(err)
	}
	if a.ID == b.ID || !strings.HasSuffix(a.File(), ".png") || !strings.HasSuffix(b.File(), ".jpg") {
		t.Errorf("%s, %s", a.File(), b.File())
	}
	link := a.Link()
	if id, f, ok := upload.Parse(a.File()); !ok || id != a.ID || f != upload.PNG || !upload.IsLink(&link) {
		t.Errorf("%s: %s, %s", a.File(), id, f)
	}
	if got := *upload.Absolute("https://x.test", &link); got != "https://x.test/uploads/"+a.File() {
		t.Error(got)
	}
	if ops := upload.Remove(&link); len(ops) != 1 || ops[0].Key != a.ID || ops[0].Data != nil {
		t.Errorf("%+v", ops)
	}
	for _, other := range []string{"", "x", "/uploads/", "/uploads/x.png", "https://x.test" + link, link + "x", strings.ToUpper(link)} {
		if upload.IsLink(&other) || upload.Remove(&other) != nil || *upload.Absolute("https://y", &other) != other {
			t.Errorf("%q passes for a picture here", other)
		}
	}
	if upload.IsLink(nil) || upload.Absolute("x", nil) != nil {
		t.Error("nothing is a link")
	}
}

func FuzzCheck(f *testing.F) {
	f.Add(pngOf(f, 3, 3))
	f.Add(jpegOf(f, 9, 9))
	f.Add([]byte("\xff\xd8\xff\xda"))
	c := upload.NewChecker()
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := c.Check(context.Background(), data)
		if err == nil && (upload.Sniff(p.Data) != p.Format || len(p.Data) > upload.MaxBytes) {
			t.Errorf("%+v", p)
		}
	})
}
