// Command serve runs the conformance server, so that test suites which are no part of this project can be pointed at it.
package main

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"parley/transport/realtime/socketio/conformance"
)

// headerTimeout is how long the header of a request may take.
const headerTimeout = 10 * time.Second

func main() {
	var o conformance.Options
	listen := flag.String("listen", "127.0.0.1:3000", "address")
	flag.DurationVar(&o.PingInterval, "ping-interval", 0, "time between two heartbeats (default 300ms)")
	flag.DurationVar(&o.PingTimeout, "ping-timeout", 0, "time for the answer to one (default 200ms)")
	flag.IntVar(&o.MaxPayload, "max-payload", 0, "largest message in bytes (default 1000000)")
	flag.Parse()
	if err := serve(*listen, o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(listen string, o conformance.Options) error {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	s := conformance.New(o)
	defer s.Hub.Close()
	fmt.Printf("listening on http://%s\n", l.Addr())
	return (&http.Server{Handler: s, ReadHeaderTimeout: headerTimeout}).Serve(l)
}
