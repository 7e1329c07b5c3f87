// Package resource describes what both transports show of one thing: a message is the same in a page of history and in an
// event.
package resource
