package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"parley/config"
)

// loadConfig reads the configuration of a command whose flags config.AddFlags made, and prints its warnings.
func loadConfig(cmd *cobra.Command) (*config.Config, error) {
	c, err := config.Load(config.Sources{Flags: cmd.Flags(), Environ: os.Environ()})
	if err != nil {
		return nil, fmt.Errorf("configuration:\n%w", err)
	}
	for _, w := range c.Warnings {
		cmd.PrintErrln("parley: warning:", w)
	}
	return c, nil
}

// configCommand prints what is in effect, or the page about all options.
func configCommand() *cobra.Command {
	var reference bool
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Print the configuration in effect, and where each value comes from",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if reference {
				_, err := fmt.Fprint(cmd.OutOrStdout(), config.Reference())
				return err
			}
			c, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			text, err := c.YAML()
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(text)
			return err
		},
	}
	config.AddFlags(cmd.Flags())
	cmd.Flags().BoolVar(&reference, "reference", false, "print the page about all options, in Markdown")
	return cmd
}
