// Package wiring owns which driver stands behind which part of an archive, as the configuration names it: buckets, marks,
// keys for signing and for encryption.
//
// Functions and the operator's command get their archive here, so that all of them reach the same one in the same way and
// none of them knows a driver. It reads the files that the configuration names. It refuses what cannot work before anything
// is written, and names the variable to correct: every error is fault.Misconfigured unless a service that it had to ask was
// away. It keeps no state; what it returns may be used by several goroutines unless it says otherwise.
package wiring

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"filippo.io/age"

	"tidemark/shared/archive"
	"tidemark/shared/archive/dirbucket"
	"tidemark/shared/archive/miniobucket"
	"tidemark/shared/archive/packing"
	"tidemark/shared/archive/s3api"
	"tidemark/shared/archive/s3bucket"
	"tidemark/shared/config"
	"tidemark/shared/config/location"
	"tidemark/shared/config/trustfile"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/position"
)

// ErrNoFolder is in the error that says that the folder of a bucket is not there.
var ErrNoFolder = errors.New("the folder of the archive is not there")

// OpenArchive opens the archive of a target. Stores are not asked for anything yet.
//
// Errors: fault.Misconfigured; ErrNoFolder, since a disk that is not mounted must not pass for an empty archive.
func OpenArchive(ctx context.Context, c config.Archive, target position.TargetID) (*archive.Archive, error) {
	trusted, err := trustfile.Read(c.TrustedKeys)
	if err != nil {
		return nil, naming("TIDEMARK_TRUSTED_KEYS", err)
	}
	identities, err := Identities(c)
	if err != nil {
		return nil, err
	}
	authorities, err := readAuthorities(c.CAFile)
	if err != nil {
		return nil, err
	}
	a := &archive.Archive{Target: target, Trusted: trusted, Unpack: unpackWith(identities)}
	primary, err := openBucket(ctx, c.Primary, c.PrimaryLogin, authorities)
	if err != nil {
		return nil, naming("TIDEMARK_ARCHIVE", err)
	}
	a.Places = append(a.Places, archive.Place{Name: "primary", Bucket: primary})
	if c.Secondary.IsZero() {
		return a, nil
	}
	secondary, err := openBucket(ctx, c.Secondary, c.SecondaryLogin, authorities)
	if err == nil {
		err = apart(c.Primary, c.Secondary)
	}
	if err != nil {
		return nil, naming("TIDEMARK_ARCHIVE_SECONDARY", err)
	}
	a.Places = append(a.Places, archive.Place{Name: "secondary", Bucket: secondary})
	return a, nil
}

// naming says which variable an error is about.
func naming(variable string, err error) error { return fmt.Errorf("%s: %w", variable, err) }

func openBucket(ctx context.Context, p location.Place, login location.Login, authorities *x509.CertPool) (archive.Bucket, error) {
	options := s3api.Options{
		Bucket: p.Bucket, Prefix: p.Prefix, Region: p.Region, Endpoint: p.Endpoint, PathStyle: p.PathStyle, SSEKMSKeyID: p.KMSKey,
		RootCAs:     authorities,
		Credentials: s3api.Credentials{AccessKey: login.AccessKey.Reveal(), SecretKey: login.SecretKey.Reveal()},
	}
	switch p.Kind {
	case location.S3:
		return opened(s3bucket.Open(ctx, options))
	case location.Minio:
		return opened(miniobucket.Open(options))
	case location.File:
		bucket, err := opened(dirbucket.Open(p.Folder))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fault.New(fault.Misconfigured, "%w: %w", ErrNoFolder, err).WithHint("%s", fault.HintOf(err))
		}
		return bucket, err
	}
	return nil, fault.New(fault.Bug, "open a bucket of kind %q", p.Kind)
}

// opened keeps a driver's nil from becoming a bucket that is not nil.
func opened[B archive.Bucket](bucket B, err error) (archive.Bucket, error) {
	if err != nil {
		return nil, err
	}
	return bucket, nil
}

// apart refuses one folder under two names, which only the disk can tell.
func apart(primary, secondary location.Place) error {
	if primary.Kind != location.File || secondary.Kind != location.File {
		return nil
	}
	one, err := os.Stat(primary.Folder)
	if err != nil {
		return fault.New(fault.Misconfigured, "look at the folder: %w", err)
	}
	other, err := os.Stat(secondary.Folder)
	switch {
	case err != nil:
		return fault.New(fault.Misconfigured, "look at the folder: %w", err)
	case os.SameFile(one, other):
		return fault.New(fault.Misconfigured, "it is the folder of TIDEMARK_ARCHIVE under another name").
			WithHint("name a folder on another disk, or leave it out: a second copy beside the first goes with it")
	}
	return nil
}

// unpackWith gives every goroutine an unpacker of its own, and keeps those that are idle.
func unpackWith(identities []age.Identity) func([]byte, manifest.Object, int64) ([]byte, error) {
	var idle sync.Pool
	return func(stored []byte, object manifest.Object, limit int64) ([]byte, error) {
		unpacker, ok := idle.Get().(*packing.Unpacker)
		if !ok {
			var err error
			if unpacker, err = packing.NewUnpacker(identities); err != nil {
				return nil, err
			}
		}
		defer idle.Put(unpacker)
		return unpacker.Unpack(stored, object, limit)
	}
}

// readAuthorities are those of the machine and those of the file, because the other store may be a public one.
func readAuthorities(path string) (*x509.CertPool, error) {
	if path == "" {
		return nil, nil //nolint:nilnil // the drivers take none for the machine's
	}
	text, err := readFile(path)
	if err != nil {
		return nil, naming("TIDEMARK_ARCHIVE_CA_FILE", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool() // a machine without any has only those of the file
	}
	if !pool.AppendCertsFromPEM(text) {
		return nil, naming("TIDEMARK_ARCHIVE_CA_FILE", fault.New(fault.Misconfigured, "read %s: there is no certificate in it", path).
			WithHint("want blocks of type CERTIFICATE in PEM: the authority that signed the store's certificate"))
	}
	return pool, nil
}

// maxFile is far above the size of any file that is named.
const maxFile = 1 << 20

func readFile(path string) ([]byte, error) {
	file, err := os.Open(path) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, fault.New(fault.Misconfigured, "read the file: %w", err)
	}
	content, err := io.ReadAll(io.LimitReader(file, maxFile))
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, fault.New(fault.Misconfigured, "read the file: %w", err)
	}
	return content, nil
}
