package packing

import (
	"encoding/binary"

	"tidemark/shared/manifest"
)

// Salted gives the same plain bytes another stored form, and so another name, in the same memory: the salt, at most 255
// bytes, follows them in a frame that decompressors pass over. What is encrypted has bytes that nobody stored before and
// stays as it is.
func (p Packed) Salted(salt string) Packed {
	if p.Object.Encrypted {
		return p
	}
	salt = salt[:min(len(salt), maxSalt)]
	stored := append(p.Stored, skippableMagic...)
	stored = binary.LittleEndian.AppendUint32(stored, uint32(len(salt))) //nolint:gosec // a run's id
	stored = append(stored, salt...)
	p.Stored = stored
	p.Object.Digest, p.Object.Size = manifest.DigestOf(stored), int64(len(stored))
	return p
}
