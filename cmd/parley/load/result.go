package load

import (
	"fmt"
	"time"
)

// Result is what a run found, the object of --json. The long text of the command explains each
// field for its users.
type Result struct {
	OK       bool     `json:"ok"`
	Failures []string `json:"failures"`
	Notes    []string `json:"notes"`

	Run         string  `json:"run"`
	Scenario    string  `json:"scenario,omitempty"`
	URL         string  `json:"url"`
	Format      string  `json:"format"`
	Connections int     `json:"connections"`
	Accounts    int     `json:"accounts"`
	Rooms       int     `json:"rooms"`
	Posters     int     `json:"posters"`
	Rate        float64 `json:"rate"`
	Size        int     `json:"size"`

	ProvisionSeconds float64 `json:"provision_seconds"`
	Joined           int64   `json:"joined"`
	ConnectFailed    int64   `json:"connect_failed"`
	ConnectSeconds   float64 `json:"connect_seconds"`
	ConnectsPerS     float64 `json:"connects_per_second"`
	Connect          Latency `json:"connect"`

	WindowSeconds   float64 `json:"window_seconds"`
	PostsPerS       float64 `json:"posts_per_second"`
	DeliveriesPerS  float64 `json:"deliveries_per_second"`
	Ack             Latency `json:"ack"`
	Delivery        Latency `json:"delivery"`
	GeneratorLag    Latency `json:"generator_lag"`
	GeneratorCPU    float64 `json:"generator_cpu_cores"`
	GeneratorCPUPer float64 `json:"generator_cpu_us_per_delivery"`

	Posted     int64 `json:"posted"`
	Acked      int64 `json:"acked"`
	Refused    int64 `json:"refused"`
	Unanswered int64 `json:"unanswered"`
	Held       int64 `json:"held_by_socket_rate"`
	Delivered  int64 `json:"delivered"`
	Lost       int64 `json:"lost"`
	Repeated   int64 `json:"repeated"`
	OutOfOrder int64 `json:"out_of_order"`
	Misrouted  int64 `json:"misrouted"`
	WithoutSeq int64 `json:"without_seq"`
	Strange    int64 `json:"not_understood"`
	Other      int64 `json:"other_events"`
	ErrorCount int64 `json:"error_events"`
	Closed     int64 `json:"closed_unexpectedly"`

	ConnectFailures []Count `json:"connect_failures"`
	Closes          []Count `json:"closes"`
	Errors          []Count `json:"errors"`

	Storm *StormFigures `json:"storm,omitempty"`
	Slow  int           `json:"slow"`
	Cut   int64         `json:"cut_off"`

	Server *ServerFigures `json:"server,omitempty"`
}

// StormFigures tell of the connections that --storm dropped, and of the others meanwhile.
type StormFigures struct {
	Dropped int64   `json:"dropped"`
	Back    int64   `json:"back"`
	Gaps    int64   `json:"gaps"`
	Seconds float64 `json:"seconds"`
	Return  Latency `json:"return"`
	Others  Latency `json:"others_meanwhile"`
}

// ServerFigures are memory and CPU of the server's process. Sizes are bytes.
type ServerFigures struct {
	PID              int     `json:"pid"`
	RSSBefore        int64   `json:"rss_before"`
	RSSConnected     int64   `json:"rss_connected"`
	AnonBefore       int64   `json:"anon_before"`
	AnonConnected    int64   `json:"anon_connected"`
	PSSConnected     int64   `json:"pss_connected,omitempty"`
	RSSAfter         int64   `json:"rss_after"`
	PerConnection    int64   `json:"rss_added_per_connection"`
	AnonPer          int64   `json:"anon_added_per_connection"`
	PerConnectionAll int64   `json:"rss_total_per_connection"`
	CPUSeconds       float64 `json:"cpu_seconds"`
	CPUCores         float64 `json:"cpu_cores"`
	CPUPerDelivery   float64 `json:"cpu_us_per_delivery"`
	CPUPerPost       float64 `json:"cpu_us_per_post"`
}

func (r *Result) connects(t instant, n int64) {
	r.ConnectSeconds = time.Duration(t.at).Seconds()
	r.ConnectsPerS = float64(t.joined) / r.ConnectSeconds
	r.Joined, r.ConnectFailed = t.joined, n-t.joined
}

func (r *Result) memory(before, after sample, pid int, joined int64) {
	if pid == 0 || joined == 0 {
		return
	}
	r.Server = &ServerFigures{
		PID: pid, RSSBefore: before.rss, RSSConnected: after.rss, AnonBefore: before.anon, AnonConnected: after.anon, PSSConnected: after.pss,
		PerConnection:    (after.rss - before.rss) / joined,
		AnonPer:          (after.anon - before.anon) / joined,
		PerConnectionAll: after.rss / joined,
	}
}

