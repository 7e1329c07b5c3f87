package main

import (
	"context"
	"runtime"

	"parley/cmd/parley/metrics"
)

// startMetrics makes the set that every layer reports to. It comes first, and there is nothing to end.
func (s *server) startMetrics(context.Context, func(func())) error {
	s.metrics = metrics.New(metrics.Options{Instance: s.config.Instance, Logger: s.log,
		Build: metrics.Build{Version: buildVersion(), Revision: buildRevision(), Go: runtime.Version()}})
	return nil
}

// watchMetrics lets the set look at the parts that do not report by themselves.
func (s *server) watchMetrics() {
	s.metrics.Watch(metrics.Sources{System: s.system, Actors: s.actors, Sessions: s.registry, Platform: s.platform, Hub: s.hub})
}
