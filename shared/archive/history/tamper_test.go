package history_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"tidemark/shared/archive"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/layout"
	"tidemark/shared/archive/notice"
	"tidemark/shared/archive/writer"
	"tidemark/shared/archive/writer/writertest"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/signing"
)

// lone is an archive of one bucket with one backup of one chunk, and what was read of it.
type lone struct {
	*writertest.World
	archive   *archive.Archive
	committed writer.Committed
	manifest  history.Manifest
	chunk     manifest.Object
	entry     history.Entry
	history   *history.History
}

func alone(t *testing.T) lone {
	t.Helper()
	w := writertest.New(t)
	l := lone{World: w, archive: w.Archive(t, w.Primary), committed: write(t, w, writertest.Backup{Chunks: []string{"rows"}}, w.Primary)}
	choice, err := choose(t, l.archive, history.Request{})
	if err != nil {
		t.Fatal(err)
	}
	l.manifest, l.chunk = choice.Manifest, choice.Body.Tables[0].Chunks[0].Object
	l.history = read(t, l.archive)
	l.entry = l.history.Entries[0]
	return l
}

// damages calls with each way in which the bytes may be damaged: a flipped bit at every position, every prefix, a byte more.
func damages(content []byte, with func(how string, damaged []byte)) {
	for at := range content {
		for _, mask := range []byte{0x01, 0x10, 0x20, 0x80} {
			damaged := bytes.Clone(content)
			damaged[at] ^= mask
			with("a bit", damaged)
		}
		with("a prefix", content[:at])
	}
	with("a byte more", append(bytes.Clone(content), '\n'))
}

// TestTampered: whatever byte of a backup is altered, it is refused by name, with a reason and without a panic.
func TestTampered(t *testing.T) {
	t.Parallel()
	t.Run("Statement", func(t *testing.T) {
		t.Parallel()
		l := alone(t)
		key := layout.Manifest(l.committed.ID)
		damages(content(t, l.Primary, key), func(how string, damaged []byte) {
			replace(t, l.Primary, key, damaged)
			m, err := l.history.Open(t.Context(), l.entry)
			if how == "a byte more" && err == nil && m.Digest == l.committed.Digest {
				return // space behind an envelope changes nothing of what is signed
			}
			if !fault.Is(err, fault.Corrupt) || err.Error() == "" || m.Envelope != nil {
				t.Errorf("%s: %q: got %v, want fault.Corrupt", how, damaged, err)
			}
		})
	})
	t.Run("Body", func(t *testing.T) {
		t.Parallel()
		l := alone(t)
		key := layout.Object(l.manifest.Statement.Body.Digest)
		damages(content(t, l.Primary, key), func(how string, damaged []byte) {
			replace(t, l.Primary, key, damaged)
			if b, err := l.history.Body(t.Context(), l.manifest); !fault.Is(err, fault.Corrupt) || len(b.Tables) > 0 {
				t.Errorf("%s: got %v, want fault.Corrupt", how, err)
			}
		})
	})
	t.Run("Chunk", func(t *testing.T) {
		t.Parallel()
		l := alone(t)
		key := layout.Object(l.chunk.Digest)
		damages(content(t, l.Primary, key), func(how string, damaged []byte) {
			replace(t, l.Primary, key, damaged)
			named := 0
			stored, err := l.archive.Fetch(t.Context(), l.chunk, func(archive.Place, error) { named++ })
			if !fault.Is(err, fault.Corrupt) || stored != nil || named != 1 {
				t.Errorf("%s: got %q, %v, named %d times, want fault.Corrupt", how, stored, err, named)
			}
		})
	})
}

