//go:build drill

package backup_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"

	"tidemark/shared/archive"
	"tidemark/shared/manifest"
)

const (
	moments     = 32 // processes that must die
	leastOfEach = 3  // of them before the manifest, and behind it
	momentSeed  = 20260714
	partialName = ".partial~" // where a folder's bucket writes before a name is given
)

// broad is a database whose backup takes a while to write: several tables, more readers than one.
const broad = kiosk + `DO $$ BEGIN FOR n IN 1..12 LOOP
	EXECUTE format('CREATE TABLE wide_%s (id int PRIMARY KEY, filler text)', n);
	EXECUTE format('INSERT INTO wide_%s SELECT g, md5(g::text || %s) || md5(%s || g::text) FROM generate_series(1, 3000) AS g', n, n, n);
	END LOOP; END $$;`

// TestKilledWhileWriting kills the command by SIGKILL at moments of its writing: at the nth thing that happens to a file that
// is being written, in either of its two buckets. Between two such moments lies all that it does there.
func TestKilledWhileWriting(t *testing.T) {
	t.Parallel()
	v := newVault(t, broad, 2)
	v.run(t, 0)
	o := v.origin(t)
	total := v.change(t).writing(t, 0).met
	random := rand.New(rand.NewPCG(momentSeed, 0)) //nolint:gosec // moments
	t.Logf("seed %d, %d moments in a backup", momentSeed, total)
	died, landed := 0, 0
	for tries := 0; died < moments || landed < leastOfEach || died-landed < leastOfEach; tries++ {
		if tries > 3*moments {
			t.Fatalf("%d of %d processes died of the signal, %d of them with the manifest there already", died, tries, landed)
		}
		v.reset(t, o)
		at := 1 + random.Int64N(total/2) + int64(tries%2)*total/2 // in the second half is the copy into the other bucket
		w := v.change(t).writing(t, at)
		after := v.sound(t)
		switch {
		case w.code == -1:
			died++
			landed += len(after) - 1
		case w.code != 0:
			t.Fatalf("exit code %d of a process that nothing happened to: %s", w.code, &w.Errors)
		}
		v.wantNext(t, o, after)
		if t.Failed() {
			t.Fatalf("at moment %d of %d", at, total)
		}
	}
	t.Logf("%d processes died, %d of them with the manifest there already", died, landed)
}

// change makes a state of which every table is to be stored anew.
func (v *vault) change(t *testing.T) *vault {
	t.Helper()
	v.db.Exec(t, `DO $$ BEGIN FOR n IN 1..12 LOOP
		EXECUTE format('UPDATE wide_%s SET filler = md5(filler) WHERE id = 1 + (random() * 2999)::int', n); END LOOP; END $$`)
	return v
}

// wantNext makes the next backup by the command and holds it and those before against what there must be.
func (v *vault) wantNext(t *testing.T, o origin, after listing) {
	t.Helper()
	v.alone(t)
	m := v.run(t, 0).made(t)
	counts := v.sound(t)
	for id := range after {
		if !counts.has(id) {
			t.Errorf("manifest %s is gone", id)
		}
	}
	a := v.archive(t)
	choice := newest(t, a)
	if !counts.has(o.first) || len(counts) != len(after)+1 || choice.Manifest.Run != manifest.RunID(m.Run) || m.Copies != 2 {
		t.Errorf("%d manifests after %d, the newest %s, want that of the next run in both buckets: %+v", len(counts), len(after),
			choice.Manifest.ID, m)
	}
	for _, place := range a.Places {
		one := *a
		one.Places = []archive.Place{place}
		if alone := newest(t, &one); alone.Manifest.ID != choice.Manifest.ID {
			t.Errorf("the newest in the %s bucket alone is %s, want %s", place.Name, alone.Manifest.ID, choice.Manifest.ID)
		}
	}
}

// written is a process that was watched while it wrote.
type written struct {
	*process

	code int
	met  int64 // moments
}

// writing runs a backup and kills it at the nth moment of its writing; at 0 it lets it live.
func (v *vault) writing(t *testing.T, at int64) written {
	t.Helper()
	var met atomic.Int64
	reached := make(chan struct{})
	end := v.watch(t, func() {
		if met.Add(1) == at {
			close(reached)
		}
	})
	p := v.start(t)
	select {
	case <-reached:
		p.Kill()
	case <-p.Over:
	}
	code := p.Wait(t, patience)
	end()
	return written{p, code, met.Load()}
}

// endName is the file that tells a watcher that all before it was seen.
const endName = "end"

// watch calls moment for everything that happens to files that are being written in the folders, until it is ended: then all
// of it was seen.
func (v *vault) watch(t *testing.T, moment func()) (end func()) {
	t.Helper()
	fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC | syscall.IN_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range v.folders {
		const kinds = syscall.IN_CREATE | syscall.IN_MODIFY | syscall.IN_ATTRIB | syscall.IN_CLOSE_WRITE | syscall.IN_DELETE
		if _, err := syscall.InotifyAddWatch(fd, filepath.Join(folder, partialName), kinds); err != nil {
			t.Fatalf("watch the folder: %v", err)
		}
	}
	events := os.NewFile(uintptr(fd), "inotify")
	over := make(chan error, 1)
	go func() { over <- readEvents(events, moment) }()
	return func() {
		last := filepath.Join(v.folders[0], partialName, endName)
		err := os.WriteFile(last, nil, 0o600)
		if err == nil {
			err = <-over
		}
		if err := errors.Join(err, events.Close(), os.Remove(last)); err != nil {
			t.Fatalf("watch the folder: %v", err)
		}
	}
}

// readEvents reads what a watch gives, up to the file of its end.
func readEvents(events *os.File, moment func()) error {
	buffer := make([]byte, 64<<10)
	for {
		n, err := events.Read(buffer)
		if err != nil {
			return err
		}
		for rest := buffer[:n]; len(rest) >= syscall.SizeofInotifyEvent; {
			length := syscall.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(rest[12:]))
			if name := rest[syscall.SizeofInotifyEvent:length]; string(bytes.TrimRight(name, "\x00")) == endName {
				return nil
			}
			moment()
			rest = rest[length:]
		}
	}
}
