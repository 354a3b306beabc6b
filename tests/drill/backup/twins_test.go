//go:build drill

package backup_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"tidemark/shared/postgres/postgrestest"
)

const held = 11 // the exit code of one that must not run

// TestCloneSharesNoPrefix makes a copy of the whole database, which then says of itself that it is the same target. Whichever of
// the two writes first, the other is refused, and what is listed stays one history.
func TestCloneSharesNoPrefix(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before bool // a backup was made before the copy
		first  bool // the copy writes first
	}{
		"TheCopyIsRefused":                {true, false},
		"TheCopyIsRefusedWithoutAHistory": {false, false},
		"TheFirstComerWins":               {true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVault(t, kiosk, 1)
			if c.before {
				v.run(t, 0)
			}
			original, copied := v.env["TIDEMARK_DATABASE_URL"], v.clone(t)
			writes, refused := original, copied
			if c.first {
				writes, refused = copied, original
			}
			v.env["TIDEMARK_DATABASE_URL"] = writes
			v.run(t, 0)
			before := v.sound(t)
			v.env["TIDEMARK_DATABASE_URL"] = refused
			if said := v.run(t, held).Errors.String(); !strings.Contains(said, "another database writes to this archive as this target") ||
				!strings.Contains(said, "clone") {
				t.Errorf("the command says %s", said)
			}
			v.env["TIDEMARK_DATABASE_URL"] = writes
			v.run(t, 0)
			if after := v.sound(t); len(after) != len(before)+1 {
				t.Errorf("%d manifests after %d, want those of one database", len(after), len(before))
			}
		})
	}
}

// clone copies the vault's database, with its ledger, and gives the copy's address. The vault's own session ends for that.
func (v *vault) clone(t *testing.T) string {
	t.Helper()
	address, err := url.Parse(v.db.URL)
	if err != nil {
		t.Fatal("the database's address is no URL")
	}
	v.alone(t)
	if err := v.db.Conn.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	from := strings.TrimPrefix(address.Path, "/")
	to, server := from+"_clone", postgrestest.Empty(t)
	server.Exec(t, "CREATE DATABASE "+to+" TEMPLATE "+from)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if _, err := server.Conn.Exec(ctx, "DROP DATABASE "+to+" WITH (FORCE)"); err != nil {
			t.Errorf("drop the clone: %v", err)
		}
	})
	address.Path = "/" + to
	return address.String()
}

// TestBackupsAtOnce starts several at one moment. At any time one runs: the others are refused, or come after it, and each
// that says so has made a manifest with a number of its own.
func TestBackupsAtOnce(t *testing.T) {
	t.Parallel()
	const rounds, atATime = 4, 5
	v := newVault(t, kiosk, 2)
	won, lost := 0, 0
	for range rounds {
		var all []*process
		for range atATime {
			all = append(all, v.start(t))
		}
		winners := 0
		for _, p := range all {
			switch code := p.Wait(t, patience); {
			case code == 0:
				winners++
				p.made(t)
			case code == held && strings.Contains(p.Errors.String(), "another backup is running"):
				lost++
			default:
				t.Errorf("exit code %d: %s", code, &p.Errors)
			}
		}
		if winners == 0 {
			t.Error("nobody won")
		}
		won += winners
		if listed := v.sound(t); len(listed) != won {
			t.Errorf("%d manifests are listed, %d backups said that they made one", len(listed), won)
		}
		newest(t, v.archive(t)) // refuses two of one number
	}
	t.Logf("%d won, %d lost", won, lost)
	if lost == 0 {
		t.Error("no two ran at once")
	}
	if got, want := v.db.Copy(t, "SELECT count(*), count(DISTINCT seq) FROM tidemark.backup_run WHERE state = 'done'"),
		fmt.Sprintf("%d\t%d\n", won, won); got != want {
		t.Errorf("the ledger has %q, want %q", got, want)
	}
}
