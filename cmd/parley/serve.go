package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"parley/actors/account"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/actors/mirror"
	"parley/actors/platform"
	agentrun "parley/actors/run" // run is what tests call
	"parley/actors/session"
	"parley/cmd/parley/control"
	"parley/cmd/parley/metrics"
	"parley/config"
	"parley/persistence/bolt"
	"parley/transport/outbound/chain"
	"parley/transport/outbound/mail"
	"parley/transport/realtime"
	"parley/transport/realtime/conn"
	"parley/transport/rest"
)

// Time limits of the server.
const (
	// drainTime is how long a drain may take in all (decisions, run-time interface: gone within 10 s).
	drainTime = 9 * time.Second
	// closeSpread is the time over which live connections are closed.
	closeSpread = 3 * time.Second
	// actorsTime is how long the actors may take to sleep.
	actorsTime = 3 * time.Second

	headerTimeout = 10 * time.Second // to read a request's header
	readTimeout   = 60 * time.Second // to read a request
	writeTimeout  = 60 * time.Second // to write an answer; live connections have limits of their own
	idleTimeout   = 2 * time.Minute  // between two requests of a connection
	maxHeader     = 32 << 10         // bytes of a request's header
)

// serveCommand runs the server until SIGTERM or SIGINT.
func serveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the server",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			s := &server{config: c, log: newLogger(c, cmd.ErrOrStderr()), out: cmd.OutOrStdout()}
			go func() {
				<-ctx.Done()
				stop() // a second signal ends the process at once
			}()
			return s.run(ctx)
		},
	}
	config.AddFlags(cmd.Flags())
	return cmd
}

