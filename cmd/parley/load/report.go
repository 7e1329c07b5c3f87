package load

import (
	"fmt"
	"io"
	"strings"
)

// writeReport shows a result to a person.
func writeReport(out io.Writer, r *Result) error {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-16s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("run", "%s against %s (%s)", firstOf(r.Scenario, "custom"), r.URL, r.Format)
	line("layout", "%d connections of %d accounts in %d rooms, %d posters, %d bytes a post", r.Connections, r.Accounts, r.Rooms, r.Posters, r.Size)
	line("connected", "%d in %.2f s: %.0f/s, to join %s", r.Joined, r.ConnectSeconds, r.ConnectsPerS, r.Connect)
	if s := r.Server; s != nil {
		line("server memory", "%s a connection added (anonymous %s), %s a connection in total; RSS %s before, %s connected, %s after", size(s.PerConnection), size(s.AnonPer),
			size(s.PerConnectionAll), size(s.RSSBefore), size(s.RSSConnected), size(s.RSSAfter))
		line("server CPU", "%.2f cores, %.2f µs a delivery, %.1f µs a post", s.CPUCores, s.CPUPerDelivery, s.CPUPerPost)
	}
	line("generator CPU", "%.2f cores, %.2f µs a delivery", r.GeneratorCPU, r.GeneratorCPUPer)
	if r.Posted > 0 {
		line("rates", "%.0f posts/s acked, %.0f deliveries/s over %.1f s", r.PostsPerS, r.DeliveriesPerS, r.WindowSeconds)
		line("ack latency", "%s", r.Ack)
		line("delivery latency", "%s", r.Delivery)
		if r.Rate > 0 {
			line("generator lag", "%s (part of the latencies above)", r.GeneratorLag)
		}
		line("posts", "%d posted, %d acked, %d refused, %d unanswered", r.Posted, r.Acked, r.Refused, r.Unanswered)
		line("deliveries", "%d, %d lost, %d repeated, %d out of order, %d misrouted", r.Delivered, r.Lost, r.Repeated, r.OutOfOrder, r.Misrouted)
	}
	if s := r.Storm; s != nil {
		line("storm", "%d dropped at once, %d back in %.2f s, %d with a gap; to be back and caught up %s", s.Dropped, s.Back, s.Seconds, s.Gaps, s.Return)
		line("others meanwhile", "%s", s.Others)
	}
	if r.Slow > 0 {
		line("slow readers", "%d, %d cut off", r.Slow, r.Cut)
	}
	for _, group := range []struct {
		name string
		list []Count
	}{{"not joined", r.ConnectFailures}, {"closed", r.Closes}, {"errors", r.Errors}} {
		for _, c := range group.list[:min(len(group.list), 5)] {
			line(group.name, "%d × %s", c.Count, c.Text)
		}
	}
	for _, note := range r.Notes {
		line("note", "%s", note)
	}
	line("result", "%s", firstOf(strings.Join(r.Failures, ", "), "ok"))
	_, err := io.WriteString(out, b.String())
	return err
}

// String shows the percentiles in milliseconds.
func (l Latency) String() string {
	return fmt.Sprintf("p50 %.2f, p90 %.2f, p99 %.2f, p99.9 %.2f, max %.2f ms", l.P50, l.P90, l.P99, l.P999, l.Max)
}

// size shows bytes for people.
func size(n int64) string {
	switch {
	case n >= 10<<20 || n <= -10<<20:
		return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20))
	case n >= 1<<10 || n <= -1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d B", n)
}
