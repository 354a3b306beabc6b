package health

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"tidemark/shared/archive"
	"tidemark/shared/fault"
)

// How far a store's clock may be from this one's.
const (
	noticeable  = time.Minute
	intolerable = 10 * time.Minute // stores refuse requests that are a quarter of an hour off
)

// checkProperties asks what the store says of itself, where it can.
func (s Store) checkProperties(ctx context.Context, f *findings) {
	describer, can := s.Place.Bucket.(archive.Describer)
	if !can {
		s.checkLock(f, archive.Properties{})
		return
	}
	before := s.Now()
	p, err := describer.Describe(ctx)
	took := s.Now().Sub(before)
	if errors.Is(err, archive.ErrDenied) {
		f.doubtful("settings", "this account may not ask for the bucket's settings: "+err.Error(), "grant it s3:GetBucketVersioning, "+
			"s3:GetBucketObjectLockConfiguration, s3:GetLifecycleConfiguration and s3:GetEncryptionConfiguration, or ask as another")
		return
	}
	if err != nil {
		f.failed("settings", err)
		return
	}
	s.checkClock(f, p.ServerTime.Sub(before.Add(took/2)), took) //nolint:mnd // the reply left halfway
	s.checkLifecycle(f, p)
	s.checkLock(f, p)
	if p.Versioning {
		f.fine("versions", "what is deleted is kept as an older version")
	} else {
		f.doubtful("versions", "what is deleted is gone at once",
			"aws s3api put-bucket-versioning --bucket BUCKET --versioning-configuration Status=Enabled, or the store's own command")
	}
	if p.Encryption == "" {
		f.doubtful("encryption", "the store does not encrypt", "set a default encryption of the bucket, or TIDEMARK_AGE_RECIPIENTS")
	} else {
		f.fine("encryption", "%s", p.Encryption)
	}
}

// checkClock judges how far the store's clock is off. It tells whole seconds.
func (s Store) checkClock(f *findings, off, took time.Duration) {
	distance := max(off, -off) - took - time.Second
	saw := fmt.Sprintf("the store's clock is %s from this one", off.Round(time.Second))
	const fix = "set this machine's clock by NTP; times of keys and of sweeps are judged by the store's"
	switch {
	case distance > intolerable:
		f.failed("clock", fault.New(fault.Misconfigured, "%s", saw).WithHint(fix))
	case distance > noticeable:
		f.doubtful("clock", saw, fix)
	default:
		f.fine("clock", "agrees with this one")
	}
}

func (s Store) checkLifecycle(f *findings, p archive.Properties) {
	if len(p.LifecycleExpires) == 0 {
		f.fine("lifecycle", "no rule removes objects by their age")
		return
	}
	f.failed("lifecycle", fault.New(fault.Misconfigured, "the bucket removes objects by their age, and old ones are in use: %s",
		strings.Join(p.LifecycleExpires, "; ")).
		WithHint("remove those rules, or narrow them to other prefixes; tidemark expire is what removes backups"))
}

// checkLock holds what a backup wants to lock against what the bucket can.
func (s Store) checkLock(f *findings, p archive.Properties) {
	_, can := s.Place.Bucket.(archive.Retainer)
	switch {
	case s.Lock == 0 && p.ObjectLock:
		f.fine("lock", "the bucket has object lock; backups lock as it does by itself")
	case s.Lock == 0:
	case !can:
		f.doubtful("lock", fmt.Sprintf("TIDEMARK_OBJECT_LOCK is %s, and nothing can be locked here", s.Lock),
			"keep a second copy in a bucket with object lock, or set TIDEMARK_OBJECT_LOCK to 0")
	case !p.ObjectLock:
		f.failed("lock", fault.New(fault.Misconfigured, "TIDEMARK_OBJECT_LOCK is %s, and the bucket has no object lock", s.Lock).
			WithHint("make the bucket anew with object lock, or set TIDEMARK_OBJECT_LOCK to 0"))
	default:
		f.fine("lock", "backups lock what they write for %s", s.Lock)
	}
}
