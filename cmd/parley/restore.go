package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
	"parley/persistence/bolt"
)

// stagingPrefix begins the names of folders that hold a backup until it is checked.
const stagingPrefix = ".restore-"

// errServing means that a server uses the data folder.
var errServing = errors.New("a server runs on the data folder; stop it first")

// restorer puts a backup into a data folder.
type restorer struct {
	dir   string // absolute, without symbolic links
	force bool
	most  int64 // bytes
	now   time.Time
}

// restored says what a restorer did.
type restored struct {
	manifest *archive.Manifest
	kept     string // where the old folder is now, if there was one
}

// restoreCommand puts a backup in place, after it has checked all of it.
func restoreCommand() *cobra.Command {
	var from string
	r := restorer{}
	cmd := &cobra.Command{
		Use:   "restore --from FILE",
		Short: "Put a backup into the data folder",
		Long: `Read a backup, check all of it, and put it into the data folder.

Nothing is put in place before every hash and every page of the store is verified. A folder that is not empty
is refused; with --force it is kept under a name of its own next to the new one.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			in := cmd.InOrStdin()
			if from != dash {
				f, err := os.Open(from)
				if err != nil {
					return fmt.Errorf("restore: %w", err)
				}
				defer func() { _ = f.Close() }() // only read
				in = f
			}
			r.now = time.Now()
			if r.dir, err = realFolder(c.DataDir); err != nil {
				return fmt.Errorf("restore: %w", err)
			}
			done, err := r.restore(ctx, in)
			if err != nil {
				return fmt.Errorf("restore: %w", err)
			}
			report(cmd, c.DataDir, done)
			return nil
		},
	}
	config.AddFlags(cmd.Flags(), "data-dir", "config")
	cmd.Flags().StringVar(&from, "from", "", "backup to read; - for standard input")
	cmd.Flags().BoolVar(&r.force, "force", false, "replace a data folder that is not empty, and keep the old one beside it")
	cmd.Flags().Int64Var(&r.most, "max-size", archive.MaxBytes, "largest size of the unpacked backup in bytes")
	_ = cmd.MarkFlagRequired("from") // fails only for a flag that does not exist
	return cmd
}

func report(cmd *cobra.Command, dir string, done restored) {
	m := done.manifest
	cmd.PrintErrf("restored %d files, %d bytes, of %s into %s\n", len(m.Parts), m.Bytes(), m.Created.Format(time.RFC3339), dir)
	if done.kept != "" {
		cmd.PrintErrf("the folder that was there is now %s\n", done.kept)
	}
	if !m.Has(archive.KeyName) {
		cmd.PrintErrln("the backup has no secret key: set PARLEY_SECRET_KEY as it was then")
	}
}

// realFolder resolves the symbolic links of a folder that may not exist yet.
func realFolder(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	resolved, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return dir, nil
	}
	return resolved, err
}

// restore reads a backup into a staging folder, checks it and puts it in place.
func (r *restorer) restore(ctx context.Context, in io.Reader) (done restored, err error) {
	if control.Running(ctx, control.Path(r.dir)) {
		return done, errServing
	}
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return done, err
	}
	release, err := lockStore(filepath.Join(r.dir, archive.StoreName))
	if err != nil {
		return done, err
	}
	defer release()
	empty, err := isEmpty(r.dir)
	if err != nil {
		return done, err
	}
	if !empty && !r.force {
		return done, fmt.Errorf("%s is not empty; choose another folder, or --force to replace it and keep it beside the new one", r.dir)
	}
	// An empty folder is filled in place, since it may be the root of a volume. Another one is swapped as a whole.
	parent, pattern := r.dir, stagingPrefix+"*"
	if !empty {
		parent, pattern = filepath.Dir(r.dir), filepath.Base(r.dir)+stagingPrefix+"*"
	}
	staging, err := os.MkdirTemp(parent, pattern) // mode 0700
	if err != nil {
		return done, err
	}
	swapped := false
	defer func() {
		if !swapped { // else it is the old folder
			err = errors.Join(err, os.RemoveAll(staging))
		}
	}()
	if done.manifest, err = unpack(ctx, in, staging, r.most); err != nil {
		return done, err
	}
	if empty {
		return done, fill(r.dir, staging)
	}
	done.kept, swapped, err = r.swap(staging)
	return done, err
}

// unpack reads a backup into a folder and checks everything in it.
func unpack(ctx context.Context, in io.Reader, dir string, most int64) (*archive.Manifest, error) {
	m, err := archive.Extract(ctx, in, dir, most)
	if err != nil {
		return nil, err
	}
	if err := bolt.Check(ctx, filepath.Join(dir, archive.StoreName)); err != nil {
		return nil, err
	}
	if m.Has(archive.KeyName) {
		if _, err := config.SecretKey(dir, nil); err != nil {
			return nil, err
		}
	}
	return m, syncTree(dir)
}

// syncTree makes the names in a folder and below durable.
func syncTree(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		return syncFolder(path)
	})
}

// isEmpty says whether a folder has nothing that a restore could harm: what a file system keeps in its root, a dead
// control socket and what a killed restore left do not count.
func isEmpty(dir string) (bool, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		name := e.Name()
		if name != "lost+found" && name != control.SocketName && !strings.HasPrefix(name, stagingPrefix) {
			return false, nil
		}
	}
	return true, nil
}

// fill moves a checked backup into an empty folder. The store comes last: without it the folder has nothing that a
// server would start with, and a folder that a server began to use meanwhile is left alone.
func fill(dir, staging string) error {
	for _, name := range []string{archive.KeyName, archive.UploadsName, archive.StoreName} {
		from, to := filepath.Join(staging, name), filepath.Join(dir, name)
		info, err := os.Lstat(from)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return err
		case info.IsDir():
			err = os.Rename(from, to) // fails on a folder that is not empty
		default:
			err = moveFile(from, to)
		}
		if err != nil {
			return fmt.Errorf("the folder is not empty any more: %w", err)
		}
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries { // the staging folder, and those of restores that were killed
		if strings.HasPrefix(e.Name(), stagingPrefix) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return errors.Join(err, syncFolder(dir))
}

// swap puts the staging folder in the place of the data folder and returns the new name of the old one. swapped says
// that the path staging is not the backup any more.
func (r *restorer) swap(staging string) (kept string, swapped bool, err error) {
	kept = r.dir + ".before-restore-" + r.now.UTC().Format("20060102T150405Z")
	if _, err := os.Lstat(kept); err == nil {
		return "", false, fmt.Errorf("%s is there already", kept)
	}
	exchanged, err := exchange(staging, r.dir)
	if err != nil {
		return "", false, fmt.Errorf("put the backup in place of %s (if that is the root of a volume, restore into a folder inside of it): %w", r.dir, err)
	}
	if exchanged {
		if err := os.Rename(staging, kept); err != nil {
			return staging, true, fmt.Errorf("the backup is in place, the old folder is %s: %w", staging, err)
		}
		return kept, true, syncFolder(filepath.Dir(r.dir))
	}
	if err := os.Rename(r.dir, kept); err != nil {
		return "", false, err
	}
	if err := os.Rename(staging, r.dir); err != nil {
		return "", false, errors.Join(err, os.Rename(kept, r.dir))
	}
	return kept, true, syncFolder(filepath.Dir(r.dir))
}
