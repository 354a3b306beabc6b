//go:build drill

package backup_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemark/shared/archive"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/layout"
	"tidemark/shared/archive/packing"
	"tidemark/shared/backup"
	"tidemark/shared/config"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
	"tidemark/shared/postgres"
	"tidemark/shared/postgres/address"
	"tidemark/shared/postgres/ledger/runs"
	"tidemark/shared/postgres/postgrestest"
	"tidemark/shared/postgres/snapshot"
	"tidemark/shared/signing/localkey/localkeytest"
	"tidemark/shared/wiring"
)

// vault is a target, the folders of its archive, and what the command is told of them.
type vault struct {
	db      *postgrestest.Database
	folders []string
	env     map[string]string

	mu      sync.Mutex
	packers []*packing.Packer // of backups in this process, of which one runs at a time: they are large
}

// newVault makes a target with whatever ddl makes, and an archive of one bucket or two.
func newVault(t *testing.T, ddl string, buckets int) *vault {
	t.Helper()
	return vaultOf(t, postgrestest.Live(t, ddl), buckets)
}

func vaultOf(t *testing.T, db *postgrestest.Database, buckets int) *vault {
	t.Helper()
	private, trusted := localkeytest.Files(t)
	v := &vault{db: db, env: map[string]string{
		"TIDEMARK_TARGET_ID": postgrestest.TargetID.String(), "TIDEMARK_DATABASE_URL": db.URL,
		"TIDEMARK_TRUSTED_KEYS": trusted, "TIDEMARK_SIGNING_KEYS": private,
	}}
	for range buckets {
		v.folders = append(v.folders, t.TempDir())
	}
	v.point()
	return v
}

// point tells the command of the folders.
func (v *vault) point() {
	for i, variable := range []string{"TIDEMARK_ARCHIVE", "TIDEMARK_ARCHIVE_SECONDARY"}[:len(v.folders)] {
		v.env[variable] = "file://" + v.folders[i]
	}
}

func (v *vault) config(t *testing.T) config.Backup {
	t.Helper()
	c, err := config.LoadBackup(func(name string) (string, bool) {
		value, ok := v.env[name]
		return value, ok
	}, nil)
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	return c
}

// archive is the vault's archive as a reader sees it.
func (v *vault) archive(t *testing.T) *archive.Archive {
	t.Helper()
	c := v.config(t)
	opened, err := wiring.OpenArchive(t.Context(), c.Archive, c.TargetID)
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	return opened
}

// inProcess puts a backup together as the command does, without a process of its own.
func (v *vault) inProcess(t *testing.T, jobs int, reading snapshot.Options) backup.Options {
	t.Helper()
	c := v.config(t)
	database, err := address.Parse(c.Database.Reveal(), c.ConnectTimeout)
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	claims, err := runs.New(runs.Options{Database: database, Schema: c.LedgerSchema, NewID: newRunID})
	if err != nil {
		t.Fatal(err)
	}
	written, err := wiring.Writer(t.Context(), c.Archive, v.archive(t), time.Now)
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	return backup.Options{
		Runs: claims, Source: snapshot.New(database, reading), Writer: written, Jobs: jobs, Actor: "drill", Tool: "drill",
		NewPacker: v.lend(), Now: time.Now,
	}
}

// lend gives one backup its packers.
func (v *vault) lend() func() (*packing.Packer, error) {
	given := 0
	return func() (*packing.Packer, error) {
		v.mu.Lock()
		defer v.mu.Unlock()
		if given++; given > len(v.packers) {
			made, err := packing.NewPacker(packing.Options{})
			if err != nil {
				return nil, err
			}
			v.packers = append(v.packers, made)
		}
		return v.packers[given-1], nil
	}
}

func newRunID() manifest.RunID {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return manifest.RunID(fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]))
}

// backUp makes a backup that must succeed.
func backUp(t *testing.T, o backup.Options) backup.Result {
	t.Helper()
	made, err := backup.Run(t.Context(), o)
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	return made
}

