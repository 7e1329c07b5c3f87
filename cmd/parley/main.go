// Command parley is the chat server and the tools around it.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"parley/cmd/parley/load"
)

func main() {
	if err := rootCommand().Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "parley:", err)
		os.Exit(1)
	}
}

// rootCommand has a sub-command a file.
func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "parley",
		Short:         "A realtime chat server",
		Long:          "Parley is a realtime chat server for people, agents and hooks. `parley serve` starts it.",
		Args:          cobra.NoArgs,
		SilenceUsage:  true, // an error is a sentence, not a page
		SilenceErrors: true, // main prints it
	}
	root.AddCommand(
		backupCommand(),
		restoreCommand(),
		configCommand(),
		load.Command(),
		serveCommand(),
		versionCommand(),
	)
	return root
}
