package rest

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"parley/actors/kernel"
)

// statusError is a failure of HTTP itself, which the domain has no code for.
type statusError struct {
	status  int
	message string
}

func (e *statusError) Error() string { return e.message }

var errNoPath = &statusError{http.StatusNotFound, "there is nothing at this address"}

// failure is what a client is told: {"error": sentence} (decision 3).
type failure struct {
	Error string `json:"error"`
}

// statuses are the HTTP statuses of the domain's codes (decision 3).
var statuses = map[kernel.Code]int{
	kernel.CodeInvalid:      http.StatusBadRequest,
	kernel.CodeUnauthorized: http.StatusUnauthorized,
	kernel.CodeForbidden:    http.StatusForbidden,
	kernel.CodeNotFound:     http.StatusNotFound,
	kernel.CodeTaken:        http.StatusConflict,
	kernel.CodeGone:         http.StatusGone,
	kernel.CodeTooLarge:     http.StatusRequestEntityTooLarge,
	kernel.CodeLimited:      http.StatusTooManyRequests,
	kernel.CodeOverloaded:   http.StatusServiceUnavailable,
	kernel.CodeUnavailable:  http.StatusServiceUnavailable,
	kernel.CodeUnsupported:  http.StatusNotImplemented,
	kernel.CodeInternal:     http.StatusInternalServerError,
}

// defaultRetry is the Retry-After of an answer that needs one when the failure names none.
const defaultRetry = time.Second

// describe finds the status and the sentence of an error, and how long to wait before the next try (0: not said). The
// sentence of a failure of the server is always the same; its cause is for the log.
func describe(err error) (status int, message string, retry time.Duration) {
	var own *statusError
	if errors.As(err, &own) {
		return own.status, own.message, 0
	}
	var known *kernel.Error
	if !errors.As(err, &known) && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)) {
		known = kernel.ErrTimeout
	} else {
		known = kernel.AsError(err)
	}
	status, ok := statuses[known.Code]
	if !ok || status == http.StatusInternalServerError {
		return http.StatusInternalServerError, kernel.ErrInternal.Message, 0
	}
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		retry = max(known.RetryAfter, defaultRetry)
	}
	return status, known.Message, retry
}

// fail answers an error: the one place where errors become answers.
func (a *API) fail(w http.ResponseWriter, r *http.Request, err error) {
	status, message, retry := describe(err)
	if retry > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt(int64((retry+time.Second-1)/time.Second), 10))
	}
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	rec := recordOf(r)
	attrs := []slog.Attr{slog.String("request", rec.id), slog.String("method", methodName(r.Method)), slog.String("route", rec.route),
		slog.Int("status", status), slog.Any("error", err)}
	switch {
	case errors.Is(r.Context().Err(), context.Canceled): // the client has gone, whatever failed
		a.o.Logger.LogAttrs(r.Context(), slog.LevelDebug, "request abandoned", attrs...)
	case status == http.StatusInternalServerError:
		a.o.Logger.LogAttrs(r.Context(), slog.LevelError, "request failed", attrs...)
	case status > http.StatusInternalServerError:
		a.o.Logger.LogAttrs(r.Context(), slog.LevelWarn, "request refused", attrs...)
	}
	_ = write(w, status, failure{message}) // a struct of a string always encodes
}
