package load

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
)

func TestFindProcess(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := netip.MustParseAddrPort(listener.Addr().String())
	if pid, err := findProcess(addr); err != nil || pid != os.Getpid() {
		t.Fatalf("%d, %v", pid, err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if pid, err := findProcess(addr); !errors.Is(err, errNoProcess) {
		t.Fatalf("%d, %v", pid, err)
	}
}

func TestParseProcAddr(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0100007F:1F90":                         "127.0.0.1:8080",
		"00000000:0050":                         "0.0.0.0:80",
		"00000000000000000000000001000000:0016": "[::1]:22",
		"0000000000000000FFFF00000100007F:0016": "127.0.0.1:22",
	} {
		if got, ok := parseProcAddr(text); !ok || got.String() != want {
			t.Errorf("%s: %s", text, got)
		}
	}
	for _, bad := range []string{"", "x", "01:02", "0100007F:FFFFF", "0100007F"} {
		if _, ok := parseProcAddr(bad); ok {
			t.Errorf("%q accepted", bad)
		}
	}
}

func TestSampleProcess(t *testing.T) {
	t.Parallel()
	s, err := sampleProcess(os.Getpid())
	if err != nil || s.rss < 1<<20 || s.anon <= 0 || s.anon > s.rss {
		t.Fatalf("%+v, %v", s, err)
	}
	if _, err := sampleProcess(1 << 30); err == nil {
		t.Fatal("a process that does not exist was read")
	}
}

func TestRaiseFiles(t *testing.T) {
	t.Parallel()
	if err := raiseFiles(10); err != nil {
		t.Fatal(err)
	}
	// More than the kernel's own limit does not fit even for root.
	if err := raiseFiles(1 << 40); err == nil || !strings.Contains(err.Error(), "--connections") {
		t.Fatal(err)
	}
}
