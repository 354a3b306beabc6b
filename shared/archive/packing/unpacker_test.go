package packing_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"

	"tidemark/shared/archive/packing"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
)

func TestUnpackRefuses(t *testing.T) {
	t.Parallel()
	mine := newKey(t)
	plain := rowsLikeCopy(1000)
	bare := pack(t, packing.Options{}, plain, "")
	sealed := pack(t, packing.Options{Recipients: mine.recipients}, plain, "")
	stating := func(packed packing.Packed, change func(*manifest.Object)) packing.Packed {
		change(&packed.Object)
		return packed
	}
	storing := func(packed packing.Packed, stored []byte) packing.Packed {
		packed.Stored = stored
		return packed
	}
	plainSize := func(size int64) func(*manifest.Object) { return func(o *manifest.Object) { o.PlainSize = size } }
	otherPlain := func(o *manifest.Object) { o.Plain = o.Digest }
	encrypted := func(is bool) func(*manifest.Object) { return func(o *manifest.Object) { o.Encrypted = is } }
	turned := func(stored []byte) []byte {
		stored = bytes.Clone(stored)
		stored[40]++
		return stored
	}
	longer := append(bytes.Clone(bare.Stored), 0)
	own, others := []age.Identity{mine.identity}, []age.Identity{newKey(t).identity, newKey(t).identity}
	wide := compressed(t, make([]byte, 33<<20), zstd.WithWindowSize(16<<20))
	const corrupt, misconfigured = fault.Corrupt, fault.Misconfigured
	for name, c := range map[string]struct {
		packed     packing.Packed
		identities []age.Identity
		limit      int64
		want       fault.Class
	}{
		"AnObjectThatCannotBe":        {packed: stating(bare, plainSize(-1)), want: corrupt},
		"AnotherSize":                 {packed: storing(bare, longer), want: corrupt},
		"AnotherDigest":               {packed: storing(bare, turned(bare.Stored)), want: corrupt},
		"AnotherDigestBeforeItsKey":   {packed: storing(sealed, turned(sealed.Stored)), want: corrupt},
		"FewerPlainBytes":             {packed: stating(bare, plainSize(1001)), want: corrupt},
		"MorePlainBytes":              {packed: stating(bare, plainSize(999)), want: corrupt},
		"OtherPlainBytes":             {packed: stating(bare, otherPlain), want: corrupt},
		"MoreThanTheLimit":            {packed: bare, limit: 999, want: corrupt},
		"ALieFarAboveTheLimit":        {packed: stating(bare, plainSize(1<<60)), want: corrupt},
		"WhatIsSaidToBeEncrypted":     {packed: stating(bare, encrypted(true)), identities: own, want: corrupt},
		"WhatIsNotSaidToBeEncrypted":  {packed: stating(sealed, encrypted(false)), identities: own, want: corrupt},
		"EncryptedWithoutAnIdentity":  {packed: sealed, want: misconfigured},
		"EncryptedToSomebodyElse":     {packed: sealed, identities: others, want: misconfigured},
		"AWindowThatIsTooLargeToHold": {packed: wide, limit: 64 << 20, want: corrupt},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.limit == 0 {
				c.limit = 1 << 20
			}
			got, err := newUnpacker(t, c.identities...).Unpack(c.packed.Stored, c.packed.Object, c.limit)
			wantClass(t, err, c.want)
			if got != nil {
				t.Fatalf("got %d bytes beside the error", len(got))
			}
			if c.want == fault.Misconfigured && fault.HintOf(err) == "" {
				t.Fatal("there is no hint")
			}
		})
	}
}

// compressed is an object as another packer would make it.
func compressed(t failer, plain []byte, options ...zstd.EOption) packing.Packed {
	t.Helper()
	var stored bytes.Buffer
	encoder, err := zstd.NewWriter(&stored, options...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := encoder.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := encoder.Close(); err != nil {
		t.Fatal(err)
	}
	object := manifest.Object{Plain: manifest.DigestOf(plain), PlainSize: int64(len(plain))}
	return packing.Packed{Stored: stored.Bytes(), Object: restated(object, stored.Bytes())}
}

func TestUnpackReadsWhatOldRecipientsCould(t *testing.T) {
	t.Parallel()
	quantum, err := age.GenerateHybridIdentity()
	if err != nil {
		t.Fatal(err)
	}
	oldest, old, current := parseIdentities(t, quantum.String())[0], newKey(t), newKey(t)
	unpacker := newUnpacker(t, current.identity, old.identity, oldest)
	for name, recipients := range map[string][]age.Recipient{
		"Current": current.recipients, "Old": old.recipients, "PostQuantum": parseRecipients(t, quantum.Recipient().String()),
		"Both": append(newKey(t).recipients, old.recipients...), "None": nil,
	} {
		packed := pack(t, packing.Options{Recipients: recipients}, []byte("rows"), "run-1")
		got, err := unpacker.Unpack(packed.Stored, packed.Object, 4)
		if err != nil || string(got) != "rows" {
			t.Errorf("%s: got %q and error %v, want rows", name, got, err)
		}
	}
}

func TestOpenStreams(t *testing.T) {
	t.Parallel()
	mine := newKey(t)
	plain := rowsLikeCopy(300_000)
	for name, options := range map[string]packing.Options{"Plain": {}, "Encrypted": {Recipients: mine.recipients}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			packed := pack(t, options, plain, "run-1")
			opened, err := newUnpacker(t, mine.identity).Open(packed.Stored, packed.Object)
			if err != nil {
				t.Fatal(err)
			}
			if err := iotest.TestReader(opened, plain); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestOpenReportsWrongPlainBytesWhereTheEndWouldBe(t *testing.T) {
	t.Parallel()
	plain := rowsLikeCopy(300_000)
	packed := pack(t, packing.Options{}, plain, "")
	unpacker := newUnpacker(t)
	for name, change := range map[string]func(*manifest.Object){
		"Others": func(o *manifest.Object) { o.Plain = manifest.DigestOf(nil) },
		"Fewer":  func(o *manifest.Object) { o.PlainSize++ },
		"More":   func(o *manifest.Object) { o.PlainSize -= 100_000 },
	} {
		object := packed.Object
		change(&object)
		opened, err := unpacker.Open(packed.Stored, object)
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		_, err = io.CopyBuffer(struct{ io.Writer }{&got}, opened, make([]byte, 1000))
		wantClass(t, err, fault.Corrupt)
		if want := plain[:min(object.PlainSize, 300_000)]; !bytes.Equal(got.Bytes(), want) {
			t.Fatalf("%s: got %d bytes before the error, want %d", name, got.Len(), len(want))
		}
		if _, again := opened.Read(make([]byte, 1)); !errors.Is(again, err) {
			t.Fatalf("%s: got error %v from a second read, want the first", name, again)
		}
	}
}

func TestOpenEndsTheReaderBefore(t *testing.T) {
	t.Parallel()
	packed := pack(t, packing.Options{}, rowsLikeCopy(1000), "")
	unpacker := newUnpacker(t)
	first, err := unpacker.Open(packed.Stored, packed.Object)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unpacker.Unpack(packed.Stored, packed.Object, 1000); err != nil {
		t.Fatal(err)
	}
	_, err = first.Read(make([]byte, 10))
	wantClass(t, err, fault.Bug)
}
