package packing_test

import (
	"io"
	"runtime"
	"testing"

	"tidemark/shared/archive/packing"
	"tidemark/shared/manifest"
)

// allocated is how many bytes work took from the heap, whether or not it gave them back: no peak can be above, whenever
// the collector runs. These tests are not parallel, so that nobody else allocates meanwhile.
func allocated(work func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	work()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// fill packs an object of nearly the largest size.
func fill(t *testing.T, packer *packing.Packer, rows []byte) packing.Packed {
	t.Helper()
	size := 0
	for packer.Fits(int64(size) + 1<<20) {
		size += 1 << 20
	}
	packed, err := packer.Pack(rows[:size])
	if err != nil {
		t.Fatal(err)
	}
	if packed.Object.Size < manifest.MaxObject-4<<20 {
		t.Fatalf("got %d stored bytes, want nearly %d", packed.Object.Size, manifest.MaxObject)
	}
	return packed
}

func TestPackerStaysWithinItsMemory(t *testing.T) {
	recipients, rows := newKey(t).recipients, noise(manifest.MaxObject)
	for _, c := range []struct {
		name    string
		options packing.Options
		most    uint64
	}{
		{"Fastest", packing.Options{Level: 1}, 80 << 20},
		{"Default", packing.Options{Level: 3}, 80 << 20},
		{"Better", packing.Options{Level: 7}, 80 << 20},
		{"Best", packing.Options{Level: 19}, 120 << 20},
		{"Encrypted", packing.Options{Level: 1, Recipients: recipients}, 80 << 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			var packer *packing.Packer
			first := allocated(func() {
				packer = newPacker(t, c.options)
				packer.Reclaim(fill(t, packer, rows).Stored)
			})
			if first > c.most {
				t.Errorf("got %d MiB for one object, want %d at most", first>>20, c.most>>20)
			}
			nine := allocated(func() {
				for range 9 {
					packed, err := packer.Pack(rows[:2<<20])
					if err != nil {
						t.Fatal(err)
					}
					packer.Reclaim(packed.Stored)
				}
			})
			if nine > 4<<20 {
				t.Errorf("got %d MiB for nine more objects, want memory used again", nine>>20)
			}
			t.Logf("%d KiB for the first object, %d KiB for nine more", first>>10, nine>>10)
		})
	}
}

func TestPackerOfSmallObjectsStaysSmall(t *testing.T) {
	got := allocated(func() { pack(t, packing.Options{}, rowsLikeCopy(1000), "") })
	if got > 16<<20 {
		t.Errorf("got %d MiB for a small object, want 16 at most", got>>20)
	}
}

func TestUnpackerStaysWithinItsMemory(t *testing.T) {
	mine := newKey(t)
	bomb := pack(t, packing.Options{Level: 19}, make([]byte, 256<<20), "")
	bomb.Object.PlainSize = 1000
	t.Run("OfABomb", func(t *testing.T) {
		unpacker := newUnpacker(t)
		got := allocated(func() {
			if _, err := unpacker.Unpack(bomb.Stored, bomb.Object, 1<<30); err == nil {
				t.Error("a bomb was unpacked")
			}
		})
		if got > 12<<20 {
			t.Errorf("got %d MiB for 1000 plain bytes, want 12 at most", got>>20)
		}
	})
	for name, options := range map[string]packing.Options{
		"OfAStream": {}, "OfAnEncryptedStream": {Recipients: mine.recipients},
	} {
		t.Run(name, func(t *testing.T) {
			packed := pack(t, options, rowsLikeCopy(24<<20), "")
			most := uint64(12 << 20)
			if packed.Object.Encrypted {
				most += uint64(len(packed.Stored)) + 1<<20 // each part is decrypted into new memory and then dropped
			}
			got := allocated(func() {
				opened, err := newUnpacker(t, mine.identity).Open(packed.Stored, packed.Object)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, opened); err != nil {
					t.Fatal(err)
				}
			})
			if got > most {
				t.Errorf("got %d KiB for %d stored bytes, want %d at most", got>>10, packed.Object.Size, most>>10)
			}
		})
	}
}
