package restore

import (
	"context"
	_ "embed" // the question is a file

	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
	"tidemark/shared/postgres/restore/claim"
)

//go:embed sql/server.sql
var serverQuestion string

// versions is how many numbers of server_version_num a major version has.
const versions = 10_000

// check refuses what would not become the same database, and warns of what may not.
func (r *restoring) check(ctx context.Context) error {
	base := r.base.Body.Snapshot
	switch version := base.LedgerVersion; {
	case base.LedgerSchema != r.db.ledger:
		return fault.New(fault.Misconfigured, "the base has its ledger in schema %q, the configuration says %q", base.LedgerSchema,
			r.db.ledger).WithHint("set TIDEMARK_LEDGER_SCHEMA=%s", base.LedgerSchema)
	case version < r.db.from || version > r.db.to:
		return fault.New(fault.Misconfigured, "the base has a ledger of version %d, this release knows %d to %d", version,
			r.db.from, r.db.to).WithHint("recover with a release that knows it; nothing was restored")
	}
	for _, d := range r.base.Body.Definitions {
		if d.Kind == "schema" && d.Name == r.db.Schema() {
			return fault.New(fault.Misconfigured, "the base has a schema %s, where a recovery keeps its own state", d.Name).
				WithHint("rename that schema in the target and back it up again")
		}
	}
	return r.checkServer(ctx, base)
}

func (r *restoring) checkServer(ctx context.Context, base body.Snapshot) error {
	var version int
	var encoding, collation string
	if err := r.hold.Session.Conn().QueryRow(ctx, serverQuestion).Scan(&version, &encoding, &collation); err != nil {
		return claim.Classify(err)
	}
	if encoding != base.Encoding {
		return fault.New(fault.Misconfigured, "the base is of encoding %s, the database of %s", base.Encoding, encoding).
			WithHint("drop the database and run: CREATE DATABASE ... ENCODING '%s' TEMPLATE template0", base.Encoding)
	}
	if version/versions < base.ServerVersion/versions {
		r.warn("the server is of version %d, the base of the later %d: what it does not know yet is refused by name",
			version/versions, base.ServerVersion/versions)
	}
	if base.Collation != "" && collation != base.Collation {
		r.warn("the database's collation is %q, the base's was %q: indexes are built anew, but texts may sort in another order",
			collation, base.Collation)
	}
	return nil
}
