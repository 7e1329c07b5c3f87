package rest

import (
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"

	"parley/actors/kernel"
	"parley/actors/upload"
)

// Limits of uploads.
const (
	// maxUploadBody is the size of a body with a file: the file, its envelope and some small fields, in bytes.
	maxUploadBody = upload.MaxBytes + 64<<10
	// maxUploadParts is how many parts are looked at for the file.
	maxUploadParts = 32
	// maxUploads is how many files are read and worked on at once; the next ones wait. Each is in memory meanwhile.
	maxUploads = 32
)

// fileParts are the names that the part with the file may have (decision 43).
var fileParts = map[string]bool{"file": true, "avatar": true, "image": true}

var (
	errNotMultipart = &statusError{http.StatusUnsupportedMediaType, "the body must be multipart/form-data with the picture in the part file"}
	errNoFile       = kernel.Invalid("the part file is missing: send the picture as file, avatar or image")
	errFileCut      = kernel.Invalid("the body could not be read to the end of the file")
)

// readFile reads the body of a route that takes a file. It keeps the file alone, in c.file.
func (a *API) readFile(c *call) error {
	select {
	case a.uploads <- struct{}{}:
		c.release = func() { <-a.uploads }
	case <-c.ctx().Done():
		return kernel.ErrOverloaded
	}
	if end, ok := c.ctx().Deadline(); ok {
		// Who sends too slowly gives its place back. Only a connection can do that: what a test has instead need not.
		_ = http.NewResponseController(c.w).SetReadDeadline(end)
	}
	var err error
	c.file, err = readFile(c.w, c.r)
	return err
}

// readFile finds the file in a body of parts, and reads no further than its end.
func readFile(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > maxUploadBody {
		return nil, upload.ErrTooLarge()
	}
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return nil, errEncoding
	}
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" || params["boundary"] == "" {
		return nil, errNotMultipart
	}
	parts := multipart.NewReader(http.MaxBytesReader(w, r.Body, maxUploadBody), params["boundary"])
	for range maxUploadParts {
		part, err := parts.NextRawPart()
		switch {
		case errors.Is(err, io.EOF):
			return nil, errNoFile
		case err != nil:
			return nil, cut(err)
		}
		if fileParts[part.FormName()] {
			return readPart(part)
		}
	}
	return nil, errNoFile
}

func readPart(part *multipart.Part) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(part, upload.MaxBytes+1))
	switch {
	case err != nil:
		return nil, cut(err)
	case len(data) > upload.MaxBytes:
		return nil, upload.ErrTooLarge()
	case len(data) == 0:
		return nil, kernel.Invalid("the file is empty")
	}
	return data, nil
}

// cut tells a body that is too long from one that ends too early or is malformed.
func cut(err error) error {
	var big *http.MaxBytesError
	if errors.As(err, &big) {
		return upload.ErrTooLarge()
	}
	return errFileCut
}
