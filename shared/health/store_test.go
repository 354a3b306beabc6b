package health_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/shared/archive"
	"tidemark/shared/archive/archivetest/faulty"
	"tidemark/shared/archive/layout"
	"tidemark/shared/archive/writer/writertest"
	"tidemark/shared/fault"
	"tidemark/shared/health"
	"tidemark/shared/manifest"
)

// expect finds the one finding of a check and holds it to a verdict and to parts of its text.
func expect(t *testing.T, found []health.Finding, check string, verdict health.Verdict, parts ...string) health.Finding {
	t.Helper()
	at := slices.IndexFunc(found, func(f health.Finding) bool { return f.Check == check })
	if at < 0 {
		t.Fatalf("nothing is said of %s: %+v", check, found)
	}
	f := found[at]
	if f.Verdict != verdict || (f.Err != nil) != (verdict == health.Failed) || (f.Fix == "") != (verdict == health.Fine) {
		t.Errorf("%s: got %s %q, fix %q, %v; want %s", check, f.Verdict, f.Saw, f.Fix, f.Err, verdict)
	}
	for _, part := range parts {
		if !strings.Contains(f.Saw+" "+f.Fix, part) {
			t.Errorf("%s: %q is not in %q, fix %q", check, part, f.Saw, f.Fix)
		}
	}
	return f
}

// silent says that a check was not made.
func silent(t *testing.T, found []health.Finding, check string) {
	t.Helper()
	for _, f := range found {
		if f.Check == check {
			t.Errorf("got %+v", f)
		}
	}
}

func store(w *writertest.World, bucket archive.Bucket) health.Store {
	return health.Store{Place: archive.Place{Name: "primary", Bucket: bucket}, Target: writertest.Target, Now: w.Now}
}

// used is a world with a backup in it.
func used(t *testing.T) *writertest.World {
	t.Helper()
	w := writertest.New(t)
	w.MustWrite(t, writertest.Backup{Chunks: []string{"a", "b"}})
	return w
}

func TestStoreFindsAGoodBucketGood(t *testing.T) {
	t.Parallel()
	w := used(t)
	bucket := faulty.New(w.Primary)
	found := store(w, bucket).Examine(t.Context())
	for _, check := range []string{"reachable", "listing", "create-only", "checksums"} {
		expect(t, found, check, health.Fine)
	}
	for _, call := range bucket.Calls() {
		if call.Method == "Delete" || call.Method == "Create" && call.Key != layout.Owner {
			t.Errorf("it was asked to %s %s", call.Method, call.Key)
		}
	}
}

func TestStoreWritesOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	w := writertest.New(t)
	bucket := faulty.New(w.Primary)
	found := store(w, bucket).Examine(t.Context())
	expect(t, found, "create-only", health.Doubtful, "not probed: nothing is written yet", "--write-probe")
	silent(t, found, "writing")
	for _, call := range bucket.Calls() {
		if call.Method == "Create" {
			t.Errorf("it wrote %s", call.Key)
		}
	}
	probing := store(w, w.Primary)
	probing.WriteProbe = true
	found = probing.Examine(t.Context())
	expect(t, found, "writing", health.Fine)
	expect(t, found, "create-only", health.Fine)
	expect(t, found, "checksums", health.Fine, "SHA-256")
	var left []string
	for info, err := range w.Primary.List(t.Context(), "") {
		if _, isObject := layout.ParseObject(info.Key); err != nil || !isObject {
			t.Errorf("left is %s, %v: no sweep takes that", info.Key, err)
		}
		left = append(left, info.Key)
	}
	if len(left) != 1 {
		t.Errorf("left are %v, want one object", left)
	}
}

// overwriting is a store that does not know conditional writes.
type overwriting struct{ archive.Bucket }

func (o overwriting) Create(ctx context.Context, key string, content []byte) error {
	err := o.Bucket.Create(ctx, key, content)
	if errors.Is(err, archive.ErrExists) {
		return nil
	}
	return err
}

// lying is a store whose answers are not what it holds.
type lying struct {
	archive.Bucket
	stat    func(*archive.Info)
	listing func([]archive.Info) []archive.Info
	content func([]byte) []byte
}

