// Package load is the sub-command "parley load": it opens many connections to a running server, posts,
// and reports rates, latencies, memory and CPU, and whether every message came exactly once.
package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// errFailed is the answer to a run that took place and found the server wanting: exit code 1.
var errFailed = errors.New("load test failed")

// Command answers the sub-command "load". Its error is not nil, so that the program ends with code 1,
// when the run could not take place, or when it lost, repeated or reordered messages, or saw any
// other of the failures that the result lists.
func Command() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:           "load",
		Short:         "Measure a running server under load and check that no message is lost",
		Long:          longHelp(),
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: false,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := applyScenario(cmd.Flags(), o.Scenario); err != nil {
				return err
			}
			o.postersChosen = cmd.Flags().Changed("posters")
			if err := o.check(); err != nil {
				return err
			}
			return runCommand(cmd, o)
		},
	}
	bindFlags(cmd.Flags(), &o)
	cmd.AddCommand(readsCommand())
	return cmd
}

func bindFlags(f *pflag.FlagSet, o *options) {
	f.StringVar(&o.URL, "url", "http://127.0.0.1:8080", "the server's base address (http only)")
	f.StringVar(&o.Scenario, "scenario", "", "preset of other flags, which win over it: "+scenarioNames())
	f.StringVar(&o.Format, "format", "socketio", "wire format: socketio or plain")
	f.IntVar(&o.Connections, "connections", 100, "connections to open")
	f.IntVar(&o.Rooms, "rooms", 1, "rooms; connection i joins room i mod rooms")
	f.IntVar(&o.PerAccount, "per-account", 1, "connections of one account, at most 20")
	f.Float64Var(&o.ConnectRate, "connect-rate", 0, "connections opened per second; 0: as fast as the server answers")
	f.IntVar(&o.Posters, "posters", 10, "connections that post, the first ones; 0: none; with --rate the default is derived")
	f.BoolVar(&o.PostersLeave, "posters-leave", false, "posters leave the live room after joining and stay members: only the others listen")
	f.Float64Var(&o.Rate, "rate", 0, "posts per second over all rooms on a fixed schedule; 0: closed loop, each poster awaits its ack")
	f.Float64Var(&o.SocketRate, "socket-rate", defaultSocketRate, "posts per second that one socket may send (the server reads at most 50 events/s from it)")
	f.IntVar(&o.Size, "size", 200, "bytes of a post's content")
	f.DurationVar(&o.Warmup, "warmup", 2*time.Second, "time of posting before the measured window")
	f.DurationVar(&o.Duration, "duration", 10*time.Second, "the measured window")
	f.DurationVar(&o.Settle, "settle", 2*time.Second, "rest before each reading of the server's memory")
	f.DurationVar(&o.DrainTimeout, "drain-timeout", 30*time.Second, "longest wait for outstanding deliveries at the end")
	f.IntVar(&o.ServerPID, "server-pid", 0, "process to measure; 0: the one that listens at --url")
	f.IntVar(&o.Loops, "loops", max(1, runtime.NumCPU()/2), "event loops, each with a share of the connections")
	f.DurationVar(&o.Coalesce, "coalesce", 0, "rest of a loop between two looks at its sockets: saves CPU of a shared machine, adds up to as much latency")
	f.Uint64Var(&o.Seed, "seed", 1, "seed of the posts' text")
	f.DurationVar(&o.Storm, "storm", 0, "drop all connections that do not post at once, so long after the window began, and let them all come back at once; 0: never")
	f.IntVar(&o.Slow, "slow", 0, "connections, the last ones, that stop reading once they have joined: the server has to cut them off")
	f.BoolVar(&o.OwnSessions, "own-sessions", false, "a session of its own for each connection instead of one an account")
	f.BoolVar(&o.Cleanup, "cleanup", false, "delete the rooms at the end")
	f.BoolVar(&o.JSON, "json", false, "print the result as one JSON object on stdout; progress goes to stderr")
}

func runCommand(cmd *cobra.Command, o options) error {
	parent := cmd.Context()
	if parent == nil {
		parent = context.Background()
	}
	ctx, stop := signal.NotifyContext(parent, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	result, err := execute(ctx, o, newProgress(cmd.ErrOrStderr()))
	if err != nil {
		return err
	}
	if o.JSON {
		err = json.NewEncoder(cmd.OutOrStdout()).Encode(result)
	} else {
		err = writeReport(cmd.OutOrStdout(), result)
	}
	if err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	if !result.OK {
		return fmt.Errorf("%w: %s", errFailed, strings.Join(result.Failures, ", "))
	}
	return nil
}
