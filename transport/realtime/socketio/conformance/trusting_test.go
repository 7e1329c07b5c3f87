package conformance

import (
	"net/http"

	"parley/transport/realtime/conn"
	"parley/transport/realtime/engineio"
)

// trusting is an echo server that trusts pages of one origin.
func trusting(hub *conn.Hub, origin string) *engineio.Server {
	return engineio.New(engineio.Options{Hub: hub,
		Open:     func(*engineio.Session, *http.Request) engineio.Handler { return echo{} },
		OriginOK: func(r *http.Request) bool { o := r.Header.Get("Origin"); return o == "" || o == origin }})
}
