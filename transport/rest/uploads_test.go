package rest

import (
	"bytes"
	"context"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/actors/upload"
)

const uploadType = "multipart/form-data; boundary=B"

// parts builds a body of name and content pairs.
func parts(t testing.TB, pairs ...string) string {
	t.Helper()
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	if err := m.SetBoundary("B"); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(pairs); i += 2 {
		w, err := m.CreateFormFile(pairs[i], "../../x.svg")
		if err == nil {
			_, err = io.WriteString(w, pairs[i+1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestUploads(t *testing.T) {
	typed := map[string]string{"Content-Type": uploadType}
	up := func(name, body string, status int, want, call string) check {
		return check{step{Name: name, Method: "POST", URL: "/api/uploads/avatar", Token: userToken, Header: typed, Body: body, Status: status, Want: []string{want}}, call}
	}
	with := func(name, body string, status int, pairs ...string) check {
		header := map[string]string{"Content-Type": uploadType}
		for i := 0; i < len(pairs); i += 2 {
			header[pairs[i]] = pairs[i+1]
		}
		return check{step{Name: name, Method: "POST", URL: "/api/uploads/avatar", Header: header, Body: body, Status: status}, "-"}
	}
	const url = `"url":"https://chat.example/uploads/x.png","avatar_url":"https://chat.example/uploads/x.png"`
	good := parts(t, "file", "12345")
	run(t, nil, []check{
		up("file", good, 200, `{"ok":true,`+url+`}`, "SetPicture u1 avatar 5"),
		up("avatar", parts(t, "avatar", "12345"), 200, url, "SetPicture u1 avatar 5"),
		up("image behind others", parts(t, "x", "1", "y", "2", "image", "12345"), 200, url, "SetPicture u1 avatar 5"),
		up("the first counts", parts(t, "file", "12345", "image", "1"), 200, url, "SetPicture u1 avatar 5"),
		{step{Name: "banner", Method: "POST", URL: "/api/uploads/banner", Token: patToken, Header: typed, Body: good, Status: 200,
			Want: []string{url, `"banner_url":"https://chat.example/uploads/x.png"`}}, "SetPicture u1 banner 5"},
		up("2 MB", parts(t, "file", strings.Repeat("x", upload.MaxBytes)), 200, url, "SetPicture u1 avatar 2097152"),
		up("2 MB and a byte", parts(t, "file", strings.Repeat("x", upload.MaxBytes+1)), 413, "2 MB", "-"),
		up("3 MB", parts(t, "file", strings.Repeat("x", 3<<20)), 413, "2 MB", "-"),
		up("3 MB before the file", parts(t, "x", strings.Repeat("x", 3<<20), "file", "1"), 413, "2 MB", "-"),
		up("too many parts", parts(t, append(bytesPairs(maxUploadParts), "file", "1")...), 400, "file is missing", "-"),
		up("no such part", parts(t, "picture", "1"), 400, "file is missing", "-"),
		up("no part", parts(t), 400, "file is missing", "-"),
		up("no body", "", 400, "file is missing", "-"),
		up("empty file", parts(t, "file", ""), 400, "empty", "-"),
		up("cut in the file", strings.TrimSuffix(good, "345\r\n--B--\r\n"), 400, "read to the end", "-"),
		up("cut in the header", good[:20], 400, "read to the end", "-"),
		up("not parts", "12345", 400, "file is missing", "-"),
		up("fails behind it", parts(t, "file", "forbidden"), 403, "not yours", ""),
		with("JSON", `{"file":"x"}`, 415, "Content-Type", "application/json", "Authorization", "Bearer "+userToken),
		with("bare bytes", "x", 415, "Content-Type", "image/png", "Authorization", "Bearer "+userToken),
		with("mixed", good, 415, "Content-Type", "multipart/mixed; boundary=B", "Authorization", "Bearer "+userToken),
		with("no boundary", good, 415, "Content-Type", "multipart/form-data", "Authorization", "Bearer "+userToken),
		with("compressed", good, 415, "Content-Encoding", "gzip", "Authorization", "Bearer "+userToken),
		with("nobody", good, 401),
		with("stale", good, 401, "Authorization", "Bearer stale"),
		with("foreign page", good, 403, "Cookie", "acme_token="+userToken, "Origin", "https://evil.example"),
		with("cookie without origin", good, 403, "Cookie", "acme_token="+userToken),
		{step{Name: "own page", Method: "POST", URL: "/api/uploads/avatar", Body: good, Status: 200,
			Header: map[string]string{"Content-Type": uploadType, "Cookie": "acme_token=" + userToken, "Origin": "https://web.example"}}, "SetPicture u1 avatar 5"},
		{step{URL: "/api/uploads/avatar", Token: userToken, Status: 405}, "-"},
	})
}

func bytesPairs(n int) []string {
	var pairs []string
	for range n {
		pairs = append(pairs, "x", "1")
	}
	return pairs
}

// TestUploadLength sends bodies whose length is not announced, or announced wrongly, over a connection.
func TestUploadLength(t *testing.T) {
	b := setUp(t, nil)
	server := httptest.NewServer(b.api)
	defer server.Close()
	for name, c := range map[string]struct {
		size, announced int64
		status          int
	}{
		"chunked": {100, -1, 200}, "chunked, too large": {3 << 20, -1, 413}, "announced too large": {100, 3 << 20, 413},
	} {
		body := parts(t, "file", strings.Repeat("x", int(c.size)))
		r, err := http.NewRequest(http.MethodPost, server.URL+"/api/uploads/avatar", io.MultiReader(strings.NewReader(body), &endless{c.announced - int64(len(body))}))
		if err != nil {
			t.Fatal(err)
		}
		r.ContentLength = c.announced
		r.Header.Set("Content-Type", uploadType)
		r.Header.Set("Authorization", "Bearer "+userToken)
		res, err := server.Client().Do(r)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		_ = res.Body.Close()
		if res.StatusCode != c.status {
			t.Errorf("%s: status %d, want %d", name, res.StatusCode, c.status)
		}
	}
	if len(b.api.uploads) != 0 {
		t.Error("an upload holds its place")
	}
}

// endless fills a body up.
type endless struct{ left int64 }

func (e *endless) Read(p []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), e.left)
	e.left -= n
	return int(n), nil
}

// More uploads than there are places wait for one, and every place is given back, whatever becomes of the upload.
func TestUploadsAtOnce(t *testing.T) {
	b := setUp(t, func(o *Options) { o.Limiter = freely{} })
	var wg sync.WaitGroup
	for i := range 4 * maxUploads {
		body := parts(t, "file", "12345")
		if i%3 == 0 {
			body = body[:30]
		}
		wg.Go(func() {
			r := httptest.NewRequest(http.MethodPost, "/api/uploads/avatar", strings.NewReader(body))
			r.Header.Set("Content-Type", uploadType)
			r.Header.Set("Authorization", "Bearer "+userToken)
			w := httptest.NewRecorder()
			if b.api.ServeHTTP(w, r); w.Code != 200 && (i%3 != 0 || w.Code != 400) {
				t.Errorf("status %d", w.Code)
			}
		})
	}
	wg.Wait()
	if len(b.api.uploads) != 0 {
		t.Error("an upload holds its place")
	}
}

func TestPictureFiles(t *testing.T) {
	b := setUp(t, nil)
	get := func(method, file string, header ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "/uploads/"+file, nil)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		b.api.ServeHTTP(w, r)
		return w
	}
	w := get("GET", "x.png", "Authorization", "Bearer stale", "Origin", "https://else.example")
	for name, want := range map[string]string{
		"Content-Type": "image/png", "Content-Length": "10", "X-Content-Type-Options": "nosniff", "Etag": `"x"`,
		"Content-Security-Policy": "default-src 'none'; sandbox", "Cross-Origin-Resource-Policy": "cross-origin",
		"Content-Disposition": "inline; filename=x.png", "Cache-Control": "public, max-age=31536000, immutable", "Access-Control-Allow-Origin": "*",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if w.Code != 200 || w.Body.String() != "0123456789" || b.last() != "Picture x.png" {
		t.Errorf("%d %q, the service heard %q", w.Code, w.Body, b.last())
	}
	if w := get("HEAD", "x.png"); w.Code != 200 || w.Header().Get("Content-Length") != "10" {
		t.Errorf("HEAD: %d, %v", w.Code, w.Header())
	}
	if w := get("GET", "x.png", "If-None-Match", `"x"`); w.Code != 304 || w.Body.Len() != 0 {
		t.Errorf("the same: %d %q", w.Code, w.Body)
	}
	if w := get("GET", "x.png", "If-None-Match", `"y"`); w.Code != 200 {
		t.Errorf("another: %d", w.Code)
	}
	if w := get("GET", "x.png", "Range", "bytes=2-4"); w.Code != 200 || w.Body.Len() != 10 { // which a server may always do
		t.Errorf("a range: %d %q", w.Code, w.Body)
	}
	if w := get("GET", "absent"); w.Code != 404 || w.Header().Get("Cache-Control") != "no-store" || !strings.Contains(w.Body.String(), `{"error":`) {
		t.Errorf("none: %d %v %q", w.Code, w.Header(), w.Body)
	}
	if w := get("DELETE", "x.png"); w.Code != 405 {
		t.Errorf("DELETE: %d", w.Code)
	}
	if len(b.api.served) != 0 {
		t.Error("a picture holds its place")
	}
}

// freely is a Limiter without limits.
type freely struct{}

func (freely) Take(context.Context, string, string) time.Duration { return 0 }

// FuzzReadFile looks for a body that is read as more than a picture may have, or that fails without a reason for the client.
func FuzzReadFile(f *testing.F) {
	f.Add(uploadType, parts(f, "file", "12345"))
	f.Add(uploadType, "--B\r\n\r\n--B--")
	f.Add("multipart/form-data; boundary=\"\"", "")
	f.Fuzz(func(t *testing.T, kind, body string) {
		r := httptest.NewRequest(http.MethodPost, "/api/uploads/avatar", strings.NewReader(body))
		r.Header.Set("Content-Type", kind)
		data, err := readFile(httptest.NewRecorder(), r)
		if err == nil {
			if len(data) == 0 || len(data) > upload.MaxBytes || !strings.Contains(body, string(data)) {
				t.Errorf("%d bytes", len(data))
			}
			return
		}
		if status, _, _ := describe(err); status != 400 && status != 413 && status != 415 {
			t.Errorf("status %d: %v", status, err)
		}
	})
}
