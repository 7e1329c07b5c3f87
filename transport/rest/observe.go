package rest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"runtime/debug"
	"time"
)

// requestID is the form of an X-Request-Id that is taken over from the client or a proxy.
var requestID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// record is what the log says of a request. It watches the answer on its way out.
type record struct {
	http.ResponseWriter
	id     string
	route  string // the path's pattern: paths may hold secrets
	status int    // 0 until the answer begins
	bytes  int64
}

// WriteHeader implements http.ResponseWriter.
func (rec *record) WriteHeader(status int) {
	if rec.status == 0 {
		rec.status = status
	}
	rec.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (rec *record) Write(b []byte) (int, error) {
	if rec.status == 0 {
		rec.status = http.StatusOK
	}
	n, err := rec.ResponseWriter.Write(b)
	rec.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (rec *record) Unwrap() http.ResponseWriter { return rec.ResponseWriter }

type recordKey struct{}

// recordOf finds the record of a request; outside of observe there is an empty one.
func recordOf(r *http.Request) *record {
	if rec, ok := r.Context().Value(recordKey{}).(*record); ok {
		return rec
	}
	return &record{}
}

// observe gives every request its id, sets the headers that every answer has, turns a panic into a 500 and writes the
// access log.
func (a *API) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := a.o.Now()
		rec := &record{ResponseWriter: w, id: idOf(r), route: "unknown"}
		h := w.Header()
		h.Set("X-Request-Id", rec.id)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		r = r.WithContext(context.WithValue(r.Context(), recordKey{}, rec))
		defer a.access(rec, r, start)
		defer a.rescue(rec, r)
		next.ServeHTTP(rec, r)
	})
}

// rescue answers a request whose handler panicked.
func (a *API) rescue(rec *record, r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(v)
	}
	a.o.Logger.LogAttrs(r.Context(), slog.LevelError, "panic in a request", slog.String("request", rec.id),
		slog.String("route", rec.route), slog.String("panic", fmt.Sprint(v)), slog.String("stack", string(debug.Stack())))
	if rec.status != 0 { // half an answer is out already: break it off, so that nobody takes it for whole
		panic(http.ErrAbortHandler)
	}
	_ = write(rec, http.StatusInternalServerError, failure{"internal error"})
}

// slowRequest is how long a request may take before the log tells of it.
const slowRequest = time.Second

// access measures a request and writes its line: at debug level, or as a warning when it was slow.
func (a *API) access(rec *record, r *http.Request, start time.Time) {
	took := a.o.Now().Sub(start)
	a.o.Meter.Answered(methodLabel(r.Method), rec.route, rec.status, took)
	level, message := slog.LevelDebug, "request"
	if took > slowRequest {
		level, message = slog.LevelWarn, "slow request"
	}
	if !a.o.Logger.Enabled(r.Context(), level) {
		return
	}
	a.o.Logger.LogAttrs(r.Context(), level, message, slog.String("request", rec.id), slog.String("method", methodName(r.Method)),
		slog.String("route", rec.route), slog.Int("status", rec.status), slog.Int64("bytes", rec.bytes),
		slog.Duration("took", took), slog.String("client", a.clientIP(r).String()))
}

// idOf is the request's id: the one that the client or a proxy gave it, if that has the right form, else a new one.
func idOf(r *http.Request) string {
	if id := r.Header.Get("X-Request-Id"); requestID.MatchString(id) {
		return id
	}
	return newRequestID()
}

// newRequestID makes 16 hex digits.
func newRequestID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return hex.EncodeToString(b[:])
}
