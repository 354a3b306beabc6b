package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"tidemark/shared/archive"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/layout"
	"tidemark/shared/archive/layout/verified"
	"tidemark/shared/archive/packing"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
	"tidemark/shared/postgres/digest"
	"tidemark/shared/signing"
	"tidemark/shared/verify/census"
)

// checked is what verify says in JSON.
type checked struct {
	Manifests []struct {
		Manifest, Level, Sample, Seed, Verdict, Report string
		Looked                                         struct {
			Objects, Copies, Found, Read, Rows int64 `json:",string"`
		}
		Problems []struct{ Place, Key, What string }
		Tables   []struct{ Schema, Name, Digest string }
		Stored   []string `json:"report_in"`
	}
}

func (k *keeper) verify(code int, arguments ...string) (c checked) {
	k.t.Helper()
	got, printed := k.split(append([]string{"verify", "--json"}, arguments...)...)
	if got != code {
		_, all := k.run(append([]string{"verify", "--no-report"}, arguments...)...)
		k.t.Errorf("tidemark verify %s: exit code %d, want %d: %s\n%s", strings.Join(arguments, " "), got, code, printed, all)
	}
	k.decode(printed, &c)
	return c
}

// newest is the body of the newest manifest that can be used.
func (k *keeper) newest() body.Body {
	k.t.Helper()
	unpacker, err := packing.NewUnpacker(nil)
	if err != nil {
		k.t.Fatal(err)
	}
	h, err := history.Read(k.t.Context(), &archive.Archive{
		Target: "test-target", Places: k.places(k.primary), Trusted: signing.Keyring{{Key: k.key.Key()}}, Unpack: unpacker.Unpack,
	})
	if err != nil {
		k.t.Fatal(fault.Line(err))
	}
	choice, err := h.Choose(k.t.Context(), history.Request{})
	if err != nil {
		k.t.Fatal(fault.Line(err))
	}
	return choice.Body
}

// largest is an object of a table.
func largest(b body.Body) (found manifest.Object) {
	for _, object := range b.Objects() {
		if object.Size > found.Size {
			found = object
		}
	}
	return found
}

// flip changes one bit of an object in a folder.
func (k *keeper) flip(folder string, object manifest.Object) {
	k.t.Helper()
	path := filepath.Join(folder, filepath.FromSlash(layout.Object(object.Digest)))
	content, err := os.ReadFile(path) //nolint:gosec // of the test
	if err != nil {
		k.t.Fatal(err)
	}
	content[len(content)/2] ^= 4
	if err := os.WriteFile(path, content, 0o600); err != nil { //nolint:gosec // of the test
		k.t.Fatal(err)
	}
}

