package main

import "syscall"

// spareFiles are the descriptors that are left for the store, requests and mail.
const spareFiles = 512

// maxConns is the number of live connections that the limit of open files has room for; 0, no bound, where there is no
// such limit. The Go runtime has raised the limit as far as it may.
func maxConns() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Cur > 1<<30 {
		return 0
	}
	return max(int(limit.Cur)-spareFiles, spareFiles)
}
