package metrics

import (
	"fmt"
	"strings"
)

// Kinds of metrics.
const (
	counter   = "counter"
	gauge     = "gauge"
	histogram = "histogram"
)

// metric is a row of the table that the registry and the page for operators are made from.
type metric struct {
	name   string
	kind   string
	labels []string
	help   string
}

// Names of metrics.
const (
	httpRequests    = "parley_http_requests_total"
	httpSeconds     = "parley_http_request_seconds"
	connections     = "parley_realtime_connections"
	accepted        = "parley_realtime_accepted_total"
	refused         = "parley_realtime_refused_total"
	ended           = "parley_realtime_ended_total"
	operations      = "parley_realtime_operations_total"
	operationTook   = "parley_realtime_operation_seconds"
	framesSent      = "parley_realtime_frames_sent_total"
	bytesSent       = "parley_realtime_bytes_sent_total"
	fanoutEvents    = "parley_fanout_events_total"
	fanoutSent      = "parley_fanout_deliveries_total"
	fanoutSeconds   = "parley_fanout_seconds"
	commitSeconds   = "parley_store_commit_seconds"
	commitBatches   = "parley_store_commit_batches"
	batchesRefused  = "parley_store_batches_refused_total"
	queueBatches    = "parley_committer_queue_batches"
	queueBytes      = "parley_committer_queue_bytes"
	readsWaiting    = "parley_reads_waiting"
	readsRunning    = "parley_reads_running"
	actorsAwake     = "parley_actors_awake"
	mailboxDepth    = "parley_mailbox_depth"
	mailboxMessages = "parley_mailbox_messages"
	mailboxDeepest  = "parley_mailbox_deepest"
	callsOverloaded = "parley_calls_overloaded_total"
	actorFailures   = "parley_actor_failures_total"
	errandsPending  = "parley_errands_pending"
	buildInfo       = "parley_build_info"
)

// table is every metric of our own.
var table = []metric{
	{httpRequests, counter, []string{"method", "route", "status"}, "requests answered, by the pattern of their path and the class of the status (2xx)"},
	{httpSeconds, histogram, []string{"method", "route", "status"}, "how long they took; live connections are not among them"},
	{connections, gauge, []string{"format"}, "live connections, those that are closing included"},
	{accepted, counter, []string{"format"}, "handshakes that became connections"},
	{refused, counter, []string{"reason"}, "handshakes and credentials that were turned away"},
	{ended, counter, []string{"format", "reason"}, "connections that ended; slow_consumer are those that were cut off"},
	{operations, counter, []string{"operation", "result"}, "events of clients that were answered"},
	{operationTook, histogram, []string{"operation"}, "how long the answer took, commit included"},
	{framesSent, counter, nil, "WebSocket frames that the system took whole, and packets in answers to polls"},
	{bytesSent, counter, nil, "bytes of frames that the system took"},
	{fanoutEvents, counter, nil, "events that were handed to the sockets of a room"},
	{fanoutSent, counter, nil, "the same, times the sockets that each was handed to"},
	{fanoutSeconds, histogram, nil, "how long it took to hand events to all sockets of a room; one time in eight is measured"},
	{commitSeconds, histogram, nil, "how long the store took for one round trip, disk included"},
	{commitBatches, histogram, nil, "batches of actors that one round trip carried"},
	{batchesRefused, counter, nil, "batches that the store refused; some for what they claim, which is no fault"},
	{queueBatches, gauge, nil, "batches that wait for the store; over 65,536 writes are refused"},
	{queueBytes, gauge, nil, "their size"},
	{readsWaiting, gauge, nil, "reads that wait for one of 32 places; over 16,384 they are refused"},
	{readsRunning, gauge, nil, "reads that are being done"},
	{actorsAwake, gauge, []string{"kind"}, "actors in memory"},
	{mailboxDepth, histogram, nil, "calls that a call to an actor found in front of it in the mailbox"},
	{mailboxMessages, gauge, []string{"kind"}, "messages that wait in all mailboxes of a kind"},
	{mailboxDeepest, gauge, []string{"kind"}, "messages in the fullest of them; over 4,096 calls are refused"},
	{callsOverloaded, counter, []string{"kind"}, "calls refused because a mailbox, the store's queue or the reads were full"},
	{actorFailures, counter, nil, "actors that panicked and were rebuilt: each is a bug, and logged"},
	{errandsPending, gauge, nil, "work between actors that is promised and not done, up to 1,000; it should fall to 0 within a minute"},
	{buildInfo, gauge, []string{"version", "revision", "go"}, "always 1"},
}

// find returns a row.
func find(name string) metric {
	for _, m := range table {
		if m.name == name {
			return m
		}
	}
	panic("no metric " + name) // the names are constants of this file
}

// Reference is the table in Markdown.
func Reference() string {
	var b strings.Builder
	b.WriteString("| Metric | Type | Labels | What it is |\n|---|---|---|---|\n")
	for _, m := range table {
		labels := ""
		if len(m.labels) > 0 {
			labels = "`" + strings.Join(m.labels, "`, `") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m.name, m.kind, labels, m.help)
	}
	return b.String()
}
