package health

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"tidemark/shared/archive"
	"tidemark/shared/archive/layout"
	"tidemark/shared/archive/notice"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/position"
)

// Store asks one bucket whether it does what the archive counts on.
type Store struct {
	Place  archive.Place
	Target position.TargetID
	Lock   time.Duration // how long a backup locks what it writes; 0: it does not
	// WriteProbe allows one small object, which the next sweep takes. Without it nothing is tried that would leave a trace.
	WriteProbe bool
	Now        func() time.Time
}

// Examine asks. A bucket that does not answer, or is another target's, is asked no more.
func (s Store) Examine(ctx context.Context) []Finding {
	f := &findings{about: s.Place.Name}
	owner, err := s.owner(ctx)
	if err != nil {
		f.failed("reachable", err)
		return f.list
	}
	if owner == nil {
		f.fine("reachable", "nothing is written here yet")
	} else {
		f.fine("reachable", "belongs to target %s", s.Target)
	}
	s.checkListing(ctx, f)
	s.checkCreateOnly(ctx, f, owner)
	s.checkProperties(ctx, f)
	return f.list
}

// owner is the owner's record as it stands there, nil when there is none.
func (s Store) owner(ctx context.Context) ([]byte, error) {
	encoded, err := s.Place.Read(ctx, layout.Owner, archive.Span{Limit: notice.MaxSize})
	if errors.Is(err, archive.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var owner notice.Owner
	if err := notice.Decode("owner", encoded, &owner); err != nil {
		return nil, err
	}
	if owner.TargetID != s.Target {
		return nil, fault.New(fault.Misconfigured, "%w: it is %s, the configuration says %s", archive.ErrForeign, owner.TargetID, s.Target).
			WithHint("correct the address or TIDEMARK_TARGET_ID: each target has a prefix of its own")
	}
	return encoded, nil
}

const createOnly = "create-only"

// checkCreateOnly writes again what is there already, as every backup does, or a probe. A store that overwrites has then put
// the same bytes in the place of the same bytes.
func (s Store) checkCreateOnly(ctx context.Context, f *findings, owner []byte) {
	key, content := layout.Owner, owner
	if s.WriteProbe {
		content = fmt.Appendf(nil, "tidemark write probe, %s, %s\n", s.Target, s.Now().UTC().Format(time.RFC3339Nano))
		key = layout.Object(manifest.DigestOf(content))
		if err := s.probe(ctx, key, content); err != nil {
			f.failed("writing", err)
			return
		}
		f.fine("writing", "an object was written and read back; nothing refers to it, and a sweep takes it")
	}
	if content == nil {
		f.doubtful(createOnly, "not probed: nothing is written yet", "tidemark doctor --write-probe probes it with an object of its own")
		return
	}
	honoured, err := archive.IsCreateOnly(ctx, s.Place, key, content)
	switch {
	case errors.Is(err, archive.ErrDenied):
		f.failed("writing", err)
		return
	case err != nil:
		f.failed(createOnly, err)
	case honoured:
		f.fine(createOnly, "a second write of a key is refused")
	default:
		f.failed(createOnly, fault.New(fault.Misconfigured, "the store overwrites: If-None-Match does nothing there").
			WithHint("use a store that honours conditional writes: two backups at once would overwrite each other's manifests"))
	}
	s.checkChecksum(ctx, f, key, content)
}

// probe writes an object and reads it back.
func (s Store) probe(ctx context.Context, key string, content []byte) error {
	if err := archive.Put(ctx, s.Place, key, content); err != nil {
		return err
	}
	found, err := s.Place.Read(ctx, key, archive.Span{Limit: int64(len(content)) + 1})
	if err == nil && !bytes.Equal(found, content) {
		err = fault.New(fault.Corrupt, "%d bytes were written to %s, other %d came back", len(content), key, len(found)).
			WithHint("something between here and the store changes bytes: no backup would be worth anything")
	}
	return err
}

func (s Store) checkChecksum(ctx context.Context, f *findings, key string, content []byte) {
	info, err := s.Place.Stat(ctx, key)
	switch {
	case err != nil:
		f.failed("checksums", err)
	case info.Checksum.IsZero():
		f.fine("checksums", "the store keeps none: what a backup uses again is checked by its size, and read whole by a recovery")
	case info.Checksum != manifest.DigestOf(content):
		f.failed("checksums", fault.New(fault.Corrupt, "the store says %s of %s, which has %s", info.Checksum, key, manifest.DigestOf(content)).
			WithHint("its disk or its software is broken"))
	default:
		f.fine("checksums", "the store keeps the SHA-256 of what it took")
	}
}

// checkListing lists the documents twice: in order, and nothing that is there may be missing from the second.
func (s Store) checkListing(ctx context.Context, f *findings) {
	first, err := s.list(ctx)
	var second []string
	if err == nil {
		second, err = s.list(ctx)
	}
	if err == nil {
		err = s.lost(ctx, first, second)
	}
	if err != nil {
		f.failed("listing", err)
		return
	}
	f.fine("listing", "complete and in order, %d documents beside objects", len(second))
}

func (s Store) list(ctx context.Context) ([]string, error) {
	var keys []string
	for _, folder := range []string{layout.Lineages, layout.Manifests, layout.Runs, layout.Sweeps} {
		last := ""
		for info, err := range s.Place.List(ctx, folder) {
			if err != nil {
				return nil, err
			}
			if info.Key <= last {
				return nil, fault.New(fault.Corrupt, "%s is listed after %s", info.Key, last).
					WithHint("the store does not list in the order of keys, on which the archive counts: use another")
			}
			last = info.Key
			keys = append(keys, info.Key)
		}
	}
	return keys, nil
}

// lost refuses a listing that leaves out what another one had and what is still there.
func (s Store) lost(ctx context.Context, first, second []string) error {
	seen := make(map[string]bool, len(second))
	for _, key := range second {
		seen[key] = true
	}
	for _, key := range first {
		if seen[key] {
			continue
		}
		_, err := s.Place.Stat(ctx, key)
		if errors.Is(err, archive.ErrNotFound) {
			continue // an expiry removed it in between
		}
		if err != nil {
			return err
		}
		return fault.New(fault.Corrupt, "%s is there, and a listing left it out", key).
			WithHint("the store's listings are not consistent: use another, or its consistent mode")
	}
	return nil
}
