// Package s3api owns the rules of the S3 API that hold whatever client speaks it: which answer means what, when a key may be
// believed absent, what a listing must look like, when a deletion is refused.
//
// A Bucket fulfils archive.Bucket, archive.Retainer and archive.Describer over the three small interfaces that the adapters
// s3bucket and miniobucket implement with their clients; what the two share is here, once, and s3apitest holds both to it.
// The package refuses to know a client, and to believe absence from an answer without a reason: a missing bucket, a proxy or
// a wrong address must never look like an empty archive.
//
// A Create is sent once. A client that repeats it by itself turns a lost reply into "the object exists", which is our own
// success seen as another's. Safe for concurrent use.
package s3api

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"iter"
	"strings"
	"time"

	"tidemark/shared/archive"
	"tidemark/shared/manifest"
)

// Objects is what a client does with the objects of one bucket. Keys are whole, as the store knows them. An error is a
// *AnswerError when the store answered; any other means that no answer was had.
type Objects interface {
	// Put stores an upload under a key that must have no content, in one request that is sent once.
	Put(ctx context.Context, key string, upload Upload) error
	// Get begins to read an object. bytesRange is the header Range, or empty for the whole.
	Get(ctx context.Context, key, bytesRange string) (Download, error)
	// Head asks what the store knows of an object; Key is not set.
	Head(ctx context.Context, key string) (archive.Info, error)
	// List gives the keys that begin with a prefix, as the store orders them. It must not end early without an error.
	List(ctx context.Context, prefix string) iter.Seq2[archive.Info, error]
	// Delete removes an object; one that is not there may be an error or not.
	Delete(ctx context.Context, key string) error
}

// Locks is what a client does with the locks of objects.
type Locks interface {
	// Retention is how long an object is locked; zero or a refusal when it is not.
	Retention(ctx context.Context, key string) (Retention, error)
	// LegalHold says whether an object is locked until a person lifts it.
	LegalHold(ctx context.Context, key string) (bool, error)
	// Retain sets the retention.
	Retain(ctx context.Context, key string, retention Retention) error
}

// Settings is what a client asks of the bucket itself. What is not set may be zero or a refusal.
type Settings interface {
	Versioning(ctx context.Context) (bool, error)
	ObjectLock(ctx context.Context) (bool, error)
	// Expirations are the rules in force that delete current objects by age.
	Expirations(ctx context.Context) ([]Expiration, error)
	Encryption(ctx context.Context) (string, error)
	// Time is the store's clock.
	Time(ctx context.Context) (time.Time, error)
}

// Upload is content with its SHA-256, which goes along in a header: a trailer would need a chunked body, which many stores
// refuse or forget.
type Upload struct {
	Content []byte
	Sum     [sha256.Size]byte
}

// Base64Sum is the checksum as it stands in the header x-amz-checksum-sha256.
func (u Upload) Base64Sum() string { return base64.StdEncoding.EncodeToString(u.Sum[:]) }

// Download is an object's content under way.
type Download struct {
	io.ReadCloser
	Length int64  // of what follows; negative when the store does not say
	Range  string // the header Content-Range; empty when the whole object follows
}

// Mode is who may shorten a retention.
type Mode string

// The modes. The zero value is none.
const (
	Governance Mode = "GOVERNANCE" // those with a right of its own
	Compliance Mode = "COMPLIANCE" // nobody
)

// Retention is a lock until a time.
type Retention struct {
	Mode  Mode
	Until time.Time
}

// Expiration is a rule that deletes objects by age.
type Expiration struct {
	Rule   string // the rule's id
	Prefix string // whole
	Tagged bool   // only objects with certain tags, which ours never have
	Days   int    // 0: at Date
	Date   time.Time
}

// WholeSum reads a SHA-256 that a store gives. kind is the header x-amz-checksum-type. A sum of the sums of parts is not
// the digest of anything that we know, so it counts as none.
func WholeSum(encoded, kind string) manifest.Digest {
	if kind == "COMPOSITE" || strings.Contains(encoded, "-") {
		return ""
	}
	sum, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(sum) != sha256.Size {
		return ""
	}
	return manifest.SumDigest([sha256.Size]byte(sum))
}

// EncryptionName is how an encryption is shown: the algorithm and the key, if one is named.
func EncryptionName(algorithm, key string) string { return strings.TrimSpace(algorithm + " " + key) }