func (l lying) Stat(ctx context.Context, key string) (archive.Info, error) {
	info, err := l.Bucket.Stat(ctx, key)
	if l.stat != nil {
		l.stat(&info)
	}
	return info, err
}

func (l lying) Read(ctx context.Context, key string, span archive.Span) ([]byte, error) {
	content, err := l.Bucket.Read(ctx, key, span)
	if l.content != nil && err == nil {
		content = l.content(content)
	}
	return content, err
}

func (l lying) List(ctx context.Context, prefix string) iter.Seq2[archive.Info, error] {
	if l.listing == nil {
		return l.Bucket.List(ctx, prefix)
	}
	return func(yield func(archive.Info, error) bool) {
		var all []archive.Info
		for info, err := range l.Bucket.List(ctx, prefix) {
			if err != nil {
				yield(info, err)
				return
			}
			all = append(all, info)
		}
		for _, info := range l.listing(all) {
			if !yield(info, nil) {
				return
			}
		}
	}
}

func TestStoreFinds(t *testing.T) {
	t.Parallel()
	away, denied := fault.New(fault.Retryable, "away"), fault.New(fault.Misconfigured, "no: %w", archive.ErrDenied)
	failing := func(method string, err error) func(*writertest.World) archive.Bucket {
		return func(w *writertest.World) archive.Bucket {
			return faulty.New(w.Primary, func(c faulty.Call) *faulty.Fault {
				if c.Method != method {
					return nil
				}
				return &faulty.Fault{Fail: err}
			})
		}
	}
	for name, c := range map[string]struct {
		bucket func(*writertest.World) archive.Bucket
		check  string
		part   string
		is     error
		class  fault.Class
	}{
		"AStoreThatIsAway":     {failing("Read", away), "reachable", "away", nil, fault.Retryable},
		"AListingThatIsDenied": {failing("List", denied), "listing", "denies access", archive.ErrDenied, fault.Misconfigured},
		"WritingThatIsDenied":  {failing("Create", denied), "writing", "denies access", archive.ErrDenied, fault.Misconfigured},
		"LookingThatIsDenied":  {failing("Stat", denied), "checksums", "denies access", archive.ErrDenied, fault.Misconfigured},
		"AStoreThatOverwrites": {func(w *writertest.World) archive.Bucket { return overwriting{w.Primary} }, "create-only", "overwrites", nil, fault.Misconfigured},
		"AChecksumOfOtherBytes": {func(w *writertest.World) archive.Bucket {
			return lying{Bucket: w.Primary, stat: func(i *archive.Info) { i.Checksum = manifest.DigestOf(nil) }}
		}, "checksums", "broken", nil, fault.Corrupt},
		"AListingOutOfOrder": {func(w *writertest.World) archive.Bucket {
			return lying{Bucket: w.Primary, listing: func(all []archive.Info) []archive.Info { slices.Reverse(all); return all }}
		}, "listing", "is listed after", nil, fault.Corrupt},
		"AListingThatForgets": {func(w *writertest.World) archive.Bucket {
			lists := 0
			return lying{Bucket: w.Primary, listing: func(all []archive.Info) []archive.Info {
				if lists++; lists > 4 { // the second round
					return all[:0]
				}
				return all
			}}
		}, "listing", "left it out", nil, fault.Corrupt},
		"AnOwnerThatIsGarbage": {func(w *writertest.World) archive.Bucket {
			return lying{Bucket: w.Primary, content: func([]byte) []byte { return []byte("{") }}
		}, "reachable", "owner", nil, fault.Corrupt},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := used(t)
			w.MustWrite(t, writertest.Backup{Chunks: []string{"c"}})
			found := expect(t, store(w, c.bucket(w)).Examine(t.Context()), c.check, health.Failed, c.part)
			if !fault.Is(found.Err, c.class) || c.is != nil && !errors.Is(found.Err, c.is) {
				t.Errorf("got %v of class %s", found.Err, fault.ClassOf(found.Err))
			}
		})
	}
	t.Run("AnotherTargetsBucket", func(t *testing.T) {
		t.Parallel()
		w := used(t)
		foreign := store(w, w.Primary)
		foreign.Target = "other"
		found := foreign.Examine(t.Context())
		if f := expect(t, found, "reachable", health.Failed, "test-target", "other"); !errors.Is(f.Err, archive.ErrForeign) || len(found) != 1 {
			t.Errorf("got %+v", found)
		}
	})
	t.Run("BytesThatChangeOnTheWay", func(t *testing.T) {
		t.Parallel()
		w := writertest.New(t)
		probing := store(w, lying{Bucket: w.Primary, content: func(b []byte) []byte { return append(b[:0], 'x') }})
		probing.WriteProbe = true
		expect(t, probing.Examine(t.Context()), "writing", health.Failed, "came back")
	})
}