// Whoever may write and has no key, or another's key, makes statements that pass for one of ours in all but one thing.
func TestForgedStatementIsRefusedByName(t *testing.T) {
	t.Parallel()
	for name, forge := range map[string]struct {
		do   func(t *testing.T, l *lone) []byte
		want string
		is   error
	}{
		"OfAnotherTarget": {func(t *testing.T, l *lone) []byte {
			t.Helper()
			return l.signed(t, func(s *manifest.Statement) { s.TargetID = "other-target" })
		}, "target other-target", archive.ErrForeign},
		"OfAnotherPlace": {func(t *testing.T, l *lone) []byte {
			t.Helper()
			return l.signed(t, func(s *manifest.Statement) { s.Seq = 7 })
		}, "1/7", nil},
		"ByAnUnknownKey": {func(t *testing.T, l *lone) []byte {
			t.Helper()
			return l.signed(t, nil, writertest.NewKey(t, 9))
		}, "none by one of 1 pinned keys", signing.ErrUntrusted},
		"ByAKeyThatIsNotYetValid": {func(t *testing.T, l *lone) []byte {
			t.Helper()
			l.archive.Trusted[0].NotBefore = l.Now().Add(time.Second)
			return l.manifest.Envelope
		}, "valid from", signing.ErrUntrusted},
		"ByAnExpiredKey": {func(t *testing.T, l *lone) []byte {
			t.Helper()
			l.archive.Trusted[0].NotAfter = l.Now().Add(-time.Second)
			return l.manifest.Envelope
		}, "valid until", signing.ErrUntrusted},
		"ByAnExpiredKeyWithAnEarlierDate": {func(t *testing.T, l *lone) []byte {
			t.Helper()
			l.archive.Trusted[0].NotAfter = l.Now().Add(-time.Second)
			return l.signed(t, func(s *manifest.Statement) { s.Created = s.Created.Add(-24 * time.Hour) })
		}, "valid until", signing.ErrUntrusted},
		"ByARevokedKey": {func(t *testing.T, l *lone) []byte {
			t.Helper()
			l.archive.Trusted[0].RevokedAt = l.Now()
			return l.manifest.Envelope
		}, "revoked", signing.ErrUntrusted},
		"ByARevokedKeyWithAnEarlierDate": {func(t *testing.T, l *lone) []byte {
			t.Helper()
			l.archive.Trusted[0].RevokedAt = l.Now()
			return l.signed(t, func(s *manifest.Statement) { s.Created = s.Created.Add(-24 * time.Hour) })
		}, "revoked", signing.ErrUntrusted},
		"ByNobody": {func(t *testing.T, l *lone) []byte {
			t.Helper()
			return []byte(`{"payloadType":"` + manifest.StatementType + `","payload":"` + l.payload(t) + `","signatures":[]}`)
		}, "signatures", nil},
		"WithABadSignatureBesideAGoodOne": {func(t *testing.T, l *lone) []byte {
			t.Helper()
			bad := `{"keyid":"` + l.Key.Key().ID().String() + `","sig":"AAAA"},`
			return bytes.Replace(l.manifest.Envelope, []byte(`"signatures":[`), []byte(`"signatures":[`+bad), 1)
		}, "", nil},
		"WithAnotherPayloadType": {func(t *testing.T, l *lone) []byte {
			t.Helper()
			return bytes.Replace(l.manifest.Envelope, []byte(manifest.StatementType), []byte(notice.LifeType), 1)
		}, "", nil},
		"WithAPayloadTwice": {func(t *testing.T, l *lone) []byte {
			t.Helper()
			return bytes.Replace(l.manifest.Envelope, []byte(`{`), []byte(`{"payload":"e30=",`), 1)
		}, "duplicate", nil},
		"WithALifesRecordInItsPlace": {func(t *testing.T, l *lone) []byte {
			t.Helper()
			return content(t, l.Primary, layout.Lineage(1))
		}, "", nil},
		"WithAMemberTwice": {func(t *testing.T, l *lone) []byte {
			t.Helper()
			return l.sealed(t, func(payload string) string { return strings.Replace(payload, `{`, `{"seq":"1",`, 1) })
		}, "duplicate", nil},
		"WithAnUnknownMember": {func(t *testing.T, l *lone) []byte {
			t.Helper()
			return l.sealed(t, func(payload string) string { return strings.Replace(payload, `{`, `{"more":"1",`, 1) })
		}, "more", nil},
		"WithABodyOfAnothersSize": {func(t *testing.T, l *lone) []byte {
			t.Helper()
			return l.signed(t, func(s *manifest.Statement) { s.Body.Size = manifest.MaxObject + 1 })
		}, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := alone(t)
			replace(t, l.Primary, layout.Manifest(l.committed.ID), forge.do(t, &l))
			_, err := choose(t, l.archive, history.Request{})
			if !fault.Is(err, fault.Corrupt) || forge.is != nil && !errors.Is(err, forge.is) {
				t.Errorf("got %v of class %s, want fault.Corrupt with %v", err, fault.ClassOf(err), forge.is)
			}
			if err != nil && (!strings.Contains(err.Error(), forge.want) || !strings.Contains(err.Error(), l.committed.ID.String())) {
				t.Errorf("got %q, want it to name the manifest and %q", err, forge.want)
			}
		})
	}
}

