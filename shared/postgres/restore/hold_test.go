package restore_test

import (
	"testing"

	"tidemark/shared/apply"
	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
	"tidemark/shared/postgres/restore"
	"tidemark/shared/recovery"
	"tidemark/shared/recovery/inspection"
)

var _ = restore.Options{}

// A gap that was accepted by a call that went on may end behind what the try held from the start: what is held begins where the
// checkpoint stands, or flow resume --skip can never leave it out.
func TestSettleHoldsFromTheCheckpoint(t *testing.T) {
	t.Parallel()
	db, d, base := restoredShop(t, func(try *recovery.Try) {
		try.Held = []inspection.Held{{Flow: "shop", Topic: "orders", From: 105, Until: 120}}
	})
	db.Migrate(t)
	if err := d.Pass(t.Context(), base.Try, []body.Gap{gapOf(0, 100, 110, "accepted")}); err != nil {
		t.Fatal(fault.Line(err))
	}
	if err := d.Settle(t.Context(), recovery.Settlement{Try: base.Try, State: apply.StateHeld}); err != nil {
		t.Fatal(fault.Line(err))
	}
	wantRows(t, db, "SELECT from_offset, until_offset FROM tidemark.held", "110\t120\n")
}