func newLogger(c *config.Config, w io.Writer) *slog.Logger {
	o := &slog.HandlerOptions{Level: c.LogLevel}
	if c.LogFormat == config.FormatJSON {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

// server is the composition root: it alone knows every part. Parts are built in the order of their dependencies and
// ended in reverse.
type server struct {
	config *config.Config
	log    *slog.Logger
	out    io.Writer

	draining atomic.Bool
	metrics  *metrics.Set
	key      config.Key
	store    *bolt.Store
	system   *kernel.System
	actors   *kernel.Local
	registry *session.Registry
	platform *platform.Platform
	hub      *conn.Hub
	realtime *realtime.Server
	http     *http.Server
	listener net.Listener
}

func (s *server) run(ctx context.Context) (err error) {
	var ends []func()
	defer func() {
		for i := len(ends) - 1; i >= 0; i-- {
			ends[i]()
		}
	}()
	end := func(f func()) { ends = append(ends, f) }
	for _, start := range []func(context.Context, func(func())) error{s.startMetrics, s.openStore, s.openListener, s.startActors, s.startRealtime, s.startProfiling, s.startSettler} {
		if err := start(ctx, end); err != nil {
			return err
		}
	}
	return s.listen(ctx)
}

// openStore opens the embedded store and the control socket for backups. The secret key comes first: a new one is made
// only where there is no store yet.
func (s *server) openStore(ctx context.Context, end func(func())) (err error) {
	if s.key, err = config.SecretKey(s.config.DataDir, s.config.Secret); err != nil {
		return fmt.Errorf("secret key: %w", err)
	}
	store, err := bolt.Open(ctx, bolt.Options{Path: s.config.StorePath(), Logger: s.log})
	if err != nil {
		return fmt.Errorf("open the store: %w", err)
	}
	s.store = store
	end(func() {
		if err := store.Close(); err != nil {
			s.log.Error("store can't be closed", "error", err)
		}
	})
	ctl, err := control.Serve(context.WithoutCancel(ctx), control.Path(s.config.DataDir), func(ctx context.Context, w io.Writer) error {
		_, err := store.Backup(ctx, w)
		return err
	})
	if err != nil {
		return err
	}
	end(func() { _ = ctl.Close() }) // the socket is of no use to anybody now
	return nil
}

// openListener takes the address before anything derives links from it. Requests wait until listen accepts them.
func (s *server) openListener(_ context.Context, end func(func())) error {
	listener, err := net.Listen("tcp", s.config.Listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	end(func() { _ = listener.Close() }) // closed already after a drain
	s.listener = listener
	return s.config.Bound(listener.Addr())
}

// startActors builds the actors and what they need from outside.
func (s *server) startActors(ctx context.Context, end func(func())) error {
	sealer, err := account.NewSealer(s.key[:])
	if err != nil {
		return err
	}
	s.system = kernel.NewSystem(kernel.Options{Store: s.store, Logger: s.log, Meter: s.metrics})
	end(s.system.Close)
	s.actors = kernel.NewLocal(s.system)
	end(func() { s.actors.Close(time.Now().Add(actorsTime)) })
	s.registry = session.NewRegistry()
	s.actors.Register(account.Kind, account.Factory(account.Ports{Revoker: s.registry, Sealer: sealer}))
	outlet := mirror.Outlet{Local: s.actors, Live: s.registry}
	s.actors.Register(agency.ActorKind, agency.Factory(agency.Ports{Publisher: outlet}))
	s.actors.Register(mirror.Kind, mirror.Factory(s.actors, s.registry))
	s.actors.Register(agentrun.ActorKind, agentrun.Factory(agentrun.Ports{Room: outlet, Agents: s.registry, Directory: s.actors}))
	mailer, err := mail.New(mail.Options{Server: s.config.SMTP, Folder: s.config.OutboxPath(), From: s.config.MailFrom.String(), Log: s.log})
	if err != nil {
		return err
	}
	network := platform.Network(s.config.WalletNetwork)
	node, err := s.chain(network)
	if err != nil {
		return err
	}
	s.platform, err = platform.New(ctx, platform.Options{Directory: s.actors, Store: s.store, Hasher: account.NewHasher(), Live: s.registry,
		WebURL: s.config.WebURL.String(), PublicURL: s.config.PublicURL.String(), Mailer: mailer, Network: network, Chain: node, Log: s.log})
	if err != nil {
		return err
	}
	end(s.platform.Close)
	out := mirror.Outlet{Local: s.actors, Live: s.registry}
	watch := session.NewWatch(session.WatchOptions{Registry: s.registry, Store: s.store, Directory: s.actors, Touch: out.Touch,
		Followed: out.Followed, Log: s.log})
	end(watch.Close)
	return nil
}

// chain is the access to the block chain of the wallets, nil for none.
func (s *server) chain(network platform.Network) (platform.Chain, error) {
	if s.config.WalletNode == nil {
		return nil, nil
	}
	return chain.New(chain.Options{URL: s.config.WalletNode, Network: network})
}

func (s *server) startRealtime(_ context.Context, end func(func())) error {
	s.hub = conn.NewHub(conn.Options{MaxConns: maxConns(), Logger: s.log})
	end(s.hub.Close)
	s.realtime = realtime.New(realtime.Options{Hub: s.hub, Auth: s.platform, Commands: s.platform, System: s.system, Directory: s.actors, Registry: s.registry,
		PublicURL: s.config.PublicURL, WebURL: s.config.WebURL, PingInterval: conn.DefaultPingInterval,
		PingTimeout: conn.DefaultPingTimeout, MaxFrame: conn.DefaultMaxFrame, Logger: s.log, Meter: s.metrics})
	s.watchMetrics()
	return nil
}

// liveHandlers are what takes connections over, with new ones held back when all come at once or memory is short.
func (s *server) liveHandlers() map[string]http.Handler {
	door := realtime.NewAdmission(realtime.AdmissionOptions{Pressure: newPressure("/").Why, Refused: func(why string) {
		s.metrics.Refused(realtime.RefusedOverload)
		s.log.Debug("connection turned away", "reason", why)
	}})
	return map[string]http.Handler{"/socket.io/": door.Guard(s.realtime.SocketIO()), "/ws": door.Guard(s.realtime.Plain())}
}

// listen serves requests until ctx ends or the listener fails, then drains.
func (s *server) listen(ctx context.Context) error {
	api, err := rest.New(rest.Options{Service: s.platform, Vendors: s.config.Vendors, PublicURL: s.config.PublicURL,
		WebURL: s.config.WebURL, TrustedProxies: s.config.TrustedProxies, RateLimitExempt: s.config.RateLimitExempt,
		Logger: s.log, Draining: s.draining.Load, Metrics: s.metrics, MetricsToken: s.config.MetricsToken, Meter: s.metrics,
		Realtime: s.liveHandlers()})
	if err != nil {
		return err
	}
	s.http = &http.Server{Handler: api, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug)}
	failed := make(chan error, 1)
	go func() { failed <- s.http.Serve(s.listener) }()
	_, _ = fmt.Fprintf(s.out, "listening on http://%s\n", s.listener.Addr())
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
		return s.drain()
	}
}

// drain ends the service within drainTime: no new connections, then the live ones are closed, then requests that are
// being served end. What was acknowledged is on disk already.
func (s *server) drain() error {
	s.log.Info("draining", "connections", s.realtime.Connections())
	s.draining.Store(true)
	ctx, cancel := context.WithTimeout(context.Background(), drainTime-actorsTime)
	defer cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- s.http.Shutdown(ctx) }()
	if err := s.realtime.Drain(ctx, closeSpread); err != nil {
		s.log.Warn("connections were cut", "left", s.realtime.Connections())
	}
	if err := <-stopped; err != nil {
		s.log.Warn("requests were cut", "error", err)
		_ = s.http.Close() // the deadline has passed
	}
	s.log.Info("stopped")
	return nil
}