func (l *lone) payload(t *testing.T) string {
	t.Helper()
	encoded, err := manifest.EncodeStatement(l.manifest.Statement)
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(encoded)
}

// signed is the statement with a change, signed by others than the world's key if so wanted.
func (l *lone) signed(t *testing.T, change func(*manifest.Statement), signers ...signing.Signer) []byte {
	t.Helper()
	s := l.manifest.Statement
	if change != nil {
		change(&s)
	}
	if len(signers) == 0 {
		signers = []signing.Signer{l.Key}
	}
	encoded, err := manifest.EncodeStatement(s)
	if err != nil {
		encoded = bytes.Replace([]byte(l.plain(t)), []byte(`"size":"`), []byte(`"size":"99999999999`), 1)
	}
	envelope, err := signing.Seal(t.Context(), manifest.StatementType, encoded, signers...)
	if err != nil {
		t.Fatal(err)
	}
	return envelope
}

func (l *lone) plain(t *testing.T) string {
	t.Helper()
	encoded, err := manifest.EncodeStatement(l.manifest.Statement)
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}

// sealed is the statement's text with a change, signed.
func (l *lone) sealed(t *testing.T, change func(string) string) []byte {
	t.Helper()
	envelope, err := signing.Seal(t.Context(), manifest.StatementType, []byte(change(l.plain(t))), l.Key)
	if err != nil {
		t.Fatal(err)
	}
	return envelope
}

// A statement under the key of a life, whoever signed it, is no life: whoever recovers must not believe that it owns one.
func TestStatementInThePlaceOfALifeIsNone(t *testing.T) {
	t.Parallel()
	l := alone(t)
	put(t, l.Primary, layout.Lineage(2), l.manifest.Envelope)
	h := read(t, l.archive)
	if _, known := h.Life(2); known || h.Lives[0].Problem == nil {
		t.Errorf("got lives %+v, want the second with a problem", h.Lives)
	}
	if latest, err := h.Latest(t.Context()); err != nil || latest != 1 {
		t.Errorf("got life %s, %v, want the first as the latest", latest, err)
	}
	put(t, l.Primary, layout.Revocation(l.committed.ID.Run), l.manifest.Envelope)
	if h := read(t, l.archive); h.Entries[0].Revoked || len(h.Warnings) != 1 {
		t.Errorf("got revoked %t, warnings %q, want a statement to withdraw nothing", h.Entries[0].Revoked, h.Warnings)
	}
}

// A life's record of another number or of another target is none either, though a trusted key signed it.
func TestLifeInTheWrongPlaceIsNone(t *testing.T) {
	t.Parallel()
	l := alone(t)
	put(t, l.Primary, layout.Lineage(3), content(t, l.Primary, layout.Lineage(1)))
	h := read(t, l.archive)
	if _, known := h.Life(3); known || !fault.Is(h.Lives[0].Problem, fault.Corrupt) {
		t.Errorf("got %+v, want the third with a problem", h.Lives)
	}
}
