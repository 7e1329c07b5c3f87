package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
)

// startProfiling serves Go's profiling pages on a loopback address of their own, if one is configured.
func (s *server) startProfiling(_ context.Context, end func(func())) error {
	if s.config.PprofListen == "" {
		return nil
	}
	listener, err := net.Listen("tcp", s.config.PprofListen)
	if err != nil {
		return fmt.Errorf("profiling: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	pages := &http.Server{Handler: mux, ReadHeaderTimeout: headerTimeout}
	go func() {
		if err := pages.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("profiling ended", "error", err)
		}
	}()
	end(func() { _ = pages.Close() })
	s.log.Info("profiling", "address", listener.Addr().String())
	return nil
}
