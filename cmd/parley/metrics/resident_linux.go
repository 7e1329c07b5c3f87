package metrics

import (
	"os"
	"strconv"
	"strings"
)

// residentBytes is the memory that the process has in use, by the system's account; 0 when that can't be read.
func residentBytes() int64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text)) // in pages: size, resident, …
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}