// newest is the manifest that a recovery would take, verified down to its objects.
func newest(t *testing.T, a *archive.Archive) history.Choice {
	t.Helper()
	h, err := history.Read(t.Context(), a)
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	choice, err := h.Choose(t.Context(), history.Request{})
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	if len(choice.Passed) > 0 {
		t.Fatalf("manifest %s was passed over: %v", choice.Passed[0].ID, choice.Passed[0].Reason)
	}
	return choice
}

// listing is the manifests that are listed, with what they hold.
type listing map[layout.ID]body.Body

func (l listing) has(id layout.ID) bool {
	_, there := l[id]
	return there
}

// newest is the one that no other is newer than.
func (l listing) newest() (id layout.ID) {
	for other := range l {
		if id.Before(other) {
			id = other
		}
	}
	return id
}

// sound fails the test unless every listed manifest verifies and is whole, in each bucket alone and in both together, down to
// the bytes of each object. It gives those in all buckets together.
func (v *vault) sound(t *testing.T) listing {
	t.Helper()
	all := v.archive(t)
	if len(all.Places) > 1 {
		for _, place := range all.Places {
			one := *all
			one.Places = []archive.Place{place}
			intact(t, &one)
		}
	}
	return intact(t, all)
}

// intact reads everything that a listed manifest refers to.
func intact(t *testing.T, a *archive.Archive) listing {
	t.Helper()
	ctx, found, seen := t.Context(), listing{}, map[manifest.Digest]bool{}
	h, err := history.Read(ctx, a)
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	stock, err := h.Stock(ctx)
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	for _, e := range h.Entries {
		m, err := h.Open(ctx, e)
		if err != nil {
			t.Fatalf("listed and not verifiable: %s", fault.Line(err))
		}
		b, err := h.Body(ctx, m)
		if err == nil {
			err = h.Whole(ctx, m, history.Objects(m, b), stock)
		}
		for _, object := range b.Objects() {
			if err == nil && !seen[object.Digest] {
				_, err = a.Fetch(ctx, object, nil)
			}
			seen[object.Digest] = true
		}
		if err != nil {
			t.Fatalf("listed and not whole: manifest %s: %s", e.ID, fault.Line(err))
		}
		found[e.ID] = b
	}
	return found
}

// tableOf is what a body says of a table.
func tableOf(t *testing.T, b body.Body, schema, name string) body.Table {
	t.Helper()
	for _, table := range b.Tables {
		if table.Schema == schema && table.Name.Name == name {
			return table
		}
	}
	t.Fatalf("table %s.%s is not in the manifest", schema, name)
	return body.Table{}
}

// load brings a table's rows from the archive into a database that has the table, by COPY.
func load(t *testing.T, a *archive.Archive, into *postgrestest.Database, table body.Table) {
	t.Helper()
	statement := "COPY " + postgres.QuoteTable(table.Schema, table.Name.Name)
	if len(table.Columns) > 0 {
		quoted := make([]string, len(table.Columns))
		for i, c := range table.Columns {
			quoted[i] = postgres.QuoteName(c.Name)
		}
		statement += " (" + strings.Join(quoted, ", ") + ")"
	}
	for i, c := range table.Chunks {
		stored, err := a.Fetch(t.Context(), c.Object, nil)
		if err != nil {
			t.Fatal(fault.Line(err))
		}
		plain, err := a.Unpack(stored, c.Object, c.Object.PlainSize)
		if err != nil {
			t.Fatal(fault.Line(err))
		}
		tag, err := into.Conn.PgConn().CopyFrom(t.Context(), bytes.NewReader(plain), statement+" FROM STDIN (FORMAT binary)")
		if err != nil || tag.RowsAffected() != c.Rows {
			t.Fatalf("load chunk %d of table %s: %d rows, %v; the manifest says %d", i, table.Name, tag.RowsAffected(), err, c.Rows)
		}
	}
}

const patience = time.Minute

// await asks until the answer is yes.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	if !eventually(t.Context(), is) {
		t.Fatalf("waited in vain: %s", what)
	}
}

// eventually asks until the answer is yes, and says whether it came.
func eventually(ctx context.Context, is func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
	return true
}
