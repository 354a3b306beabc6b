// Package packing owns how plain bytes become the stored bytes of one object of the archive, and back.
//
// Stored bytes are one zstd frame with the plain bytes, in age encryption if there are recipients; or behind it, not
// encrypted, a skippable frame with the salt. A packer hashes what is to be stored; the digest of the plain bytes is its
// caller's, who has hashed them to see whether they must be packed at all. Unpacking believes nothing: size and digest of
// the stored bytes first, then decryption, then decompression within the size that the object states, then size and
// digest of the plain bytes.
//
// Invariants: no object has more than manifest.MaxObject stored bytes; without recipients, equal plain bytes and level
// give equal stored bytes, whatever the packer packed before; what Unpack returns has the plain digest that the
// object states. Another version of the compressor may give other stored bytes, so that equal content is recognised by
// its plain digest, not by its name.
//
// It does no I/O and holds one object at a time. A Packer needs at most 80 MiB at the levels up to 9 and 120 MiB above,
// an Unpacker 12 MiB beside the stored bytes and what it returns. Neither is safe for concurrent use: each worker has
// its own.
package packing

import "tidemark/shared/manifest"

// Packed is an object ready to be stored.
type Packed struct {
	Stored []byte // the caller's, who may give its memory back: Packer.Reclaim
	Object manifest.Object
}

// How far back a reference in a zstd frame reaches, which is what a reader must hold. A larger window gained nothing on
// rows of a table. Readers take what zstd asks every decompressor to take, and refuse more.
const (
	window    = 4 << 20
	maxWindow = 8 << 20
)

// What zstd adds at most to what it cannot compress.
const (
	frameOverhead = 32       // a frame's header and its last, empty block
	blockOverhead = 3        // a block's header
	smallestBlock = 64 << 10 // of what fills a block
)

// What age adds to each part of its payload. The last part is the only one that may be short, and none follows it.
const (
	sealedPart   = 64 << 10
	partOverhead = 16
)

// skippableMagic opens a zstd frame that every decompressor passes over.
const skippableMagic = "\x50\x2a\x4d\x18"

// Every object leaves room for a salt, since the name that shows that one is needed is known only when it is packed.
const (
	maxSalt   = 255
	maxStored = manifest.MaxObject - (8 + maxSalt) // 8: the head of its frame
)
