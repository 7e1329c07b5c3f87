package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestPressure(t *testing.T) {
	meminfo := func(total, available string) string {
		return "MemTotal:       " + total + " kB\nMemFree:          1 kB\nMemAvailable:   " + available + " kB\n"
	}
	for name, c := range map[string]struct {
		files map[string]string
		short bool
	}{
		"nothing is known": {},
		"plenty":           {files: map[string]string{"proc/meminfo": meminfo("24000000", "20000000")}},
		"the machine":      {files: map[string]string{"proc/meminfo": meminfo("24000000", "700000")}, short: true},
		"a small machine":  {files: map[string]string{"proc/meminfo": meminfo("500000", "60000")}, short: true},
		"a container without a limit": {files: map[string]string{"proc/meminfo": meminfo("24000000", "20000000"),
			"sys/fs/cgroup/memory.max": "max\n", "sys/fs/cgroup/memory.current": "23000000000\n"}},
		"a full container": {files: map[string]string{"proc/meminfo": meminfo("24000000", "20000000"),
			"sys/fs/cgroup/memory.max": "1000000000\n", "sys/fs/cgroup/memory.current": "990000000\n"}, short: true},
		"a container full of files": {files: map[string]string{"proc/meminfo": meminfo("24000000", "20000000"),
			"sys/fs/cgroup/memory.max": "1000000000\n", "sys/fs/cgroup/memory.current": "990000000\n",
			"sys/fs/cgroup/memory.stat": "anon 5\ninactive_file 500000000\n"}},
		"rubbish": {files: map[string]string{"proc/meminfo": "MemTotal:\nMemAvailable: many kB\n", "sys/fs/cgroup/memory.max": "\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPressure(t.TempDir())
			write(t, p.root, c.files)
			if why := p.Why(); (why != "") != c.short || c.short && !strings.Contains(why, "MiB of memory are left") {
				t.Errorf("%q", why)
			}
		})
	}
}

// TestPressureLooksAgain: one look counts for a while, and not for longer.
func TestPressureLooksAgain(t *testing.T) {
	p := newPressure(t.TempDir())
	now := time.Unix(1000, 0)
	p.now = func() time.Time { return now }
	if why := p.Why(); why != "" {
		t.Fatal(why)
	}
	write(t, p.root, map[string]string{"proc/meminfo": "MemTotal: 500000 kB\nMemAvailable: 10 kB\n"})
	if why := p.Why(); why != "" {
		t.Error("at once:", why)
	}
	now = now.Add(pressureEvery)
	if why := p.Why(); why == "" {
		t.Error("nothing was noticed")
	}
}

func write(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		at := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
