// Package upload checks the pictures that clients send, and says where they are kept: each is a document of its own, so
// that it is on every engine and in every backup. Whose picture it is, the document that links to it says.
package upload

import (
	"crypto/rand"
	"encoding/hex"
	"regexp"
	"strings"

	"parley/persistence"
)

// Path is where pictures are served: Path and the name of the file.
const Path = "/uploads/"

// idBytes is the length of a picture's id in random bytes: nobody finds one by guessing.
const idBytes = 16

// Format is a format of pictures; its value is the ending of the file's name.
type Format string

// Formats that are taken (rest.md, Hook; decision 43).
const (
	PNG  Format = "png"
	JPEG Format = "jpg"
)

// MediaType is what a browser is told.
func (f Format) MediaType() string {
	if f == PNG {
		return "image/png"
	}
	return "image/jpeg"
}

// Picture is a checked picture. Its bytes are those that the client sent.
type Picture struct {
	ID     string
	Format Format
	Data   []byte // must not change
}

// File is the name of the picture's file.
func (p *Picture) File() string { return p.ID + "." + string(p.Format) }

// Link is how a document refers to the picture: its address without the service's own, which may change.
func (p *Picture) Link() string { return Path + p.File() }

// Put is the document of the picture; it belongs into the batch that links to it.
func (p *Picture) Put() persistence.DocumentOp {
	return persistence.DocumentOp{Collection: persistence.CollectionUpload, Key: p.ID, Data: p.Data}
}

// fileName is the form of a picture's file name: 32 hex digits and the format.
var fileName = regexp.MustCompile(`^([0-9a-f]{32})\.(png|jpg)$`)

// Parse takes a file name apart.
func Parse(file string) (id string, f Format, ok bool) {
	m := fileName.FindStringSubmatch(file)
	if m == nil {
		return "", "", false
	}
	return m[1], Format(m[2]), true
}

// IsLink reports whether a link of a document is to a picture here.
func IsLink(link *string) bool {
	if link == nil || !strings.HasPrefix(*link, Path) {
		return false
	}
	_, _, ok := Parse((*link)[len(Path):])
	return ok
}

// Remove deletes the picture behind a link that is given up; nothing if there is none. It belongs into the batch that
// gives the link up.
func Remove(link *string) []persistence.DocumentOp {
	if !IsLink(link) {
		return nil
	}
	id, _, _ := Parse((*link)[len(Path):])
	return []persistence.DocumentOp{{Collection: persistence.CollectionUpload, Key: id}}
}

// Absolute is a link as clients see it: below base, the service's own address, if the picture is here.
func Absolute(base string, link *string) *string {
	if !IsLink(link) {
		return link
	}
	whole := base + *link
	return &whole
}

func newID() string {
	var b [idBytes]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
