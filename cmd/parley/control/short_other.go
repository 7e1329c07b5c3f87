//go:build !linux

package control

import "fmt"

// maxPath is the longest path of a Unix socket in bytes: BSD kernels have room for 104 with a zero at the end.
const maxPath = 103

// short refuses a path that the kernel has no room for.
func short(path string) (name string, release func(), err error) {
	if len(path) > maxPath {
		return "", nil, fmt.Errorf("the path is %d bytes long, this system allows %d; choose a shorter data folder", len(path), maxPath)
	}
	return path, func() {}, nil
}
