// Package location owns how the places of an archive are written down: where its buckets, its high-water mark and its
// signing keys are.
//
// It reads each strictly, because a backup that goes somewhere else than its owner believes is lost: a scheme that nobody
// knows is never taken for a folder, a parameter that nobody reads is refused, and so is a user, a password or anything
// else that has no place there. Errors complete the sentence "the value …" and repeat no part of it, since what was written
// in the wrong place may be a secret. What was read holds none. No I/O, no environment; values are plain.
package location

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"strings"

	"tidemark/shared/archive"
	"tidemark/shared/secret"
)

// Kind is how a place is reached.
type Kind string

// The kinds.
const (
	S3    Kind = "s3"    // by the AWS SDK
	Minio Kind = "minio" // by MinIO's client
	File  Kind = "file"  // a folder of this machine
)

// Place is where one bucket of an archive is. The zero value is none.
type Place struct {
	Kind   Kind
	Bucket string
	Prefix string // of every key; empty: the whole bucket
	Region string
	// Endpoint is the store's address with http or https; empty: AWS.
	Endpoint  string
	KMSKey    string // of the encryption by the store; empty: as the bucket is set
	PathStyle bool
	Folder    string // of File
}

// Login is what a store is shown.
type Login struct {
	AccessKey secret.Text
	SecretKey secret.Text
}

// IsZero says whether there is none.
func (l Login) IsZero() bool { return l.AccessKey.IsZero() && l.SecretKey.IsZero() }

// Takes is the form of places, for people.
const Takes = "s3://BUCKET/PREFIX?region=REGION (and kms_key, endpoint, path_style), " +
	"minio://HOST:PORT/BUCKET/PREFIX?region=REGION (and tls) or file:///FOLDER"

// Parse reads a place.
func Parse(given string) (Place, error) {
	scheme, rest, found := strings.Cut(given, "://")
	switch {
	case !found && strings.HasPrefix(given, "/"):
		return Place{}, errors.New("has no scheme: write file:// before a folder")
	case !found:
		return Place{}, errors.New("has no scheme")
	case strings.Contains(rest, "#"):
		return Place{}, errors.New("has a fragment (#)")
	}
	switch Kind(scheme) {
	case S3:
		return parse(given, []string{"region", "kms_key", "endpoint", "path_style"}, Place.readS3)
	case Minio:
		return parse(given, []string{"region", "tls"}, Place.readMinio)
	case File:
		return parseFolder(given)
	}
	return Place{}, errors.New("has another scheme than s3, minio and file")
}

// parse takes a URL apart and gives the parts to read.
func parse(given string, known []string, read func(Place, *url.URL, map[string]string) (Place, error)) (Place, error) {
	address, err := url.Parse(given)
	switch {
	case err != nil: // the error would repeat the value
		return Place{}, errors.New("is no URL")
	case address.User != nil:
		return Place{}, errors.New("has a user or a password in it: keys have variables of their own, …_ACCESS_KEY and …_SECRET_KEY")
	case strings.Contains(address.EscapedPath(), "%"):
		return Place{}, errors.New("has an escape (%) in its path")
	}
	query, err := readQuery(address.RawQuery, known)
	if err != nil {
		return Place{}, err
	}
	place, err := read(Place{Kind: Kind(address.Scheme)}, address, query)
	if err != nil {
		return Place{}, err
	}
	return place, nil
}

// readS3 reads s3://BUCKET/PREFIX.
func (p Place) readS3(address *url.URL, query map[string]string) (Place, error) {
	if err := p.readKeys(address.Host, address.Path); err != nil {
		return Place{}, err
	}
	if p.Region = query["region"]; p.Region == "" {
		return Place{}, errors.New("names no region: add one, as in ?region=eu-central-1")
	}
	p.KMSKey, p.Endpoint = query["kms_key"], strings.TrimSuffix(query["endpoint"], "/")
	var err error
	if p.PathStyle, err = readSwitch("path_style", query, false); err != nil {
		return Place{}, err
	}
	return p, checkEndpoint(p.Endpoint)
}

