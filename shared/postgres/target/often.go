package target

import (
	"context"
	"strconv"

	"tidemark/shared/postgres"
)

// often knows which statements a connection sends again and again, and prepares these: to parse and plan one costs the
// server more than to run it for a few rows. Only statements are prepared whose plan may be kept (postgres.Statement.Stable),
// because the server keeps it while the tables grow. A statement is prepared when it was sent twice, after a commit and never inside
// a transaction, so that a cold start pays nothing and nothing can fail for it.
type often struct {
	uses     map[string]int    // SQL → how often it was sent; nil when nothing is prepared
	prepared map[string]string // SQL → name
	due      []string          // SQL to prepare next
}

const (
	mostPrepared = 128 // statements a connection keeps prepared
	mostCounted  = 1024
)

func newOften(prepare bool) often {
	if !prepare {
		return often{}
	}
	return often{uses: map[string]int{}, prepared: map[string]string{}}
}

// use counts a statement and returns the name under which it is prepared, if it is.
func (o *often) use(s postgres.Statement) (name string, ok bool) {
	if o.uses == nil || !s.Stable {
		return "", false
	}
	if name, ok = o.prepared[s.SQL]; ok {
		return name, true
	}
	if _, counted := o.uses[s.SQL]; !counted && len(o.uses) >= mostCounted {
		return "", false
	}
	o.uses[s.SQL]++
	if o.uses[s.SQL] == 2 && len(o.prepared)+len(o.due) < mostPrepared {
		o.due = append(o.due, s.SQL)
	}
	return "", false
}

// prepareDue prepares in one round trip what has come often enough. A connection on which that fails is of no more use.
func (c *connection) prepareDue(ctx context.Context) error {
	if len(c.often.due) == 0 {
		return nil
	}
	due := c.often.due
	names := make([]string, len(due))
	pipeline := c.pg.StartPipeline(ctx)
	for i, sql := range due {
		names[i] = "tidemark_" + strconv.Itoa(len(c.often.prepared)+i)
		pipeline.SendPrepare(names[i], sql, nil)
	}
	if err := pipeline.Sync(); err != nil {
		_ = pipeline.Close() // the same trouble
		return err
	}
	for i, sql := range due {
		if _, err := pipeline.GetResults(); err != nil {
			_ = pipeline.Close() // the same trouble
			return err
		}
		c.often.prepared[sql] = names[i]
	}
	c.often.due = nil
	return pipeline.Close()
}