func (r *Result) window(from, to instant) {
	r.WindowSeconds = time.Duration(to.at - from.at).Seconds()
	r.PostsPerS = float64(to.acked-from.acked) / r.WindowSeconds
	r.DeliveriesPerS = float64(to.delivered-from.delivered) / r.WindowSeconds
}

func (r *Result) cpu(from, to instant, before, after sample, pid int) {
	if r.Server == nil || pid == 0 {
		r.Server = nil
		return
	}
	used := after.cpu - before.cpu
	r.Server.RSSAfter = after.rss
	r.Server.CPUSeconds = used.Seconds()
	r.Server.CPUCores = used.Seconds() / r.WindowSeconds
	r.Server.CPUPerDelivery = each(used, to.delivered-from.delivered)
	r.Server.CPUPerPost = each(used, to.acked-from.acked)
}

func (r *Result) ownCPU(from, to instant, before, after sample) {
	used := after.cpu - before.cpu
	r.GeneratorCPU = used.Seconds() / r.WindowSeconds
	r.GeneratorCPUPer = each(used, to.delivered-from.delivered)
}

// each spreads a time over n things, in microseconds; 0 when there are none.
func each(used time.Duration, n int64) float64 {
	if n <= 0 {
		return 0
	}
	return float64(used.Microseconds()) / float64(n)
}

// finish adds the final count and the judgement.
func (r *Result) finish(t *tally, lost int64) {
	r.Connect, r.Ack, r.Delivery, r.GeneratorLag = t.connect.summary(), t.ack.summary(), t.delivery.summary(), t.lag.summary()
	r.Posted, r.Acked, r.Refused, r.Held = t.posted.Load(), t.acked.Load(), t.refused.Load(), t.held.Load()
	r.Unanswered = r.Posted - r.Acked - r.Refused
	r.Delivered, r.Lost, r.Repeated = t.delivered.Load(), lost, t.repeated.Load()
	r.OutOfOrder, r.Misrouted, r.WithoutSeq = t.outOfOrder.Load(), t.misrouted.Load(), t.withoutSeq.Load()
	r.Strange, r.Other, r.ErrorCount, r.Closed = t.strange.Load(), t.otherEvents.Load(), t.errorEvents.Load(), t.closed.Load()
	r.Cut = t.cut.Load()
	if dropped := t.swept.Load(); dropped > 0 {
		r.Storm = &StormFigures{Dropped: dropped, Back: t.back.Load(), Gaps: t.gaps.Load(), Return: t.returned.summary(), Others: t.during.summary()}
		r.Storm.Seconds = r.Storm.Return.Max / 1000
	}
	r.ConnectFailures, r.Closes, r.Errors = t.failures.list(), t.closes.list(), t.errors.list()
	if r.Held > r.Acked/20 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d of %d posts waited for --socket-rate: the loop was bound by the limit of inbound events a socket, more --posters would post more", r.Held, r.Posted))
	}
	r.judge()
}

// judge names what makes a run fail.
func (r *Result) judge() {
	for _, f := range []struct {
		n    int64
		what string
	}{
		{r.Lost, "deliveries lost"},
		{r.Repeated, "deliveries repeated"},
		{r.OutOfOrder, "deliveries out of order"},
		{r.Misrouted, "messages in the wrong room"},
		{r.WithoutSeq, "messages without seq"},
		{r.Strange, "frames not understood"},
		{r.Refused, "posts refused"},
		{r.Unanswered, "posts never acknowledged"},
		{r.ConnectFailed, "connections that could not join"},
		{r.Closed, "connections closed unexpectedly"},
		{r.ErrorCount, "error events"},
	} {
		if f.n > 0 {
			r.Failures = append(r.Failures, fmt.Sprintf("%d %s", f.n, f.what))
		}
	}
	if s := r.Storm; s != nil && (s.Back < s.Dropped || s.Gaps > 0) {
		r.Failures = append(r.Failures, fmt.Sprintf("%d of %d did not come back after the storm, %d came back with a gap", s.Dropped-s.Back, s.Dropped, s.Gaps))
	}
	if missing := int64(r.Slow) - r.Cut; missing > 0 {
		r.Failures = append(r.Failures, fmt.Sprintf("%d slow readers were not cut off", missing))
	}
	r.OK = len(r.Failures) == 0
}
