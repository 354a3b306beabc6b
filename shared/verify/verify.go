// Package verify owns whether a backup is still what it was signed as, and whether two databases hold the same rows.
//
// Check looks at everything that a manifest refers to, at one of two levels: that it is there with its size, or that its bytes
// are the ones that were signed, down to the number of rows in each chunk. The third, the comparison of tables in any order, is a
// rehearsal's, with what package census has for it. It shares no code with what it checks: it has hashes and a reader of COPY's
// binary form of its own. It refuses to stop at the first problem, to call a look at some of the objects a look at all of them,
// and to take an object that a store would not give for a good one or for a bad one.
//
// No clock and no state. Errors and problems name objects and the numbers of tables and chunks, never what tables are called or
// hold: they stand in reports that are not encrypted. Everything here may be used by several goroutines.
package verify

import (
	"context"
	"io"

	"golang.org/x/sync/errgroup"

	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
)

// Level is how closely a backup is looked at.
type Level string

// The levels, each with all of the one before.
const (
	Files Level = "files" // every object is there with its size
	Hash  Level = "hash"  // every object's bytes are the ones that were signed
	Data  Level = "data"  // a recovery into a scratch database has the same rows
)

// Objects is one bucket. Keys are relative, as in a manifest's archive. Safe for concurrent use.
//
// Errors: fault.Corrupt when there is no such object, or a larger one than was asked for; else the store's own.
type Objects interface {
	Stat(ctx context.Context, key string) (Info, error)
	Get(ctx context.Context, key string, limit int64) ([]byte, error)
}

// Info is what a store says of an object.
type Info struct {
	Size   int64
	Digest manifest.Digest // zero where the store keeps none
}

// Unpacker decrypts and decompresses objects, one at a time.
//
// Errors: fault.Corrupt for what is no such object; others say that it could not be opened here.
type Unpacker interface {
	Open(stored []byte, object manifest.Object) (io.Reader, error)
}

// Place is a bucket under the name that people see.
type Place struct {
	Name string
	Objects
}

// Subject is a manifest that is to be checked. Its signature was verified, and its body read.
type Subject struct {
	Key       string // of its statement's envelope
	Envelope  []byte // as it was verified
	Statement manifest.Statement
	Body      body.Body
	Before    *body.Body                          // of the manifest before; nil when nobody has it any more
	Places    []Place                             // that list the manifest
	ObjectKey func(digest manifest.Digest) string // where objects stand
}

// Options says how it is checked.
type Options struct {
	Level Level // Files or Hash
	// Share of the objects whose bytes are read, rounded up; 0 means All. The others are looked for as by Files.
	Share Share
	// Seed chooses them: the same one chooses the same objects of a manifest.
	Seed uint64
	Jobs int // side by side, each with one stored object in memory; 0 means 4
	// NewUnpacker gives each job its own. Needed by Hash alone.
	NewUnpacker func() (Unpacker, error)
	// OnProgress is called after each object; by several goroutines.
	OnProgress func(done, of int)
}

const (
	defaultJobs = 4
	// giveUp is after how many failures in a row a store is left alone.
	giveUp = 8
)

func (o Options) withDefaults() Options {
	if o.Share == 0 {
		o.Share = All
	}
	if o.Jobs == 0 {
		o.Jobs = defaultJobs
	}
	if o.OnProgress == nil {
		o.OnProgress = func(int, int) {}
	}
	return o
}

func (o Options) validate() error {
	switch {
	case o.Level != Files && o.Level != Hash:
		return fault.New(fault.Misconfigured, "verify at level %.20q: want files or hash", string(o.Level))
	case o.Share < 1, o.Share > All:
		return fault.New(fault.Misconfigured, "look at a share of %s: want above 0 and at most 100%%", o.Share)
	case o.Jobs < 1, o.Level == Hash && o.NewUnpacker == nil:
		return fault.New(fault.Bug, "verify with %d jobs, unpacking %t", o.Jobs, o.NewUnpacker != nil)
	}
	return nil
}

// Check looks at a manifest in every place, and gives all that it found, also when there is an error. What is wrong with the
// backup is in the outcome.
//
// It holds Jobs stored objects, of at most manifest.MaxObject, and their unpackers; rows of any size pass through.
//
// Errors: fault.Misconfigured for options; fault.Retryable when the context ended before the work.
func Check(ctx context.Context, subject Subject, options Options) (Outcome, error) {
	options = options.withDefaults()
	if err := options.validate(); err != nil {
		return Outcome{}, err
	}
	c := newCheck(subject, options)
	c.checkBody()
	for _, place := range c.places {
		c.checkStatement(ctx, place)
	}
	queue := make(chan *object)
	group, inner := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(queue)
		for _, o := range c.objects {
			select {
			case queue <- o:
			case <-inner.Done():
				return context.Cause(inner)
			}
		}
		return nil
	})
	for range options.Jobs {
		group.Go(func() error { return c.work(inner, queue) })
	}
	err := group.Wait()
	if ctx.Err() != nil {
		err = fault.New(fault.Retryable, "verify: %w", context.Cause(ctx)).WithHint("run it again: it begins anew")
	}
	return c.conclude(), err
}
