//go:build !linux

package load

import (
	"errors"
	"net/netip"
)

// errPlatform is what every run answers where there is no epoll and no /proc.
var errPlatform = errors.New("parley load needs Linux: it drives its sockets with epoll and reads /proc")

type loop struct{ tally *tally }

func newLoop(*engine, []*conn, int) (*loop, error) { return nil, errPlatform }

func (*loop) run() error     { return errPlatform }
func (*loop) release() error { return errPlatform }

func findProcess(netip.AddrPort) (int, error) { return 0, errPlatform }
func sampleProcess(int) (sample, error)       { return sample{}, errPlatform }
func raiseFiles(int) error                    { return errPlatform }
func isTerminal(uintptr) bool                 { return false }