func TestVerify(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, shop+`; CREATE TYPE mood AS ENUM ('sad', 'happy'); CREATE TABLE moods (id int PRIMARY KEY, all_of mood[]);
		INSERT INTO moods SELECT i, '{sad,happy}' FROM generate_series(1, 50) AS i`)
	k.backUp(0)
	k.says(0, []string{"VERIFIED"}, "manifests", "list")

	// All is well, and the digests are those of the database itself.
	c := k.verify(0)
	m := c.Manifests[0]
	if m.Verdict != "verified" || m.Level != "hash" || m.Sample != "100%" || len(m.Stored) != 2 || m.Looked.Read != m.Looked.Copies || m.Looked.Objects == 0 {
		t.Errorf("got %+v", m)
	}
	b := k.newest()
	address, err := pgx.ParseConfig(k.db.URL)
	if err != nil {
		t.Fatal(err)
	}
	state, err := digest.New(address, digest.Options{Jobs: 2}).Read(t.Context(), b.Tables)
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	archived := census.Tables{}
	for _, table := range m.Tables {
		if name := (body.Name{Schema: table.Schema, Name: table.Name}); table.Schema != "tidemark" {
			if archived[name], err = census.ParseDigest(table.Digest); err != nil {
				t.Fatal(err)
			}
		}
	}
	if diff := census.Compare(archived, state.Tables); len(diff) > 0 || len(archived) < 2 || archived[body.Name{Schema: "public", Name: "moods"}].Rows != 50 {
		t.Errorf("the archive and the database differ: %v of %v", diff, archived)
	}
	if shifts := census.ComparePositions(b.Cut, state.Cut); len(shifts) > 0 {
		t.Errorf("got %+v", shifts)
	}
	k.says(0, []string{"hash, ", "ago"}, "manifests", "list")

	// A look at some is never one at all.
	k.says(0, []string{"verified, a sample of 5%", "of a sample alone", "seed "}, "verify", "--sample", "5%", "--no-report")
	if m := k.verify(0, "--sample", "5%", "--seed", "00000000000000ff").Manifests[0]; m.Looked.Read != 2 || m.Looked.Found != m.Looked.Copies || m.Seed != "00000000000000ff" {
		t.Errorf("got %+v", m)
	}
	k.says(0, []string{"hash of 5%, "}, "manifests", "list")

	// One bit in one bucket is found there and nowhere else.
	k.flip(k.primary, largest(b))
	if m := k.verify(0, "--level", "files").Manifests[0]; m.Looked.Read != 0 || m.Verdict != "verified" {
		t.Errorf("got %+v", m)
	}
	m = k.verify(13).Manifests[0]
	if len(m.Problems) != 1 || m.Problems[0].Place != "primary" || m.Problems[0].Key != layout.Object(largest(b).Digest) || m.Verdict != "failed" {
		t.Errorf("got %+v", m)
	}
	k.says(0, []string{"failed, hash, "}, "manifests", "list")
	k.says(0, []string{"secondary"}, "verify", "--from-bucket", "secondary")
	if err := os.Remove(filepath.Join(k.secondary, filepath.FromSlash(layout.Object(largest(b).Digest)))); err != nil {
		t.Fatal(err)
	}
	k.says(13, []string{"failed, 1 problem", "secondary: ", "is not there"}, "verify", "--level", "files", "--manifest", "1/1")
	k.says(13, []string{"failed, 2 problems", "primary: ", "its bytes have digest", "(shop.orders)"}, "verify", "--all")

	// A newer backup is whole: what the first one lost was stored again, or the loss is named.
	k.damage(verified.Report(layout.ID{Lineage: 1, Seq: 1, Run: b.RunID}, "ffffffff-ffff-7fff-8fff-ffffffffffff"), "garbage")
	k.says(0, []string{"counts for nothing", "failed, hash, "}, "manifests", "list")
	k.damage(layout.Manifest(layout.ID{Lineage: 1, Seq: 1, Run: b.RunID}), "garbage")
	k.says(13, []string{"primary: manifests/", "not the statement"}, "verify", "--no-report", "--level", "files")
}

func TestVerifyRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare   func(*archivist)
		code      int
		parts     []string
		arguments []string
	}{
		"ALevelThatIsNone":  {func(*archivist) {}, 2, []string{"want files or hash"}, []string{"--level", "all"}},
		"ASampleOfFiles":    {func(*archivist) {}, 2, []string{"level hash"}, []string{"--sample", "5%", "--level", "files"}},
		"AShareOfNothing":   {func(*archivist) {}, 2, []string{"0%"}, []string{"--sample", "0%"}},
		"ASeedThatIsNone":   {func(*archivist) {}, 2, []string{"16 hexadecimal"}, []string{"--seed", "7"}},
		"ABucketThatIsNone": {func(*archivist) {}, 2, []string{"primary"}, []string{"--from-bucket", "tertiary"}},
		"ARunThatIsNone":    {func(*archivist) {}, 2, []string{"9999"}, []string{"--manifest", "9999"}},
		"OneAndAll":         {func(*archivist) {}, 2, []string{"manifest"}, []string{"--manifest", "1/1", "--all"}},
		"NoSigningKey":      {func(a *archivist) { a.env["TIDEMARK_SIGNING_KEYS"] = "" }, 2, []string{"TIDEMARK_SIGNING_KEYS"}, nil},
		"AnEmptyArchive":    {func(a *archivist) { a.env["TIDEMARK_ARCHIVE"] = "file://" + a.secondary }, 10, []string{"no backup"}, nil},
		"AStrangersKey": {func(a *archivist) {
			a.env["TIDEMARK_TRUSTED_KEYS"] = newArchivist(a.t).env["TIDEMARK_TRUSTED_KEYS"]
		}, 12, []string{"not signed by a trusted key", "failed"}, nil},
		"RowsThatAreNone": {func(*archivist) {}, 13, []string{"without the end's mark (public.orders)", "2 problems"}, []string{"--no-report"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newArchivist(t)
			a.backUp(1, 1, a.primary)
			c.prepare(a)
			a.expect(c.code, c.parts, append([]string{"verify"}, c.arguments...)...)
		})
	}
}
