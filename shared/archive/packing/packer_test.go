package packing_test

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/shared/archive/packing"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
)

// levels has one for each way in which the compressor works.
var levels = []int{1, 3, 7, 11}

var someRows, someNoise = rowsLikeCopy(300_000), noise(300_000)

// content draws plain bytes: of one row, of many rows, noise, or of both, up to some blocks of the compressor.
var content = rapid.Custom(func(t *rapid.T) []byte {
	var plain []byte
	for range rapid.IntRange(0, 3).Draw(t, "parts") {
		edges := rapid.SampledFrom([]int{65_535, 65_536, 65_537, 131_072})
		size := rapid.OneOf(rapid.IntRange(0, 200), edges, rapid.IntRange(0, 300_000)).Draw(t, "size")
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			plain = append(plain, someRows[:size]...)
		case 1:
			plain = append(plain, someNoise[:size]...)
		case 2:
			plain = append(plain, make([]byte, size)...)
		}
	}
	return plain
})

// write writes plain in parts of drawn sizes.
func write(t *rapid.T, packer *packing.Packer, plain []byte) {
	for len(plain) > 0 {
		n := min(len(plain), rapid.OneOf(rapid.IntRange(1, 100_000), rapid.Just(65_536)).Draw(t, "write"))
		if _, err := packer.Write(plain[:n]); err != nil {
			t.Fatal(err)
		}
		plain = plain[n:]
	}
}

func TestPackedObjectsUnpack(t *testing.T) {
	t.Parallel()
	mine := newKey(t)
	unpacker := newUnpacker(t, mine.identity)
	rapid.Check(t, func(t *rapid.T) {
		options := packing.Options{Level: rapid.SampledFrom(levels).Draw(t, "level")}
		if rapid.Bool().Draw(t, "encrypted") {
			options.Recipients = mine.recipients
		}
		plain := content.Draw(t, "plain")
		packer := newPacker(t, options)
		if err := packer.Begin(); err != nil {
			t.Fatal(err)
		}
		write(t, packer, plain)
		packed, err := packer.Finish(manifest.DigestOf(plain))
		if err != nil {
			t.Fatal(err)
		}
		if err := packed.Object.Validate(); err != nil {
			t.Fatal(err)
		}
		want := manifest.Object{
			Digest: manifest.DigestOf(packed.Stored), Size: int64(len(packed.Stored)),
			Plain: manifest.DigestOf(plain), PlainSize: int64(len(plain)), Encrypted: options.Recipients != nil,
		}
		if diff := cmp.Diff(want, packed.Object); diff != "" {
			t.Fatal(diff)
		}
		got, err := unpacker.Unpack(packed.Stored, packed.Object, int64(len(plain)))
		if err != nil || !bytes.Equal(got, plain) {
			t.Fatalf("got %d bytes and error %v, want the %d packed", len(got), err, len(plain))
		}
	})
}

func TestPackerGivesEqualBytesWhateverCameBefore(t *testing.T) {
	t.Parallel()
	used := map[int]*packing.Packer{}
	for _, level := range levels {
		used[level] = newPacker(t, packing.Options{Level: level})
	}
	rapid.Check(t, func(t *rapid.T) {
		level := rapid.SampledFrom(levels).Draw(t, "level")
		plain := content.Draw(t, "plain")
		if rapid.Bool().Draw(t, "after a dropped object") {
			if err := used[level].Begin(); err != nil {
				t.Fatal(err)
			}
			write(t, used[level], content.Draw(t, "dropped"))
		}
		if err := used[level].Begin(); err != nil {
			t.Fatal(err)
		}
		write(t, used[level], plain)
		got, err := used[level].Finish(manifest.DigestOf(plain))
		if err != nil {
			t.Fatal(err)
		}
		want := pack(t, packing.Options{Level: level}, plain, "")
		if !bytes.Equal(got.Stored, want.Stored) || got.Object != want.Object {
			t.Fatalf("got %v, want %v", got.Object, want.Object)
		}
	})
}

func TestPackerSaltsObjects(t *testing.T) {
	t.Parallel()
	plain := rowsLikeCopy(10_000)
	bare := pack(t, packing.Options{}, plain, "")
	one, other := pack(t, packing.Options{}, plain, "run-1"), pack(t, packing.Options{}, plain, "run-2")
	if bare.Object.Digest == one.Object.Digest || one.Object.Digest == other.Object.Digest {
		t.Fatalf("got digests %s, %s and %s, want three", bare.Object.Digest, one.Object.Digest, other.Object.Digest)
	}
	if bare.Object.Plain != one.Object.Plain || one.Object.Plain != other.Object.Plain {
		t.Fatal("the plain digest depends on the salt")
	}
	want := append(bytes.Clone(bare.Stored), "\x50\x2a\x4d\x18\x05\x00\x00\x00run-1"...)
	if !bytes.Equal(one.Stored, want) {
		t.Fatalf("got …%.40x, want a skippable frame behind %.20x…", one.Stored, bare.Stored)
	}
}

func TestPackedObjectsHaveRoomForASaltLater(t *testing.T) {
	t.Parallel()
	packer, plain := newPacker(t, packing.Options{}), noise(manifest.MaxObject-3200) // as many block heads follow
	size := len(plain)
	packed, err := packer.Pack(plain[:size])
	for ; err != nil; packed, err = packer.Pack(plain[:size]) {
		size -= 100 // the largest object of which the packer is not yet sure is refused, and those above
	}
	salted := packed.Salted(strings.Repeat("x", 255))
	if err := salted.Object.Validate(); err != nil || salted.Object.Digest == packed.Object.Digest {
		t.Fatalf("got %+v, %v, want another object that is valid", salted.Object, err)
	}
	got, err := newUnpacker(t).Unpack(salted.Stored, salted.Object, manifest.MaxObject)
	if err != nil || !bytes.Equal(got, plain[:size]) {
		t.Fatalf("got %d bytes and error %v, want the %d packed", len(got), err, size)
	}
}

