package packing

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"

	"tidemark/shared/fault"
	"tidemark/shared/manifest"
)

// DefaultLevel is the zstd level of a packer that is told none: at level 3 rows took a third more processor time and
// came out 1 % smaller.
const DefaultLevel = 1

// ErrTooLarge is in the error of an object that would have more stored bytes than an object may have.
var ErrTooLarge = fmt.Errorf("more than the %d stored bytes that an object may have", maxStored)

var errNotBegun = errors.New("no object was begun")

// Options say how a Packer packs.
type Options struct {
	Level      int             // as zstd counts, 1 to 19; 0 is DefaultLevel
	Recipients []age.Recipient // who can read the objects, none: everyone
}

func (o Options) withDefaults() Options {
	if o.Level == 0 {
		o.Level = DefaultLevel
	}
	return o
}

// validate also says how many stored bytes come before an object's payload.
func (o Options) validate() (header int64, err error) {
	if o.Level < 1 || o.Level > 19 {
		return 0, fault.New(fault.Misconfigured, "compression level %d: want 1 to 19", o.Level)
	}
	if len(o.Recipients) == 0 {
		return 0, nil
	}
	var to counter
	if _, err := age.Encrypt(&to, o.Recipients...); err != nil {
		return 0, fault.New(fault.Misconfigured, "encrypt to %d recipients: %w", len(o.Recipients), err).
			WithHint("classic and post-quantum recipients cannot stand in one list")
	}
	return int64(to), nil
}

// Packer packs one object after the other: Begin, Write as often as needed, Finish. A Begin instead of Finish drops the
// object.
type Packer struct {
	encoder    *zstd.Encoder
	recipients []age.Recipient
	sealer     io.WriteCloser // nil when there are no recipients
	header     int64          // stored bytes before the sealed payload
	stored     sink
	plainSize  int64
	err        error // why the object cannot go on
}

// NewPacker makes a packer. Errors: fault.Misconfigured for a level out of range or recipients that exclude each other.
func NewPacker(options Options) (*Packer, error) {
	options = options.withDefaults()
	header, err := options.validate()
	if err != nil {
		return nil, err
	}
	encoder, err := zstd.NewWriter(nil,
		zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(options.Level)),
		zstd.WithWindowSize(window),
		zstd.WithEncoderConcurrency(1),
		// The encoder's way to save memory copies the whole window for each block that it reads.
		zstd.WithLowerEncoderMem(false),
		// The digests find what a checksum of 32 bits would.
		zstd.WithEncoderCRC(false),
		// No plain bytes still make an object, because an object has at least one stored byte.
		zstd.WithZeroFrames(true))
	if err != nil {
		return nil, fault.New(fault.Bug, "make compressor of level %d: %w", options.Level, err)
	}
	return &Packer{
		encoder: encoder, recipients: options.Recipients, header: header,
		stored: sink{sum: sha256.New()}, err: fault.Wrap(fault.Bug, errNotBegun),
	}, nil
}

// Encrypts says whether the objects are encrypted.
func (p *Packer) Encrypts() bool { return len(p.recipients) > 0 }

// Begin starts an object.
func (p *Packer) Begin() error {
	p.stored.reset()
	p.plainSize, p.sealer = 0, nil
	p.err = p.begin()
	return p.err
}

func (p *Packer) begin() error {
	var to io.Writer = &p.stored
	if p.Encrypts() {
		sealer, err := age.Encrypt(&p.stored, p.recipients...)
		if err != nil {
			return fault.New(fault.Misconfigured, "encrypt to %d recipients: %w", len(p.recipients), err)
		}
		p.sealer, to = sealer, sealer
	}
	p.encoder.Reset(to)
	return nil
}

// Write adds plain bytes to the object. Once it or Finish failed, every call fails until the next Begin.
//
// Errors: fault.Misconfigured with ErrTooLarge as soon as the object is over its bound, so that nobody reads the rest
// of what has no place; fault.Bug when no object was begun.
func (p *Packer) Write(plain []byte) (int, error) {
	if p.err != nil {
		return 0, p.err
	}
	p.plainSize += int64(len(plain))
	n, err := p.encoder.Write(plain)
	if err != nil {
		p.err = p.failed("compress", err)
	}
	return n, p.err
}

// Most is the most stored bytes that so many plain bytes can take.
func (p *Packer) Most(plain int64) int64 {
	if plain > math.MaxInt64/2 {
		return math.MaxInt64 // no object has a part of it
	}
	size := frameOverhead + plain + blockOverhead*(plain/smallestBlock+2)
	if p.Encrypts() {
		size += p.header + partOverhead*(size/sealedPart+1)
	}
	return size
}

// Fits says whether an object of so many plain bytes is surely within its bound. A splitter asks before each row: if not, it
// finishes the object and begins the next. A row that does not fit into an object of its own may still be written, since it
// may compress; else Write refuses it.
func (p *Packer) Fits(plain int64) bool { return p.Most(plain) <= maxStored }

// Finish ends the object, whose plain bytes have this digest: whoever asks whether they were packed before knows it anyway.
// Errors: those of Write.
func (p *Packer) Finish(plain manifest.Digest) (Packed, error) {
	if p.err != nil {
		return Packed{}, p.err
	}
	if err := p.encoder.Close(); err != nil {
		p.err = p.failed("compress", err)
		return Packed{}, p.err
	}
	if p.sealer != nil {
		if err := p.sealer.Close(); err != nil {
			p.err = p.failed("encrypt", err)
			return Packed{}, p.err
		}
	}
	p.err = fault.Wrap(fault.Bug, errNotBegun)
	stored := p.stored.give()
	return Packed{Stored: stored, Object: manifest.Object{
		Digest: digestOf(p.stored.sum), Size: int64(len(stored)),
		Plain: plain, PlainSize: p.plainSize, Encrypted: p.sealer != nil,
	}}, nil
}

// Reclaim takes the memory of stored bytes back that nobody needs any more. Objects to come stand in it.
func (p *Packer) Reclaim(stored []byte) { p.stored.take(stored) }

// Pack is Begin, Write and Finish of plain bytes that are in memory anyway.
func (p *Packer) Pack(plain []byte) (Packed, error) {
	if err := p.Begin(); err != nil {
		return Packed{}, err
	}
	if _, err := p.Write(plain); err != nil {
		return Packed{}, err
	}
	return p.Finish(manifest.DigestOf(plain))
}

func (p *Packer) failed(step string, err error) error {
	if !errors.Is(err, ErrTooLarge) {
		return fault.New(fault.Bug, "%s object after %d plain bytes: %w", step, p.plainSize, err)
	}
	return fault.New(fault.Misconfigured, "pack object of %d or more plain bytes: %w", p.plainSize, err).
		WithHint("an object holds whole rows, so a row that compresses to no less than %d MiB cannot be in an archive: "+
			"split its largest value over rows, or keep it outside the database", manifest.MaxObject>>20)
}

func digestOf(sum hash.Hash) manifest.Digest {
	return manifest.SumDigest([sha256.Size]byte(sum.Sum(nil)))
}
