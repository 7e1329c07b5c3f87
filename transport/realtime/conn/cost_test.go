package conn

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// The cost tests run the server in a process of its own (this test binary again), so that the
// clients' memory and CPU are not counted. PARLEY_CONNS sets the number of connections.

const serverEnv = "PARLEY_CONN_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(serverEnv) != "" {
		costServer()
		return
	}
	os.Exit(m.Run())
}

// costServer answers /ws, /stats and /fan until stdin ends.
func costServer() {
	hub := NewHub(Options{PingInterval: time.Hour})
	var mu sync.Mutex
	var conns []*Conn
	mux := http.NewServeMux()
	mux.HandleFunc("/ws", func(w http.ResponseWriter, r *http.Request) {
		c, err := hub.Accept(w, r, AcceptOptions{})
		if err != nil {
			return
		}
		c.Serve(&recorder{on: func(c *Conn, p []byte) { c.Push(Text(p)) }})
		mu.Lock()
		conns = append(conns, c)
		mu.Unlock()
	})
	mux.HandleFunc("/stats", func(w http.ResponseWriter, _ *http.Request) {
		runtime.GC() // what has a finaliser needs a second one
		runtime.GC()
		debug.FreeOSMemory()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		_, _ = fmt.Fprintln(w, rss(), m.HeapAlloc, m.StackInuse)
	})
	mux.HandleFunc("/fan", func(w http.ResponseWriter, r *http.Request) {
		rounds, _ := strconv.Atoi(r.FormValue("rounds"))
		burst, _ := strconv.Atoi(r.FormValue("burst"))
		cpu, elapsed := fan(conns, rounds, burst, r.FormValue("how"))
		_, _ = fmt.Fprintln(w, cpu, elapsed)
	})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(ln.Addr())
	go func() { _ = http.Serve(ln, mux) }()
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// fan sends rounds of burst frames to all and returns the microseconds of CPU and of time for
// each delivery.
func fan(conns []*Conn, rounds, burst int, how string) (cpu, elapsed float64) {
	frames := make([]*Frame, burst)
	for i := range frames {
		frames[i] = Text([]byte(strings.Repeat("x", 300)))
	}
	before, begun := cpuTime(), time.Now()
	for range rounds {
		switch how {
		case "bare":
			for _, c := range conns {
				_ = c.raw.Control(func(fd uintptr) {
					for _, f := range frames {
						_, _ = syscall.Write(int(fd), f.b)
					}
				})
			}
		default:
			for _, c := range conns {
				for _, f := range frames {
					c.Push(f)
				}
			}
			for _, c := range conns {
				for c.Waiting() > 0 {
					time.Sleep(100 * time.Microsecond)
				}
			}
		}
	}
	n := float64(rounds * burst * len(conns))
	return float64((cpuTime() - before).Nanoseconds()) / n / 1e3, float64(time.Since(begun).Nanoseconds()) / n / 1e3
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func rss() int {
	b, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "VmRSS:") {
			n, _ := strconv.Atoi(strings.Fields(line)[1])
			return n << 10
		}
	}
	return 0
}

// costRig is a server process and its clients.
type costRig struct {
	t    testing.TB
	addr string
}

func newCostRig(t testing.TB) *costRig {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), serverEnv+"=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return &costRig{t, strings.TrimSpace(addr)}
}

func (r *costRig) get(path string) []float64 {
	r.t.Helper()
	res, err := http.Get("http://" + r.addr + path)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	var nums []float64
	for _, s := range strings.Fields(string(b)) {
		x, err := strconv.ParseFloat(s, 64)
		if err != nil {
			r.t.Fatal(err)
		}
		nums = append(nums, x)
	}
	return nums
}

// connect opens n connections, each of which gets one echo.
func (r *costRig) connect(path string, n int) {
	r.t.Helper()
	var b [512]byte
	for range n {
		nc, err := net.Dial("tcp", r.addr)
		if err != nil {
			r.t.Fatal(err)
		}
		r.t.Cleanup(func() { _ = nc.Close() })
		_ = nc.SetReadDeadline(time.Now().Add(10 * time.Second))
		_, _ = nc.Write([]byte(strings.Replace(upgrade, "GET /", "GET "+path, 1)))
		if k, err := nc.Read(b[:]); err != nil || !strings.Contains(string(b[:k]), " 101 ") {
			r.t.Fatalf("%q %v", b[:k], err)
		}
		_, _ = nc.Write(text("hello"))
		if _, err := nc.Read(b[:]); err != nil {
			r.t.Fatal(err)
		}
		go func() {
			_, _ = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{nc}, make([]byte, 4096))
		}()
	}
}

func connCount(t testing.TB, d int) int {
	s := os.Getenv("PARLEY_CONNS")
	if s == "" {
		return d
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// maxConnMemory is what an idle connection may cost in bytes of resident memory.
const maxConnMemory = 7500

// TestMemory measures the resident memory of idle connections that have been used once.
func TestMemory(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector keeps memory of its own")
	}
	n := connCount(t, 1500)
	r := newCostRig(t)
	r.connect("/ws", 100)
	before := r.get("/stats")
	r.connect("/ws", n)
	after := r.get("/stats")
	per := func(i int) float64 { return (after[i] - before[i]) / float64(n) }
	t.Logf("%d connections: %.0f bytes resident each, %.0f heap, %.0f stack", n, per(0), per(1), per(2))
	if per(0) > maxConnMemory {
		t.Errorf("%.0f bytes a connection, want at most %d", per(0), maxConnMemory)
	}
}

// BenchmarkFan sends 300 bytes to 1000 connections; compare cpu-us/delivery with bare, which
// only makes the system calls.
func BenchmarkFan(b *testing.B) {
	for _, tc := range []struct {
		how   string
		burst int
	}{{"bare", 1}, {"push", 1}, {"push", 4}, {"push", 16}} {
		b.Run(fmt.Sprintf("%s-%d", tc.how, tc.burst), func(b *testing.B) {
			r := newCostRig(b)
			r.connect("/ws", connCount(b, 1000))
			b.ResetTimer()
			got := r.get(fmt.Sprintf("/fan?how=%s&burst=%d&rounds=%d", tc.how, tc.burst, b.N))
			b.ReportMetric(got[0], "cpu-us/delivery")
			b.ReportMetric(got[1], "us/delivery")
		})
	}
}