// described is a bucket that says something of itself.
type described struct {
	archive.Bucket
	properties archive.Properties
	err        error
}

func (d described) Describe(context.Context) (archive.Properties, error) { return d.properties, d.err }

func (d described) Retain(context.Context, string, time.Time) error { return nil }

func TestStoreJudgesItsSettings(t *testing.T) {
	t.Parallel()
	good := func(w *writertest.World) archive.Properties {
		return archive.Properties{Versioning: true, ObjectLock: true, Encryption: "aws:kms key", ServerTime: w.Now()}
	}
	for name, c := range map[string]struct {
		change  func(*archive.Properties)
		lock    time.Duration
		check   string
		verdict health.Verdict
		part    string
	}{
		"AgreeingClocks":     {func(*archive.Properties) {}, 0, "clock", health.Fine, "agrees"},
		"AClockAlittleAhead": {func(p *archive.Properties) { p.ServerTime = p.ServerTime.Add(2 * time.Minute) }, 0, "clock", health.Doubtful, "2m0s"},
		"AClockFarBehind":    {func(p *archive.Properties) { p.ServerTime = p.ServerTime.Add(-time.Hour) }, 0, "clock", health.Failed, "NTP"},
		"NoLifecycle":        {func(*archive.Properties) {}, 0, "lifecycle", health.Fine, ""},
		"ALifecycleThatEats": {func(p *archive.Properties) { p.LifecycleExpires = []string{"rule x"} }, 0, "lifecycle", health.Failed, "rule x"},
		"NoVersions":         {func(p *archive.Properties) { p.Versioning = false }, 0, "versions", health.Doubtful, "put-bucket-versioning"},
		"Versions":           {func(*archive.Properties) {}, 0, "versions", health.Fine, ""},
		"NoEncryption":       {func(p *archive.Properties) { p.Encryption = "" }, 0, "encryption", health.Doubtful, "TIDEMARK_AGE_RECIPIENTS"},
		"Encryption":         {func(*archive.Properties) {}, 0, "encryption", health.Fine, "aws:kms key"},
		"ALock":              {func(*archive.Properties) {}, time.Hour, "lock", health.Fine, "1h"},
		"NoLockToBeHad":      {func(p *archive.Properties) { p.ObjectLock = false }, time.Hour, "lock", health.Failed, "TIDEMARK_OBJECT_LOCK"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := used(t)
			properties := good(w)
			c.change(&properties)
			asked := store(w, described{Bucket: w.Primary, properties: properties})
			asked.Lock = c.lock
			expect(t, asked.Examine(t.Context()), c.check, c.verdict, c.part)
		})
	}
	t.Run("ThatItMayNotAskFor", func(t *testing.T) {
		t.Parallel()
		w := used(t)
		denied := fault.New(fault.Misconfigured, "no: %w", archive.ErrDenied)
		expect(t, store(w, described{Bucket: w.Primary, err: denied}).Examine(t.Context()), "settings", health.Doubtful, "s3:GetBucketVersioning")
		away := fault.New(fault.Retryable, "away").WithHint("wait")
		expect(t, store(w, described{Bucket: w.Primary, err: away}).Examine(t.Context()), "settings", health.Failed, "wait")
	})
	t.Run("ALockWhereNothingCanBeLocked", func(t *testing.T) {
		t.Parallel()
		w := used(t)
		asked := store(w, overwriting{w.Primary})
		asked.Lock = time.Hour
		expect(t, asked.Examine(t.Context()), "lock", health.Doubtful, "nothing can be locked here")
	})
}
