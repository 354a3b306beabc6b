package packing

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"hash"
	"io"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"

	"tidemark/shared/fault"
	"tidemark/shared/manifest"
)

// Unpacker gives the plain bytes of objects, one at a time.
type Unpacker struct {
	identities []age.Identity
	decoder    *zstd.Decoder
	opened     int // counts objects, so that a reader knows whether the decoder is still its own
}

// NewUnpacker makes an unpacker that reads what is encrypted to any of identities, old ones among them, and what is not
// encrypted.
func NewUnpacker(identities []age.Identity) (*Unpacker, error) {
	decoder, err := zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(1), // decodes within Read: no goroutine, nothing to close
		zstd.WithDecoderMaxWindow(maxWindow),
		zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, fault.New(fault.Bug, "make decompressor: %w", err)
	}
	return &Unpacker{identities: identities, decoder: decoder}, nil
}

// Unpack gives the plain bytes of an object of which at most limit plain bytes are wanted in memory.
//
// Errors: fault.Corrupt when the stored bytes are not the object's, when what they hold is not what the object states,
// and when it states more than limit; fault.Misconfigured when the object is encrypted and no identity opens it.
func (u *Unpacker) Unpack(stored []byte, object manifest.Object, limit int64) ([]byte, error) {
	content, err := u.Open(stored, object)
	if err != nil {
		return nil, err
	}
	if object.PlainSize > limit {
		return nil, corrupt(object, "it states %d plain bytes, at most %d are wanted", object.PlainSize, limit)
	}
	plain := make([]byte, object.PlainSize)
	if _, err := io.ReadFull(content, plain); err != nil {
		return nil, err
	}
	if _, err := io.ReadFull(content, make([]byte, 1)); !errors.Is(err, io.EOF) {
		return nil, err // something follows, or the digest is another
	}
	return plain, nil
}

// Open verifies the stored bytes, as Unpack does and with the same errors, and gives a reader that decrypts and
// decompresses as it is read. It holds good until the next Open or Unpack.
//
// The reader gives at most as many bytes as the object states, and in place of io.EOF it gives a fault.Corrupt if they
// were others, fewer or more. Wrong bytes may have been read by then: whoever uses them before io.EOF must be able to
// take that back, as COPY is. The stored digest was right, so such an error shows a bug of the packer and no damage in
// the store.
func (u *Unpacker) Open(stored []byte, object manifest.Object) (io.Reader, error) {
	u.opened++
	if err := verify(stored, object); err != nil {
		return nil, err
	}
	source := io.Reader(bytes.NewReader(stored))
	if object.Encrypted {
		var err error
		if source, err = u.decrypt(source, object); err != nil {
			return nil, err
		}
	}
	if err := u.decoder.Reset(source); err != nil {
		return nil, corrupt(object, "decompress: %w", err)
	}
	return &reader{from: u, opened: u.opened, object: object, left: object.PlainSize, sum: sha256.New()}, nil
}

func verify(stored []byte, object manifest.Object) error {
	if err := object.Validate(); err != nil {
		return fault.New(fault.Corrupt, "unpack: %w", err)
	}
	if int64(len(stored)) != object.Size {
		return corrupt(object, "it has %d stored bytes, want %d", len(stored), object.Size)
	}
	if got := manifest.DigestOf(stored); got != object.Digest {
		return corrupt(object, "its stored bytes have digest %s", got)
	}
	return nil
}

func (u *Unpacker) decrypt(sealed io.Reader, object manifest.Object) (io.Reader, error) {
	if len(u.identities) == 0 {
		return nil, fault.New(fault.Misconfigured, "unpack object %s: it is encrypted and no identity is given",
			object.Digest).
			WithHint("give the age identity of one of the recipients that the backup was made for")
	}
	plain, err := age.Decrypt(sealed, u.identities...)
	if _, other := errors.AsType[*age.NoIdentityMatchError](err); other {
		return nil, fault.New(fault.Misconfigured, "unpack object %s: it is encrypted to others than the %d identities given",
			object.Digest, len(u.identities)).
			WithHint("objects stay encrypted to the recipients of the backup that stored them: keep old identities in the list")
	}
	if err != nil {
		return nil, corrupt(object, "decrypt: %w", err)
	}
	return opener{plain: plain, object: object}, nil
}

// opener gives errors of decryption a text of their own. The decompressor would take age's io.ErrUnexpectedEOF between
// two frames for the end.
type opener struct {
	plain  io.Reader
	object manifest.Object
}

func (o opener) Read(p []byte) (int, error) {
	n, err := o.plain.Read(p)
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	return n, corrupt(o.object, "decrypt: %w", err)
}

// reader gives plain bytes and keeps account of them.
type reader struct {
	from   *Unpacker
	opened int
	object manifest.Object
	left   int64
	sum    hash.Hash
	err    error
}

// Read asks for one byte more than is left, to see that nothing follows.
func (r *reader) Read(p []byte) (int, error) {
	if r.err == nil && r.opened != r.from.opened {
		r.err = fault.New(fault.Bug, "read object %s after another was opened", r.object.Digest)
	}
	if r.err != nil || len(p) == 0 {
		return 0, r.err
	}
	n, err := r.from.decoder.Read(p[:min(int64(len(p)), r.left+1)])
	if int64(n) > r.left {
		n = int(r.left)
		err = corrupt(r.object, "it holds more than the %d plain bytes that it states", r.object.PlainSize)
	}
	r.left -= int64(n)
	r.sum.Write(p[:n])
	if err != nil {
		r.err = r.end(err)
	}
	return n, r.err
}

func (r *reader) end(err error) error {
	switch got := digestOf(r.sum); {
	case fault.ClassOf(err) == fault.Corrupt:
		return err
	case !errors.Is(err, io.EOF):
		return corrupt(r.object, "decompress: %w", err)
	case r.left > 0:
		return corrupt(r.object, "it holds %d plain bytes, want %d", r.object.PlainSize-r.left, r.object.PlainSize)
	case got != r.object.Plain:
		return corrupt(r.object, "its plain bytes have digest %s, want %s", got, r.object.Plain)
	}
	return io.EOF
}

func corrupt(object manifest.Object, form string, args ...any) error {
	return fault.New(fault.Corrupt, "unpack object %s: "+form, append([]any{object.Digest}, args...)...)
}
