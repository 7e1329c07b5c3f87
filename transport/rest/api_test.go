package rest

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
)

func TestRealtimeTakesOver(t *testing.T) {
	var seen string
	var plain http.ResponseWriter
	at := func(name string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { seen, plain = name+" "+r.URL.Path, w })
	}
	b := setUp(t, func(o *Options) {
		o.Realtime = map[string]http.Handler{"/socket.io/": at("sio"), "/socket.io/admin/": at("admin"), "/ws": at("ws")}
	})
	for path, want := range map[string]string{
		"/socket.io/?EIO=4": "sio /socket.io/", "//socket.io//?EIO=4": "sio /socket.io/", "/socket.io": "sio /socket.io",
		"/socket.io/x/y": "sio /socket.io/x/y", "/socket.io/admin/z": "admin /socket.io/admin/z", "/ws": "ws /ws", "/ws/": "ws /ws/",
		"/ws/x": "", "/wsx": "", "/socket.iox": "", "/api/ws": "",
	} {
		seen, plain = "", nil
		w := httptest.NewRecorder()
		b.api.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if seen != want {
			t.Errorf("%s went to %q, want %q", path, seen, want)
		}
		if want != "" && plain != http.ResponseWriter(w) {
			t.Errorf("%s: the ResponseWriter is wrapped", path)
		}
		if want == "" && w.Code != 404 {
			t.Errorf("%s: status %d", path, w.Code)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	good := func() Options { return Options{Service: &fake{}, PublicURL: mustURL(t, "http://localhost:1")} }
	if _, err := New(good()); err != nil {
		t.Errorf("the least options: %v", err)
	}
	for name, spoil := range map[string]func(*Options){
		"no service":       func(o *Options) { o.Service = nil },
		"no public URL":    func(o *Options) { o.PublicURL = nil },
		"relative":         func(o *Options) { o.PublicURL = &url.URL{Path: "/x"} },
		"other scheme":     func(o *Options) { o.PublicURL = mustURL(t, "ftp://localhost") },
		"bad web URL":      func(o *Options) { o.WebURL = &url.URL{} },
		"bad vendor":       func(o *Options) { o.Vendors = []string{"a b"} },
		"empty vendor":     func(o *Options) { o.Vendors = []string{""} },
		"relative path":    func(o *Options) { o.Realtime = map[string]http.Handler{"ws": http.NotFoundHandler()} },
		"no such realtime": func(o *Options) { o.Realtime = map[string]http.Handler{"/ws": nil} },
	} {
		o := good()
		spoil(&o)
		if _, err := New(o); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestRoutesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Routes() {
		if key := r.Method + " " + r.Path; seen[key] {
			t.Errorf("%s is there twice", key)
		} else {
			seen[key] = true
		}
	}
}

// BenchmarkRouting is the transport's own cost of a request.
func BenchmarkRouting(b *testing.B) {
	t := setUp(b, func(o *Options) { o.Logger = nil })
	r := httptest.NewRequest("GET", "/api/agencies/g1/messages?limit=50", nil)
	r.Header.Set("Authorization", "Bearer "+userToken)
	b.ReportAllocs()
	for b.Loop() {
		w := httptest.NewRecorder()
		t.api.ServeHTTP(w, r)
		if w.Code != 200 {
			b.Fatal(w.Code)
		}
		t.calls = nil
	}
}
