package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"parley/cmd/parley/archive"
	"parley/cmd/parley/control"
	"parley/config"
	"parley/persistence"
	"parley/persistence/bolt"
)

// dash is the file name that means standard input or output.
const dash = "-"

// backupCommand writes a backup of the embedded store, also while the server runs.
func backupCommand() *cobra.Command {
	var to string
	var force bool
	cmd := &cobra.Command{
		Use:   "backup --to FILE",
		Short: "Write a backup of the data folder, also while the server runs",
		Long: `Write one archive with the store, the generated secret key and the uploads.

While a server runs on the data folder it hands over the copy of its store, without a pause; else the store
is opened directly. The file appears under its name when it is whole, with mode 0600. It holds the key to
everything that the store has sealed: keep it as safe as the data folder.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			var m *archive.Manifest
			if to == dash {
				m, err = writeBackup(ctx, c, cmd.OutOrStdout(), c.DataDir, false)
			} else {
				m, err = backupFile(ctx, c, to, force)
			}
			if err != nil {
				return err
			}
			cmd.PrintErrf("backed up %d files, %d bytes\n", len(m.Parts), m.Bytes())
			if !m.Has(archive.KeyName) {
				cmd.PrintErrln("the secret key is not in the data folder, so it is not in the backup: keep PARLEY_SECRET_KEY with it")
			}
			return nil
		},
	}
	config.AddFlags(cmd.Flags(), "data-dir", "config")
	cmd.Flags().StringVar(&to, "to", "", "file to write: .tar.gz, or .tar without compression; - for standard output")
	cmd.Flags().BoolVar(&force, "force", false, "replace the file if it is there")
	_ = cmd.MarkFlagRequired("to") // fails only for a flag that does not exist
	return cmd
}

// backupFile writes a backup that gets its name when it is whole.
func backupFile(ctx context.Context, c *config.Config, to string, force bool) (*archive.Manifest, error) {
	out, err := createOutput(to, force)
	if err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	defer out.discard()
	m, err := writeBackup(ctx, c, out, filepath.Dir(to), strings.HasSuffix(to, ".tar"))
	if err != nil {
		return nil, err
	}
	if err := out.commit(); err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	return m, nil
}

// writeBackup copies the store into the folder spoolDir, because a tar wants to know sizes first, and writes the archive.
func writeBackup(ctx context.Context, c *config.Config, w io.Writer, spoolDir string, plain bool) (*archive.Manifest, error) {
	if _, err := os.Stat(c.DataDir); err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	spool, err := os.CreateTemp(spoolDir, ".backup-*") // mode 0600
	if err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	// A file without a name leaves nothing behind when this process is killed. Where the system won't have that, it is
	// removed in the end.
	unnamed := os.Remove(spool.Name()) == nil
	defer func() {
		_ = spool.Close() // its content is written or not needed
		if !unnamed {
			_ = os.Remove(spool.Name())
		}
	}()
	if err := copyStore(ctx, c, spool); err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	if _, err := spool.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	return archive.Write(ctx, w, archive.Source{
		Store: spool, DataDir: c.DataDir, Version: buildVersion(), Now: time.Now(), Plain: plain,
	})
}

// copyStore asks the server for a copy of its store, and opens the store itself when none runs.
func copyStore(ctx context.Context, c *config.Config, w io.Writer) error {
	socket := control.Path(c.DataDir)
	err := control.Backup(ctx, socket, w)
	if !errors.Is(err, control.ErrNoServer) {
		return err
	}
	if _, err := os.Stat(c.StorePath()); err != nil { // opening would create it
		return fmt.Errorf("there is no store in %s: %w", c.DataDir, err)
	}
	store, err := bolt.Open(ctx, bolt.Options{Path: c.StorePath()})
	if errors.Is(err, persistence.ErrLocked) { // a server that has just started answers a moment later
		if again := control.Backup(ctx, socket, w); !errors.Is(again, control.ErrNoServer) {
			return again
		}
	}
	if err != nil {
		return err
	}
	_, err = store.Backup(ctx, w)
	return errors.Join(err, store.Close())
}
