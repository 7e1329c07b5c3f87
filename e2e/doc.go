// Package e2e tests the program from outside: it builds it, runs it as a process, talks to it over REST and sockets, with
// the real socket.io-client among others, and ends it in good and bad ways. make e2e runs these tests alone.
package e2e
