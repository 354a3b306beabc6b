package verify

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
	"tidemark/shared/verify/census"
)

// use is a chunk that an object stands in. Numbers begin at 1, in the order of the body.
type use struct {
	table, chunk int
	rows         int64
	columns      []body.Column
}

// object is one of the manifest's, with everything that it holds.
type object struct {
	manifest.Object

	uses []use
	read bool // its bytes are read, not only asked after
}

// site is a place under check.
type site struct {
	Place

	mu      sync.Mutex
	failing int   // calls in a row that the store did not answer
	reason  error // of the last
}

// check is one check under way.
type check struct {
	subject Subject
	options Options
	objects []*object
	places  []*site

	mu      sync.Mutex
	outcome Outcome
	digests []census.Digest // by table
	missing []bool          // by table: not every chunk was read
	done    int
}

func newCheck(subject Subject, options Options) *check {
	c := &check{subject: subject, options: options}
	for _, place := range subject.Places {
		c.places = append(c.places, &site{Place: place})
	}
	c.objects = objectsOf(subject)
	tables := len(subject.Body.Tables)
	c.digests, c.missing = make([]census.Digest, tables), make([]bool, tables)
	c.outcome = Outcome{
		Level: options.Level, Share: options.Share, Seed: options.Seed, Objects: len(c.objects), Copies: len(c.objects) * len(c.places),
	}
	if options.Level == Hash {
		choose(c.objects, options.Share, options.Seed)
	}
	for _, o := range c.objects {
		if !o.read {
			c.miss(o)
		}
	}
	return c
}

// objectsOf are the body first, then what its tables need, each once, with where it is needed.
func objectsOf(s Subject) []*object {
	all := []*object{{Object: s.Statement.Body}}
	known := map[manifest.Digest]*object{s.Statement.Body.Digest: all[0]}
	for t, table := range s.Body.Tables {
		for i, chunk := range table.Chunks {
			o := known[chunk.Object.Digest]
			if o == nil {
				o = &object{Object: chunk.Object}
				known[chunk.Object.Digest], all = o, append(all, o)
			}
			o.uses = append(o.uses, use{table: t + 1, chunk: i + 1, rows: chunk.Rows, columns: table.Columns})
		}
	}
	return all
}

// problem notes that something is not as it was signed.
func (c *check) problem(p Problem) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.outcome.Problems = append(c.outcome.Problems, p)
}

// judge notes an error: damage is a problem, everything else leaves open what is there. It says whether there was one.
func (c *check) judge(place *site, p Problem, err error) bool {
	if err == nil {
		place.answered(nil)
		return false
	}
	p.Place = place.Name
	if fault.Is(err, fault.Corrupt) {
		place.answered(nil)
		p.What = err.Error()
		c.problem(p)
		return true
	}
	place.answered(err)
	c.unread(fmt.Errorf("%s of the %s bucket: %w", p.Key, place.Name, err))
	return true
}

func (c *check) unread(reason error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.outcome.Unread++; c.outcome.Reason == nil {
		c.outcome.Reason = reason
	}
}

func (s *site) answered(failed error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failing++; failed == nil {
		s.failing = 0
	}
	s.reason = failed
}

// given says why a store is left alone, nil while it is not.
func (s *site) given() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failing < giveUp {
		return nil
	}
	return fault.New(fault.ClassOf(s.reason), "it was left alone after %d failures in a row: %w", giveUp, s.reason)
}

func (c *check) count(count func(*Outcome)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	count(&c.outcome)
}

// miss notes that an object's rows are in no digest.
func (c *check) miss(o *object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, u := range o.uses {
		c.missing[u.table-1] = true
	}
}

// checkBody holds the body against itself and against the one before.
func (c *check) checkBody() {
	before := map[body.Name]int64{}
	if c.subject.Before != nil {
		for _, t := range c.subject.Before.Tables {
			before[t.Name] = t.Rows
		}
	}
	for i, t := range c.subject.Body.Tables {
		rows := int64(0)
		for _, chunk := range t.Chunks {
			rows += chunk.Rows
		}
		if rows != t.Rows {
			c.problem(Problem{Table: i + 1, What: fmt.Sprintf("its chunks have %d rows, and it %d", rows, t.Rows)})
		}
		if had := before[t.Name]; t.Rows == 0 && had > 0 {
			c.outcome.Warnings = append(c.outcome.Warnings, Warning{Table: i + 1, Had: had})
		}
	}
}

// checkStatement compares a place's statement with the one that was verified.
func (c *check) checkStatement(ctx context.Context, place *site) {
	key := c.subject.Key
	content, err := place.Get(ctx, key, int64(len(c.subject.Envelope)))
	if err == nil && !bytes.Equal(content, c.subject.Envelope) {
		err = fault.New(fault.Corrupt, "it is not the statement that was verified")
	}
	c.judge(place, Problem{Key: key}, err)
}

func (c *check) conclude() Outcome {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.outcome
	o.finish()
	if o.Level == Hash {
		o.Tables = census.Tables{}
		for i, t := range c.subject.Body.Tables {
			if !c.missing[i] {
				o.Tables[t.Name] = c.digests[i]
			}
		}
	}
	return o
}
