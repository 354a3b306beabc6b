package original

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"tidemark/shared/archive/history"
	"tidemark/shared/archive/packing"
	"tidemark/shared/backup"
	"tidemark/shared/config"
	"tidemark/shared/config/location"
	"tidemark/shared/manifest"
	"tidemark/shared/postgres/address"
	"tidemark/shared/postgres/ledger/runs"
	"tidemark/shared/postgres/snapshot"
	"tidemark/shared/signing/localkey"
	"tidemark/shared/wiring"
)

// Level is the level of zstd.
const Level = 1

// Store is an archive in a folder of its own, with a key that signs.
type Store struct {
	Config config.Archive

	dir string
}

// NewStore makes an empty archive. The caller removes it.
func NewStore() (_ *Store, err error) {
	s := &Store{}
	if s.dir, err = os.MkdirTemp("", "tidemark-bench-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Remove())
		}
	}()
	private, trusted := filepath.Join(s.dir, "key.pem"), filepath.Join(s.dir, "trusted.pem")
	s.Config = config.Archive{
		Primary:     location.Place{Kind: location.File, Folder: s.folder()},
		TrustedKeys: trusted, SigningKeys: []location.Key{{File: private}}, CompressionLevel: Level,
	}
	key, err := localkey.Generate()
	if err != nil {
		return nil, err
	}
	return s, errors.Join(
		os.Mkdir(s.folder(), 0o700), key.Write(private), os.WriteFile(trusted, key.Key().PEM(), 0o600),
	)
}

func (s *Store) folder() string { return filepath.Join(s.dir, "archive") }

// Remove removes it.
func (s *Store) Remove() error { return os.RemoveAll(s.dir) }

// Size is what the files of the archive take.
func (s *Store) Size() (int64, error) { return SizeOf(s.folder()) }

// SizeOf is what the files of a folder take.
func SizeOf(folder string) (size int64, err error) {
	err = filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	return size, err
}

// Save backs a database up, as the operator's command does.
func (s *Store) Save(ctx context.Context, url string, jobs int) error {
	const timeout = 10 * time.Second
	from, err := address.Parse(url, timeout)
	if err != nil {
		return err
	}
	claims, err := runs.New(runs.Options{Database: from, Schema: Schema, NewID: newRunID})
	if err != nil {
		return err
	}
	opened, err := wiring.OpenArchive(ctx, s.Config, Target)
	if err != nil {
		return err
	}
	written, err := wiring.Writer(ctx, s.Config, opened, time.Now)
	if err != nil {
		return err
	}
	form, err := wiring.Packing(s.Config)
	if err != nil {
		return err
	}
	made, err := backup.Run(ctx, backup.Options{
		Runs: claims, Source: snapshot.New(from, snapshot.Options{LedgerSchema: Schema, ConnectTimeout: timeout}),
		Writer: written, NewPacker: func() (*packing.Packer, error) { return packing.NewPacker(form) },
		Jobs: jobs, Actor: "bench", Tool: "bench", Deadline: time.Now().Add(history.RunLife), Now: time.Now,
	})
	if err == nil && len(made.Warnings) > 0 {
		err = fmt.Errorf("back up: %q", made.Warnings)
	}
	return err
}

// newRunID is a random UUID.
func newRunID() manifest.RunID {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return manifest.RunID(fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]))
}

// Check holds the newest manifest against the database.
func (s *Store) Check(ctx context.Context, d *Database) error {
	opened, err := wiring.OpenArchive(ctx, s.Config, Target)
	if err != nil {
		return err
	}
	listed, err := history.Read(ctx, opened)
	if err != nil {
		return err
	}
	choice, err := listed.Choose(ctx, history.Request{})
	if err != nil {
		return err
	}
	rows := map[string]int64{}
	for _, t := range choice.Body.Tables {
		rows[t.String()] = t.Rows
	}
	for _, t := range d.Tables {
		if got := rows["public."+t.Name]; got != t.Rows {
			return fmt.Errorf("the backup has %d rows of %s, want %d", got, t.Name, t.Rows)
		}
	}
	return nil
}
