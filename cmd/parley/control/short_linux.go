package control

import (
	"fmt"
	"os"
	"path/filepath"
)

// maxPath is the longest path of a Unix socket in bytes: the kernel has room for 108 with a zero at the end.
const maxPath = 107

// short returns a name for a socket's path that fits into the kernel's address, and a function to call once it was
// used. A path that is too long goes through a descriptor of its folder.
func short(path string) (name string, release func(), err error) {
	if len(path) <= maxPath {
		return path, func() {}, nil
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return "", nil, err
	}
	name = fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path))
	return name, func() { _ = dir.Close() }, nil // only named
}
