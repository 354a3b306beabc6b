package brokers

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"

	"tidemark/localstack/maven"
	"tidemark/shared/fault"
)

// version is the release of Kafka that pinned lists.
const version = "4.3.1"

// pinned is what a broker runs from: org.apache.kafka:kafka_2.13 and org.apache.logging.log4j:log4j-slf4j-impl with all
// that they need at run time, as Maven resolves it; on each line a SHA-256 digest and a path in the repository.
//
//go:embed jars.txt
var pinned string

const downloads = 8 // at a time

// findJars gives the folder of the jars: of the cache, else downloaded.
func findJars(ctx context.Context, options Options) (string, error) {
	cacheDir := options.CacheDir
	if cacheDir == "" {
		userCache, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("find a place for downloads: %w", err)
		}
		cacheDir = filepath.Join(userCache, "tidemark", "kafka")
	}
	dir, err := installJars(ctx, options.Mirror, cacheDir, pinned)
	if err == nil || fault.Is(err, fault.Corrupt) {
		return dir, err
	}
	return "", fault.New(fault.Misconfigured, "no Kafka brokers: none are named, and the download of Kafka %s failed: %w",
		version, err).WithHint("do one of two: (1) name brokers that are up, as Addresses; "+
		"(2) let %s be downloaded from %s, or from a mirror of that address given as Mirror", version, maven.Central)
}

// installJars downloads the jars of a list into a folder of the cache that is named after the list's digest. The folder
// appears by a rename, whole; of several processes that download at once the first one wins.
func installJars(ctx context.Context, mirror, cacheDir, list string) (_ string, err error) {
	sum := sha256.Sum256([]byte(list))
	installed := filepath.Join(cacheDir, version+"-"+hex.EncodeToString(sum[:8]))
	if _, err := os.Stat(installed); err == nil {
		return installed, nil
	}
	wanted, err := parseList(list)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(cacheDir, 0o755); err != nil { //nolint:gosec // jars that every account may read
		return "", fmt.Errorf("make a place for downloads: %w", err)
	}
	partial, err := os.MkdirTemp(cacheDir, "partial-")
	if err != nil {
		return "", fmt.Errorf("make a place for downloads: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(partial)) }()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(downloads)
	for _, jar := range wanted {
		group.Go(func() error { return maven.Fetch(ctx, mirror, jar, filepath.Join(partial, filepath.Base(jar.Path))) })
	}
	if err := group.Wait(); err != nil {
		return "", err
	}
	if err := os.Rename(partial, installed); err != nil {
		if _, other := os.Stat(installed); other != nil {
			return "", fmt.Errorf("keep the download: %w", err)
		}
	}
	return installed, nil
}

func parseList(list string) ([]maven.Artifact, error) {
	var jars []maven.Artifact
	for line := range strings.Lines(list) {
		digest, path, found := strings.Cut(strings.TrimSpace(line), "  ")
		if decoded, err := hex.DecodeString(digest); err != nil || len(decoded) != sha256.Size || !found {
			return nil, fault.New(fault.Bug, "the list of jars has the line %q", line)
		}
		jars = append(jars, maven.Artifact{Path: path, Digest: digest})
	}
	return jars, nil
}
