// Package vacancy owns whether a name is free for a target that begins: neither the archive behind it nor the database holds
// an earlier life, or a recovery of one.
//
// It writes nothing, and refuses where it could not look. What it does not find may come a moment later: the ledger and the
// archive themselves keep two lives apart. No state.
package vacancy

import (
	"context"

	"github.com/spf13/cobra"

	"tidemark/cmd/tidemark/exit"
	"tidemark/shared/archive"
	"tidemark/shared/archive/layout"
	"tidemark/shared/config"
	"tidemark/shared/fault"
	"tidemark/shared/postgres/ledger"
	"tidemark/shared/recovery/refusal"
	"tidemark/shared/wiring"
)

// Refuse says why a target that is new must not begin: see Archive. One that lives already is no matter of it. Where no
// archive is named, that nobody looked is told.
func Refuse(cmd *cobra.Command, of *ledger.Operator) (refused, err error) {
	isNew, err := of.IsNew(cmd.Context())
	if err != nil || !isNew {
		return nil, err
	}
	named, refused := Archive(cmd.Context())
	if !named {
		cmd.Println("TIDEMARK_ARCHIVE is not set: whether backups of an earlier target are kept under this name was not checked")
	}
	return refused, nil
}

// Archive refuses an archive that holds a life of a target already, in any of its buckets: a fresh database behind the old
// name would go live beside the target that is recovered from there. It answers whether an archive is named at all.
//
// Errors: fault.Misconfigured, marked as the archive's; what keeps the archive from being asked.
func Archive(ctx context.Context) (named bool, err error) {
	lookup, environ := config.OS()
	if at, _ := lookup("TIDEMARK_ARCHIVE"); at == "" {
		return false, nil
	}
	environment, err := config.LoadArchivist(lookup, environ)
	if err != nil {
		return true, err
	}
	opened, err := wiring.OpenArchive(ctx, environment.Archive, environment.TargetID)
	if err != nil {
		return true, err
	}
	for _, place := range opened.Places {
		if err := vacant(ctx, place); err != nil {
			return true, exit.Archive(err)
		}
	}
	return true, nil
}

// vacant believes a key alone: what is signed by a key that nobody trusts any more is a life too.
func vacant(ctx context.Context, place archive.Place) error {
	for _, folder := range []string{layout.Lineages, layout.Manifests} {
		for info, err := range place.List(ctx, folder) {
			if err != nil {
				return fault.New(fault.ClassOf(err), "look into the %s bucket for an earlier life: %w", place.Name, err).
					WithHint("%s", fault.HintOf(err))
			}
			_, isLineage := layout.ParseLineage(info.Key)
			if _, isManifest := layout.ParseManifest(info.Key); isLineage || isManifest {
				return refuse(refusal.IdentityMismatch, "the "+place.Name+" bucket holds "+info.Key+" of a target that lived before",
					"bring that target back with tidemark recover; for one that begins anew name another prefix in TIDEMARK_ARCHIVE")
			}
		}
	}
	return nil
}