// readMinio reads minio://HOST:PORT/BUCKET/PREFIX.
func (p Place) readMinio(address *url.URL, query map[string]string) (Place, error) {
	if address.Hostname() == "" {
		return Place{}, errors.New("names no host")
	}
	bucket, prefix, _ := strings.Cut(strings.TrimPrefix(address.Path, "/"), "/")
	if err := p.readKeys(bucket, "/"+prefix); err != nil {
		return Place{}, err
	}
	encrypted, err := readSwitch("tls", query, true)
	if err != nil {
		return Place{}, err
	}
	p.Endpoint, p.PathStyle, p.Region = "https://"+address.Host, true, "us-east-1"
	if region := query["region"]; region != "" {
		p.Region = region
	}
	if !encrypted {
		p.Endpoint = "http://" + address.Host
	}
	return p, checkEndpoint(p.Endpoint)
}

// readKeys reads a bucket and what stands before every key in it.
func (p *Place) readKeys(bucket, keys string) error {
	if err := checkBucket(bucket); err != nil {
		return err
	}
	p.Bucket, p.Prefix = bucket, strings.TrimSuffix(strings.TrimPrefix(keys, "/"), "/")
	if p.Prefix != "" && archive.CheckKey(p.Prefix) != nil {
		return errors.New("has a prefix that is not made of a-z, 0-9, '_', '.' and '-' between single slashes")
	}
	return nil
}

// checkBucket keeps to the names that every store takes.
func checkBucket(name string) error {
	const longest, shortest = 63, 3
	if len(name) < shortest || len(name) > longest || strings.Trim(name, ".-") != name || strings.ContainsFunc(name, isForeign) {
		return fmt.Errorf("names no bucket: a bucket has %d to %d characters of a-z, 0-9, '.' and '-', a letter or digit at both ends",
			shortest, longest)
	}
	return nil
}

func isForeign(r rune) bool {
	return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '.' && r != '-'
}

// checkEndpoint refuses to send backups in the clear, except to this machine.
func checkEndpoint(endpoint string) error {
	if endpoint == "" {
		return nil
	}
	address, err := url.Parse(endpoint)
	switch {
	case err != nil, address.Hostname() == "", address.Scheme != "http" && address.Scheme != "https":
		return errors.New("has an endpoint that is not https:// and a host")
	case address.User != nil, address.Path != "", address.RawQuery != "":
		return errors.New("has an endpoint with more than a host and a port")
	case address.Scheme == "http" && !isLoopback(address.Hostname()):
		return errors.New("reaches another machine without TLS: that is for loopback hosts alone")
	}
	return nil
}

func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.Unmap().IsLoopback()
}

// parseFolder reads file:///FOLDER.
func parseFolder(given string) (Place, error) {
	folder, err := readPath(given)
	if err != nil {
		return Place{}, err
	}
	return Place{Kind: File, Folder: folder}, nil
}

// readPath reads file:///PATH, which must be absolute: what a relative one means depends on where the process was started.
func readPath(given string) (string, error) {
	if !strings.HasPrefix(given, "file:///") {
		return "", errors.New("is no absolute path: write three slashes, as in file:///srv/archive")
	}
	address, err := url.Parse(given)
	switch {
	case err != nil:
		return "", errors.New("is no URL: a percent sign in a path is written %25")
	case address.RawQuery != "" || address.ForceQuery:
		return "", errors.New("has parameters, and a path takes none")
	case strings.ContainsRune(address.Path, 0):
		return "", errors.New("holds a zero byte")
	}
	trimmed := strings.TrimSuffix(address.Path, "/")
	if trimmed == "" || path.Clean(trimmed) != trimmed {
		return "", errors.New("is no plain path: it is / itself, or has '.', '..' or two slashes in a row")
	}
	return trimmed, nil
}
