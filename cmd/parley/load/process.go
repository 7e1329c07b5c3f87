package load

import "time"

// spareFiles are the descriptors that a run needs beside its sockets: pollers, provisioning, /proc.
const spareFiles = 128

// sample is the state of a process at one time. Sizes are bytes.
type sample struct {
	rss, anon, pss int64
	cpu            time.Duration // user and system time since its start
}
