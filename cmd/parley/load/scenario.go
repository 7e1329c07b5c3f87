package load

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// scenario is a named set of flag values. Flags given on the command line win over it.
type scenario struct {
	name  string
	about string
	flags [][2]string
}

// scenarios is the one list of presets: the help, the flag's check and the tests read it.
var scenarios = []scenario{
	{"idle", "10,000 joined connections that say nothing: connects/s, memory per connection", [][2]string{
		{"connections", "10000"}, {"rooms", "1000"}, {"per-account", "20"}, {"posters", "0"}, {"duration", "10s"}, {"settle", "5s"},
	}},
	{"rooms", "1,000 rooms of two, 10,000 posts/s at a fixed rate: durable posts, ack latency", [][2]string{
		{"connections", "2000"}, {"rooms", "1000"}, {"per-account", "20"}, {"posters", "1000"}, {"rate", "10000"},
	}},
	{"big-room", "one room of 1,000 members, 25 posters in a closed loop: fan-out, deliveries/s", [][2]string{
		{"connections", "1000"}, {"rooms", "1"}, {"per-account", "1"}, {"posters", "25"},
	}},
	{"hot-room", "one room, 5,500 posts/s at a fixed rate, ten listeners: what one room's log can take", [][2]string{
		{"connections", "160"}, {"rooms", "1"}, {"per-account", "1"}, {"posters", "150"}, {"posters-leave", "true"}, {"rate", "5500"},
	}},
	{"storm", "10,000 connections in 100 rooms are dropped at once and come back, 200 others post and listen on", [][2]string{
		{"connections", "10200"}, {"rooms", "100"}, {"per-account", "20"}, {"posters", "200"}, {"rate", "200"}, {"duration", "25s"}, {"storm", "10s"}, {"own-sessions", "true"},
	}},
	{"slow-readers", "100 connections of a busy room stop reading: they are cut off and the others notice nothing", [][2]string{
		{"connections", "600"}, {"rooms", "1"}, {"per-account", "1"}, {"posters", "25"}, {"rate", "500"}, {"size", "1000"}, {"duration", "40s"}, {"slow", "100"},
	}},
	{"crowd", "one room of 15,000 connections, two posts a second: when the last one has it", [][2]string{
		{"connections", "15000"}, {"rooms", "1"}, {"per-account", "20"}, {"posters", "1"}, {"rate", "2"},
	}},
}

// applyScenario sets the flags of the named scenario that the command line did not set.
func applyScenario(flags *pflag.FlagSet, name string) error {
	if name == "" {
		return nil
	}
	for _, s := range scenarios {
		if s.name != name {
			continue
		}
		for _, f := range s.flags {
			if flags.Changed(f[0]) {
				continue
			}
			if err := flags.Set(f[0], f[1]); err != nil {
				return fmt.Errorf("scenario %s: %w", name, err)
			}
		}
		return nil
	}
	return fmt.Errorf("--scenario must be one of %s, not %q", scenarioNames(), name)
}

func scenarioNames() string {
	names := make([]string, len(scenarios))
	for i, s := range scenarios {
		names[i] = s.name
	}
	return strings.Join(names, ", ")
}
