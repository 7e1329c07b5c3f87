package kernel

import (
	"errors"
	"fmt"
	"time"

	"parley/persistence"
)

// Code says what kind of failure an error is. Transports turn a code into an HTTP status or a realtime answer in one
// place each; the sentence goes to the caller as it is.
type Code uint8

// Codes of errors (decision 3).
const (
	CodeInternal     Code = iota // a bug or a broken part of the server
	CodeInvalid                  // malformed or out of the rules
	CodeUnauthorized             // no or bad credential
	CodeForbidden                // known but not allowed
	CodeNotFound                 // absent, or not visible to the caller
	CodeTaken                    // held by somebody else, or in a state that forbids it
	CodeGone                     // expired or exhausted
	CodeTooLarge                 // over a limit of size
	CodeLimited                  // too many requests; RetryAfter says when
	CodeOverloaded               // the server's queues are full; nothing was done
	CodeUnavailable              // the store can't answer; the outcome of a write is unknown
	CodeUnsupported              // this server is not set up for it
)

// Error is a failure that the caller is told about.
type Error struct {
	Code       Code
	Message    string        // a sentence a person can act on, without secrets
	RetryAfter time.Duration // with CodeLimited and CodeOverloaded
	cause      error
}

func (e *Error) Error() string {
	if e.cause != nil {
		return e.Message + ": " + e.cause.Error()
	}
	return e.Message
}

func (e *Error) Unwrap() error { return e.cause }

// Fail makes an error with a sentence for the caller.
func Fail(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Invalid is Fail(CodeInvalid, …).
func Invalid(format string, args ...any) *Error { return Fail(CodeInvalid, format, args...) }

// NotFound is Fail(CodeNotFound, …).
func NotFound(format string, args ...any) *Error { return Fail(CodeNotFound, format, args...) }

// Forbidden is Fail(CodeForbidden, …).
func Forbidden(format string, args ...any) *Error { return Fail(CodeForbidden, format, args...) }

// Errors of the kernel itself.
var (
	// ErrOverloaded: a mailbox, the committer or the reading pool is full; nothing was done.
	ErrOverloaded = &Error{Code: CodeOverloaded, Message: "the server is overloaded, try again shortly", RetryAfter: time.Second}
	// ErrUnavailable: the store did not confirm in time.
	ErrUnavailable = &Error{Code: CodeUnavailable, Message: "the server can't reach its store, try again shortly"}
	// ErrInternal: the actor failed on this command and was rebuilt.
	ErrInternal = &Error{Code: CodeInternal, Message: "internal error"}
	// ErrTimeout: the caller's deadline passed before the answer.
	ErrTimeout = &Error{Code: CodeUnavailable, Message: "the server did not answer in time"}

	errStopped = errors.New("actor stopped")
)

// AsError finds the Error in err. Errors of the store become ErrUnavailable and anything else ErrInternal, with err kept
// as the cause for the log.
func AsError(err error) *Error {
	var e *Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e):
		return e
	case errors.Is(err, persistence.ErrTooLarge):
		return &Error{Code: CodeTooLarge, Message: "too large to be stored", cause: err}
	case errors.Is(err, persistence.ErrUnavailable), errors.Is(err, persistence.ErrClosed),
		errors.Is(err, persistence.ErrFenced), errors.Is(err, persistence.ErrConflict), errors.Is(err, errStopped):
		return &Error{Code: CodeUnavailable, Message: ErrUnavailable.Message, cause: err}
	default:
		return &Error{Code: CodeInternal, Message: ErrInternal.Message, cause: err}
	}
}