func TestPackerBoundsWhatItGives(t *testing.T) {
	t.Parallel()
	mine := newKey(t)
	rapid.Check(t, func(t *rapid.T) {
		options := packing.Options{Level: rapid.SampledFrom(levels).Draw(t, "level")}
		if rapid.Bool().Draw(t, "encrypted") {
			options.Recipients = mine.recipients
		}
		plain := content.Draw(t, "plain")
		packer := newPacker(t, options)
		packed, err := packer.Pack(plain)
		if err != nil {
			t.Fatal(err)
		}
		if bound := packer.Most(int64(len(plain))); packed.Object.Size > bound {
			t.Fatalf("got bound %d of %d stored bytes", bound, packed.Object.Size)
		}
	})
}

// Close to it too, or a splitter would end objects too soon.
func TestPackerIsSureOfNearlyAWholeObject(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]packing.Options{"Plain": {}, "Encrypted": {Recipients: newKey(t).recipients}} {
		packer := newPacker(t, options)
		if most := int64(manifest.MaxObject); !packer.Fits(most-100_000) || packer.Fits(most) || packer.Fits(math.MaxInt64) {
			t.Errorf("%s: want room for nearly %d plain bytes and no more", name, most)
		}
	}
}

func TestPackerFillsObjectsToTheirBound(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]packing.Options{"Plain": {}, "Encrypted": {Recipients: newKey(t).recipients}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			packer, rows, size := newPacker(t, options), noise(manifest.MaxObject), 0
			for packer.Fits(int64(size) + 100_000) {
				size += 100_000
			}
			packed, err := packer.Pack(rows[:size])
			if err != nil {
				t.Fatal(err)
			}
			if size := packed.Object.Size; size > manifest.MaxObject || size < manifest.MaxObject-300_000 {
				t.Fatalf("got %d stored bytes, want nearly %d", size, manifest.MaxObject)
			}
		})
	}
}

func TestPackerRefusesMoreThanAnObjectMayHave(t *testing.T) {
	t.Parallel()
	tooMuch := noise(manifest.MaxObject + 1)
	for name, options := range map[string]packing.Options{"Plain": {}, "Encrypted": {Recipients: newKey(t).recipients}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			packer := newPacker(t, options)
			_, err := packer.Pack(tooMuch)
			wantClass(t, err, fault.Misconfigured)
			if !errors.Is(err, packing.ErrTooLarge) || !strings.Contains(err.Error(), "67108865") || fault.HintOf(err) == "" {
				t.Fatalf("got %q, want a too large object of 67108865 bytes, with a hint", fault.Line(err))
			}
			if _, again := packer.Write([]byte("more")); !errors.Is(again, packing.ErrTooLarge) {
				t.Fatalf("write after: got error %v", again)
			}
			if _, again := packer.Finish(""); !errors.Is(again, packing.ErrTooLarge) {
				t.Fatalf("finish after: got error %v", again)
			}
			if _, err := packer.Pack([]byte("next")); err != nil {
				t.Fatalf("next object: %v", err)
			}
		})
	}
	t.Run("AsSoonAsItIsReached", func(t *testing.T) {
		t.Parallel()
		packer, written := newPacker(t, packing.Options{}), 0
		if err := packer.Begin(); err != nil {
			t.Fatal(err)
		}
		for {
			n, err := packer.Write(tooMuch[written%(1<<20):][:16<<20])
			written += n
			if err != nil {
				wantClass(t, err, fault.Misconfigured)
				break
			}
			if written > 200<<20 {
				t.Fatal("a value without end runs on")
			}
		}
	})
}

func TestPackerTakesALargeValueThatCompresses(t *testing.T) {
	t.Parallel()
	packer, part := newPacker(t, packing.Options{}), make([]byte, 8<<20)
	if err := packer.Begin(); err != nil {
		t.Fatal(err)
	}
	for range 25 {
		if _, err := packer.Write(part); err != nil {
			t.Fatal(err)
		}
	}
	packed, err := packer.Finish("")
	if err != nil || packed.Object.PlainSize != 200<<20 || packed.Object.Size > 1<<20 {
		t.Fatalf("got %+v, %v", packed.Object, err)
	}
}

func TestPackerRefusesUseOutOfOrder(t *testing.T) {
	t.Parallel()
	packer := newPacker(t, packing.Options{})
	_, err := packer.Write(nil)
	wantClass(t, err, fault.Bug)
	_, err = packer.Finish("")
	wantClass(t, err, fault.Bug)
	if _, err := packer.Pack(nil); err != nil {
		t.Fatal(err)
	}
	_, err = packer.Finish("")
	wantClass(t, err, fault.Bug)
	_, err = packer.Write([]byte("late"))
	wantClass(t, err, fault.Bug)
}

func TestNewPackerRefusesOptions(t *testing.T) {
	t.Parallel()
	quantum, err := age.GenerateHybridIdentity()
	if err != nil {
		t.Fatal(err)
	}
	mixed := append(parseRecipients(t, quantum.Recipient().String()), newKey(t).recipients...)
	for name, options := range map[string]packing.Options{
		"LevelBelowAll": {Level: -1}, "LevelAboveAll": {Level: 20}, "RecipientsThatExcludeEachOther": {Recipients: mixed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := packing.NewPacker(options)
			wantClass(t, err, fault.Misconfigured)
		})
	}
}
