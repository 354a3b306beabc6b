package services

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"tidemark/localstack/maven"
	"tidemark/shared/fault"
)

const (
	binariesVersion = "18.6.0"
	binariesGroup   = "io/zonky/test/postgres"
)

// artifact is one platform's build of the server in the Maven repository, made by zonkyio/embedded-postgres-binaries.
// Which contrib modules are in a build is not promised; a test that needs one, such as hstore, must say so.
type artifact struct {
	name    string // of the artifact in the group
	version string
	digest  string // SHA-256 of the jar, in hexadecimal
}

// path is where a Maven repository keeps the artifact's jar.
func (a artifact) path() string {
	return binariesGroup + "/" + a.name + "/" + a.version + "/" + a.name + "-" + a.version + ".jar"
}

// artifactOf is the artifact of a platform. The digests were taken from Maven Central; a mirror must serve the same bytes.
func artifactOf(platform string) (artifact, error) {
	var suffix, digest string
	switch platform {
	case "linux/amd64":
		suffix, digest = "linux-amd64", "008ee189eaa7ca2b58bd01dd950291e638b998392cf982297acd4779ec898ac1"
	case "linux/arm64":
		suffix, digest = "linux-arm64v8", "5f54e016723afa6213925a8acb939bac52944b1d348f65c7a20f0cd2928c31be"
	case "darwin/amd64":
		suffix, digest = "darwin-amd64", "690941008aac9ee360820fde9bb7870a4f3dcac5e9e2f9e45e42333a436ad0f9"
	case "darwin/arm64":
		suffix, digest = "darwin-arm64v8", "8f6ed6f38195b50a40712ada8b2a12060b6193c1a6977a6eb5cff053bb5a1b89"
	default:
		return artifact{}, fault.New(fault.Misconfigured, "there are no PostgreSQL binaries to download for %s", platform)
	}
	return artifact{name: "embedded-postgres-binaries-" + suffix, version: binariesVersion, digest: digest}, nil
}

// downloadBinaries gives the folder of downloaded binaries, from the cache if they are there.
func downloadBinaries(ctx context.Context, options PostgresOptions) (string, error) {
	wanted, err := artifactOf(runtime.GOOS + "/" + runtime.GOARCH)
	if err != nil {
		return "", err
	}
	cacheDir := options.CacheDir
	if cacheDir == "" {
		userCache, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("find a place for downloads: %w", err)
		}
		cacheDir = filepath.Join(userCache, "tidemark", "postgres")
	}
	return installArtifact(ctx, options.Mirror, cacheDir, wanted)
}

// installArtifact unpacks the artifact into a folder of the cache that is named after its digest and gives that folder's
// bin. The folder appears by a rename, whole; of several processes that unpack at once the first one wins.
func installArtifact(ctx context.Context, mirror, cacheDir string, wanted artifact) (_ string, err error) {
	installed := filepath.Join(cacheDir, wanted.name+"-"+wanted.version+"-"+wanted.digest[:16])
	bin := filepath.Join(installed, "bin")
	if _, err := os.Stat(bin); err == nil {
		return bin, nil
	}
	if err := os.MkdirAll(cacheDir, 0o755); err != nil { //nolint:gosec // binaries that every account may run
		return "", fmt.Errorf("make a place for downloads: %w", err)
	}
	partial, err := os.MkdirTemp(cacheDir, "partial-")
	if err != nil {
		return "", fmt.Errorf("make a place for downloads: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(partial)) }()
	jar := filepath.Join(partial, "jar")
	if err := maven.Fetch(ctx, mirror, maven.Artifact{Path: wanted.path(), Digest: wanted.digest}, jar); err != nil {
		return "", err
	}
	unpacked := filepath.Join(partial, "unpacked")
	if err := unpack(jar, unpacked); err != nil {
		return "", fmt.Errorf("unpack %s: %w", wanted.name, err)
	}
	if err := os.Rename(unpacked, installed); err != nil {
		if _, other := os.Stat(bin); other != nil {
			return "", fmt.Errorf("keep the download: %w", err)
		}
	}
	return bin, nil
}
