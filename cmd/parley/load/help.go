package load

import (
	"fmt"
	"strings"
)

// longHelp is the command's long text. It documents every field of the result; a test compares it
// with the type.
func longHelp() string {
	var b strings.Builder
	b.WriteString(helpIntro)
	b.WriteString("\nScenarios (--scenario), each a set of flags that the command line overrides:\n")
	for _, s := range scenarios {
		fmt.Fprintf(&b, "  %-10s %s\n", s.name, s.about)
		for _, f := range s.flags {
			fmt.Fprintf(&b, "  %-10s   --%s=%s\n", "", f[0], f[1])
		}
	}
	b.WriteString("\nFields of the result (--json); times in the unit of their name, sizes in bytes:\n")
	for _, f := range resultFields {
		fmt.Fprintf(&b, "  %-32s %s\n", f[0], f[1])
	}
	return b.String()
}

const helpIntro = `Open many connections to a running server, join them to rooms, post, and report
what it took. Accounts and rooms are made through the public API; every account
comes from a loopback address of its own (127.0.0.0/8) when the server listens on
one, so that neither ephemeral ports nor limits per address bound the run.

Every post carries its run, room, poster, sequence and scheduled time. Every
receiver checks that it gets each one exactly once, in the room's order. A post is
lost when it was acknowledged and a connection that was there to the end did not
get it. The exit code is 1 when anything of "failures" happened.

At a fixed --rate latency counts from the time for which a post was scheduled, so
a server that stalls cannot hide it. In a closed loop (--rate 0) it counts from
the write.
`

// resultFields explain the fields of Result and of what it holds, in the order of output.
var resultFields = [][2]string{
	{"ok", "true when nothing of failures happened; decides the exit code"},
	{"failures", "what went wrong, a text each with its count"},
	{"notes", "what limits the meaning of the figures"},
	{"run", "the run's id, part of all names it made"},
	{"scenario", "the preset, absent without one"},
	{"url", "--url"},
	{"format", "--format"},
	{"connections", "connections asked for"},
	{"accounts", "accounts registered"},
	{"rooms", "rooms made"},
	{"posters", "connections that post"},
	{"rate", "posts per second of the schedule; 0: closed loop"},
	{"size", "bytes of a post's content"},
	{"provision_seconds", "time to make accounts, sessions and rooms"},
	{"joined", "connections that came into their room"},
	{"connect_failed", "connections that did not"},
	{"connect_seconds", "time from the first dial to the last join"},
	{"connects_per_second", "joined / connect_seconds: dial, handshake, authentication and join"},
	{"connect", "latency from dial to join, of each connection"},
	{"window_seconds", "length of the measured window, after --warmup"},
	{"posts_per_second", "posts acknowledged in the window, per second"},
	{"deliveries_per_second", "messages received in the window over all connections, per second"},
	{"ack", "latency from the scheduled time of a post to its ack, of the window's posts"},
	{"delivery", "latency from the scheduled time of a post to each of its receivers"},
	{"generator_lag", "how late the generator itself wrote posts of a fixed schedule (it is part of both latencies)"},
	{"generator_cpu_cores", "CPU time of this program in the window, per second"},
	{"generator_cpu_us_per_delivery", "the same per message received"},
	{"posted", "posts of the whole run"},
	{"acked", "of these, acknowledged: durable"},
	{"refused", "of these, answered with ok: false"},
	{"unanswered", "of these, never answered"},
	{"held_by_socket_rate", "posts of a closed loop that waited for --socket-rate"},
	{"delivered", "different messages received over all connections"},
	{"lost", "acknowledged posts that a connection did not get"},
	{"repeated", "messages that a connection got again"},
	{"out_of_order", "messages whose seq was not above the last one, or that came after a later one of their poster"},
	{"misrouted", "messages of a room that the connection had not joined or had left"},
	{"without_seq", "messages without the field seq"},
	{"not_understood", "frames and acks that could not be understood"},
	{"other_events", "events that a load test has no use for, such as members-updated"},
	{"error_events", "events \"error\" from the server"},
	{"closed_unexpectedly", "connections that ended after they had joined"},
	{"connect_failures", "the different reasons of connect_failed, each {text, count}"},
	{"closes", "the different reasons and close codes of closed_unexpectedly, each {text, count}"},
	{"errors", "the different texts of error events and refusals, each {text, count}"},
	{"storm", "absent without --storm:"},
	{"  dropped", "connections that were dropped at once"},
	{"  back", "of these, back in their room"},
	{"  gaps", "of these, told that the server could not give them all that they missed"},
	{"  seconds", "from the drop to the last one that was back and had caught up"},
	{"  return", "latency from the drop until a connection was back and had caught up"},
	{"  others_meanwhile", "latency of deliveries to those that stayed, while any was away; delivery has those of the other time"},
	{"slow", "--slow"},
	{"cut_off", "of these, ended by the server"},
	{"server", "the server's process; absent when it could not be inspected:"},
	{"  pid", "its id"},
	{"  rss_before", "resident memory before connecting, after --settle"},
	{"  rss_connected", "resident memory with all connections joined, after --settle"},
	{"  anon_before", "the anonymous part of rss_before: without files mapped into memory"},
	{"  anon_connected", "the anonymous part of rss_connected"},
	{"  pss_connected", "proportional set size with all connections, where it may be read"},
	{"  rss_after", "resident memory at the end of the measured window"},
	{"  rss_added_per_connection", "(rss_connected - rss_before) / joined"},
	{"  anon_added_per_connection", "(anon_connected - anon_before) / joined"},
	{"  rss_total_per_connection", "rss_connected / joined"},
	{"  cpu_seconds", "user and system time in the window"},
	{"  cpu_cores", "cpu_seconds / window_seconds"},
	{"  cpu_us_per_delivery", "cpu_seconds per message received in the window, in microseconds"},
	{"  cpu_us_per_post", "cpu_seconds per post acknowledged in the window, in microseconds"},
	{"latencies", "connect, ack, delivery, generator_lag, return and others_meanwhile are objects:"},
	{"  count", "values"},
	{"  p50_ms", "median, in milliseconds"},
	{"  p90_ms", "90th percentile"},
	{"  p99_ms", "99th percentile"},
	{"  p999_ms", "99.9th percentile"},
	{"  max_ms", "largest"},
}
