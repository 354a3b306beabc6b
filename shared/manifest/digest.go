package manifest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Digest is the SHA-256 of some bytes, as 64 lower-case hexadecimal digits.
type Digest string

// DigestOf hashes content.
func DigestOf(content []byte) Digest { return SumDigest(sha256.Sum256(content)) }

// SumDigest is the digest of a finished hash.
func SumDigest(sum [sha256.Size]byte) Digest { return Digest(hex.EncodeToString(sum[:])) }

// ParseDigest reads 64 lower-case hexadecimal digits.
func ParseDigest(text string) (Digest, error) {
	d := Digest(text)
	return d, d.Validate()
}

// String is the digest itself.
func (d Digest) String() string { return string(d) }

// IsZero says whether there is no digest.
func (d Digest) IsZero() bool { return d == "" }

// Validate refuses anything but a SHA-256 in lower-case hexadecimal digits.
func (d Digest) Validate() error {
	if len(d) != 2*sha256.Size || !isLowerHex(string(d)) {
		return fmt.Errorf("digest %.80q: want the 64 lower-case hexadecimal digits of a SHA-256", string(d))
	}
	return nil
}

// isLowerHex is no regular expression because a large body has hundreds of thousands of digests.
func isLowerHex(text string) bool {
	for _, c := range []byte(text) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// MaxObject is the largest object in an archive, in stored bytes.
const MaxObject = 64 << 20

// Object names stored bytes and what they hold. A reader checks the stored bytes before it decrypts or decompresses
// them, and the plain bytes after.
type Object struct {
	Digest    Digest `json:"digest"`      // of the stored bytes; the object's key follows from it
	Size      int64  `json:"size,string"` // stored bytes, at most MaxObject
	Plain     Digest `json:"plain"`       // of the bytes before compression and encryption
	PlainSize int64  `json:"plain_size,string"`
	Encrypted bool   `json:"encrypted,omitzero"` // to age recipients, after compression
}

// Validate refuses objects that cannot be.
func (o Object) Validate() error {
	if err := o.Digest.Validate(); err != nil {
		return err
	}
	if err := o.Plain.Validate(); err != nil {
		return err
	}
	if o.Size < 1 || o.Size > MaxObject || o.PlainSize < 0 {
		return fmt.Errorf("object %s: %d stored and %d plain bytes, want 1 to %d and 0 or more", o.Digest, o.Size,
			o.PlainSize, MaxObject)
	}
	return nil
}
