package notice_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/archive/notice"
	"tidemark/shared/archive/notice/verification"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
)

const (
	run      = manifest.RunID("11111111-0000-4000-8000-000000000001")
	digest   = manifest.Digest("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
	incarnat = "00000000-0000-4000-8000-000000000002"
)

var moment = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

type document interface{ Validate() error }

// sample is one notice of each kind as it stands in an archive. These bytes are the format: later releases read them.
type sample struct {
	kind    string
	written document
	empty   func() document
	golden  string
}

func samples() []sample {
	object := manifest.Object{Digest: digest, Size: 7, Plain: digest, PlainSize: 9}
	return []sample{
		{
			"owner",
			notice.Owner{Version: 1, TargetID: "shop"},
			func() document { return &notice.Owner{} },
			`{"version":1,"target_id":"shop"}`,
		},
		{
			"lineage",
			notice.Life{
				Version: 1, TargetID: "shop", Lineage: 2, Incarnation: incarnat, RunID: run, Created: moment, Tool: "tidemark 1.0",
				Recovered: &notice.Recovered{Parent: 1, Base: manifest.Previous{Lineage: 1, Seq: 9, Digest: digest}, Shared: object},
			},
			func() document { return &notice.Life{} },
			`{"version":1,"target_id":"shop","lineage":"2","incarnation":"` + incarnat + `","run_id":"` + run.String() + `",` +
				`"created":"2026-07-01T12:00:00Z","recovered":{"parent":"1","base":{"lineage":"1","seq":"9","digest":"` + digest.String() +
				`"},"shared":{"digest":"` + digest.String() + `","size":"7","plain":"` + digest.String() + `","plain_size":"9"}},` +
				`"tool":"tidemark 1.0"}`,
		},
		{
			"shared cut",
			notice.SharedCut{Version: 1, Cut: body.Cut{{Flow: "shop", Topic: "orders", NextOffset: 5, Generation: 1}}},
			func() document { return &notice.SharedCut{} },
			`{"version":1,"cut":[{"flow":"shop","topic":"orders","partition":0,"next_offset":"5","generation":"1"}]}`,
		},
		{
			"run",
			notice.Run{
				Version: 1, TargetID: "shop", Lineage: 1, RunID: run, Seq: 3, Life: incarnat, Scheduled: moment, Attempt: 2, Actor: "schedule",
				Tool: "tidemark 1.0",
			},
			func() document { return &notice.Run{} },
			`{"version":1,"target_id":"shop","lineage":"1","run_id":"` + run.String() + `","seq":"3","incarnation":"` + incarnat +
				`","scheduled":"2026-07-01T12:00:00Z","attempt":2,"actor":"schedule","tool":"tidemark 1.0"}`,
		},
		{
			"end",
			notice.End{
				Version: 1, RunID: run, Outcome: "done", Statement: digest, Copies: 2, Warnings: []string{"slow"}, Ended: moment,
			},
			func() document { return &notice.End{} },
			`{"version":1,"run_id":"` + run.String() + `","outcome":"done","statement":"` + digest.String() +
				`","copies":2,"warnings":["slow"],"ended":"2026-07-01T12:00:00Z"}`,
		},
		{
			"sweep",
			notice.Sweep{Version: 1, Number: 4, Actor: "schedule", Objects: []manifest.Digest{digest}},
			func() document { return &notice.Sweep{} },
			`{"version":1,"number":"4","actor":"schedule","objects":["` + digest.String() + `"]}`,
		},
		{
			"sweep end",
			notice.SweepEnd{
				Version: 1, Number: 4, Removed: []manifest.Digest{digest}, Spared: []manifest.Digest{}, Locked: []manifest.Digest{},
			},
			func() document { return &notice.SweepEnd{} },
			`{"version":1,"number":"4","removed":["` + digest.String() + `"],"spared":[],"locked":[]}`,
		},
		{
			"revocation",
			notice.Revocation{
				Version: 1, TargetID: "shop", RunID: run, Actor: "anna", Reason: "wrong rows", Created: moment,
			},
			func() document { return &notice.Revocation{} },
			`{"version":1,"target_id":"shop","run_id":"` + run.String() +
				`","actor":"anna","reason":"wrong rows","created":"2026-07-01T12:00:00Z"}`,
		},
		{
			"mark",
			notice.Keep{
				Version: 1, TargetID: "shop", RunID: run, Number: 1, Keep: true, Actor: "anna", Reason: "for the auditors", Created: moment,
			},
			func() document { return &notice.Keep{} },
			`{"version":1,"target_id":"shop","run_id":"` + run.String() +
				`","number":"1","keep":true,"actor":"anna","reason":"for the auditors","created":"2026-07-01T12:00:00Z"}`,
		},
		{
			"report", report(), func() document { return &verification.Report{} },
			`{"version":1,"target_id":"shop","lineage":"1","seq":"3","run_id":"` + run.String() + `","statement":"` + digest.String() +
				`","report":"` + run.String() + `","level":"data","share":"50000","seed":"00000000000000ff","places":["primary"],` +
				`"begun":"2026-07-01T12:00:00Z","ended":"2026-07-01T12:00:00Z","actor":"nightly","tool":"tidemark 1.0",` +
				`"looked":{"objects":"9","copies":"9","found":"8","read":"1","unread":"0","bytes":"77","rows":"5"},"verdict":"failed",` +
				`"reason":"","problems":"1","warnings":"2","first":["primary: it is not there"],"detail":{"digest":"` + digest.String() +
				`","size":"7"},"rehearsal":{"took_ms":"1500","point":"2026-07-01T12:00:00Z","age_ms":"60000","replayed":"12","tables":"` +
				digest.String() + `","compared":"4","differences":"1","cut_digest":"` + digest.String() + `"}}`,
		},
		{
			"detail", detail(), func() document { return &verification.Detail{} },
			`{"version":1,"report":"` + run.String() + `","problems":[{"place":"primary","key":"objects/x","table":"2","chunk":"1",` +
				`"what":"it is not there"}],"left":"3","warnings":["table 1 has no rows"],` +
				`"tables":[{"table":"1","digest":"0:00000000000000000000000000000000"}],"differences":["table 2"]}`,
		},
		{
			"decision", decision(), func() document { return &notice.Decision{} },
			`{"version":1,"target_id":"shop","lineage":"1","number":"1","act":"accept","flow":"shop","topic":"orders","partition":3,` +
				`"from":"10","until":"20","at":"10","actor":"anna","reason":"the log lost them","created":"2026-07-01T12:00:00Z"}`,
		},
	}
}

func report() verification.Report {
	return verification.Report{
		Version: 1, TargetID: "shop", Lineage: 1, Seq: 3, RunID: run, Statement: digest, ReportID: run, Level: "data", Share: 50_000,
		Seed: "00000000000000ff", Places: []string{"primary"}, Begun: moment, Ended: moment, Actor: "nightly", Tool: "tidemark 1.0",
		Looked: verification.Looked{Objects: 9, Copies: 9, Found: 8, Read: 1, Unread: 0, Bytes: 77, Rows: 5}, Verdict: "failed", Problems: 1, Warnings: 2,
		First: []string{"primary: it is not there"}, Detail: &verification.Attachment{Digest: digest, Size: 7},
		Rehearsal: &verification.Rehearsal{Took: 1500, Point: moment, Age: 60_000, Replayed: 12, Tables: digest, Compared: 4, Differences: 1, Cut: digest},
	}
}

func detail() verification.Detail {
	return verification.Detail{
		Version: 1, ReportID: run, Problems: []verification.Problem{{Place: "primary", Key: "objects/x", Table: 2, Chunk: 1, What: "it is not there"}},
		Left: 3, Warnings: []string{"table 1 has no rows"}, Tables: []verification.TableDigest{{Table: 1, Digest: "0:00000000000000000000000000000000"}},
		Differences: []string{"table 2"},
	}
}

func decision() notice.Decision {
	return notice.Decision{
		Version: 1, TargetID: "shop", Lineage: 1, Number: 1, Act: "accept", Flow: "shop", Topic: "orders", Partition: 3, From: 10,
		Until: 20, At: 10, Actor: "anna", Reason: "the log lost them", Created: moment,
	}
}

func TestNotice(t *testing.T) {
	t.Parallel()
	for _, s := range samples() {
		t.Run(s.kind, func(t *testing.T) {
			t.Parallel()
			t.Run("IsWrittenAsItAlwaysWas", func(t *testing.T) {
				t.Parallel()
				encoded, err := notice.Encode(s.written)
				if diff := cmp.Diff(s.golden, string(encoded)); err != nil || diff != "" {
					t.Errorf("%v (-want +got):\n%s", err, diff)
				}
			})
			t.Run("IsReadAsItWasWritten", func(t *testing.T) {
				t.Parallel()
				into := s.empty()
				err := notice.Decode(s.kind, []byte(s.golden), into)
				if diff := cmp.Diff(s.written, reflect.ValueOf(into).Elem().Interface()); err != nil || diff != "" {
					t.Errorf("%v (-want +got):\n%s", err, diff)
				}
			})
			t.Run("RefusesEveryPrefix", func(t *testing.T) {
				t.Parallel()
				for size := range len(s.golden) {
					if err := notice.Decode(s.kind, []byte(s.golden[:size]), s.empty()); !fault.Is(err, fault.Corrupt) {
						t.Errorf("the first %d bytes: got %v, want fault.Corrupt", size, err)
					}
				}
			})
			t.Run("TakesNoFlippedBitForTheSameNotice", func(t *testing.T) { t.Parallel(); flips(t, s) })
			t.Run("IsStrict", func(t *testing.T) { t.Parallel(); strict(t, s) })
		})
	}
}

// flips damages each bit. What still reads says exactly what stands there.
func flips(t *testing.T, s sample) {
	t.Helper()
	for bit := range 8 * len(s.golden) {
		damaged := []byte(s.golden)
		damaged[bit/8] ^= 1 << (bit % 8)
		into := s.empty()
		err := notice.Decode(s.kind, damaged, into)
		if err == nil {
			if again, _ := notice.Encode(into); string(again) != string(damaged) {
				t.Errorf("bit %d: %s is read as %s", bit, damaged, again)
			}
			continue
		}
		if !fault.Is(err, fault.Corrupt) && !fault.Is(err, fault.Misconfigured) {
			t.Errorf("bit %d: class %s: %v", bit, fault.ClassOf(err), err)
		}
	}
}

func strict(t *testing.T, s sample) {
	t.Helper()
	inner := strings.TrimSuffix(strings.TrimPrefix(s.golden, "{"), "}")
	for name, test := range map[string]struct {
		encoded string
		class   fault.Class
	}{
		"nothing":           {"", fault.Corrupt},
		"null":              {"null", fault.Corrupt},
		"a list":            {"[" + s.golden + "]", fault.Corrupt},
		"an unknown member": {"{" + inner + `,"more":1}`, fault.Corrupt},
		"a member twice":    {"{" + inner + `,"version":1}`, fault.Corrupt},
		"another case":      {strings.Replace(s.golden, `"version"`, `"Version"`, 1), fault.Corrupt},
		"no version":        {strings.Replace(s.golden, `"version":1,`, ``, 1), fault.Corrupt},
		"a later version":   {strings.Replace(s.golden, `"version":1`, `"version":2`, 1), fault.Misconfigured},
		"a null member":     {strings.Replace(s.golden, `"version":1`, `"version":null`, 1), fault.Corrupt},
		"another behind":    {s.golden + s.golden, fault.Corrupt},
		"bytes behind":      {s.golden + "\x00", fault.Corrupt},
		"a mark before":     {"\xef\xbb\xbf" + s.golden, fault.Corrupt},
		"too many bytes":    {s.golden + strings.Repeat(" ", notice.MaxSize), fault.Corrupt},
	} {
		if err := notice.Decode(s.kind, []byte(test.encoded), s.empty()); !fault.Is(err, test.class) {
			t.Errorf("%s: got %v, want class %s", name, err, test.class)
		}
	}
}

func TestNoticeRefuses(t *testing.T) {
	t.Parallel()
	life := func(change func(*notice.Life)) document {
		l, ok := samples()[1].written.(notice.Life)
		if !ok {
			t.Fatal("the second sample is no life")
		}
		recovered := *l.Recovered
		l.Recovered = &recovered
		change(&l)
		return l
	}
	decided := func(change func(*notice.Decision)) document {
		d := decision()
		change(&d)
		return d
	}
	reported := func(change func(*verification.Report)) document {
		v := report()
		change(&v)
		return v
	}
	long := strings.Repeat("x", 1001)
	for name, refused := range map[string]document{
		"AnOwnerWithoutATarget":      notice.Owner{Version: 1},
		"ALifeOfItself":              life(func(l *notice.Life) { l.Recovered.Parent = 2 }),
		"ALifeOfALaterOne":           life(func(l *notice.Life) { l.Recovered.Parent = 3 }),
		"ALifeFromALaterBase":        life(func(l *notice.Life) { l.Recovered.Base.Lineage = 2 }),
		"ALifeFromNoBase":            life(func(l *notice.Life) { l.Recovered.Base = manifest.Previous{} }),
		"ALifeWithoutASharedCut":     life(func(l *notice.Life) { l.Recovered.Shared = manifest.Object{} }),
		"ALifeWithoutAnIncarnation":  life(func(l *notice.Life) { l.Incarnation = "" }),
		"ASweepOfNoObject":           notice.Sweep{Version: 1, Number: 1, Objects: []manifest.Digest{"../../owner.json"}},
		"ASweepWithoutANumber":       notice.Sweep{Version: 1, Number: -1, Objects: []manifest.Digest{}},
		"AnEndOfNoObject":            notice.SweepEnd{Version: 1, Number: 1, Removed: []manifest.Digest{"x"}},
		"ARevocationWithoutAReason":  notice.Revocation{Version: 1, TargetID: "shop", RunID: run, Created: moment},
		"ARevocationWithALongReason": notice.Revocation{Version: 1, TargetID: "shop", RunID: run, Reason: long, Created: moment},
		"ARevocationOfNothing":       notice.Revocation{Version: 1, TargetID: "shop", Reason: "x", Created: moment},
		"AMarkWithoutAReason":        notice.Keep{Version: 1, TargetID: "shop", RunID: run, Number: 1, Created: moment},
		"AMarkWithoutANumber":        notice.Keep{Version: 1, TargetID: "shop", RunID: run, Number: -1, Reason: "x", Created: moment},
		"AMarkOfNobodysArchive":      notice.Keep{Version: 1, RunID: run, Number: 1, Keep: true, Reason: "x", Created: moment},
		"AnActThatIsNone":            decided(func(d *notice.Decision) { d.Act = "forget" }),
		"ADecisionWithoutAReason":    decided(func(d *notice.Decision) { d.Reason = "" }),
		"ARangeThatEndsBeforeItself": decided(func(d *notice.Decision) { d.From, d.Until = 20, 10 }),
		"AnotherVersion":             notice.Owner{Version: 2, TargetID: "shop"},
		"AGoodReportOfProblems":      reported(func(v *verification.Report) { v.Verdict = "verified" }),
		"ABadReportOfNone":           reported(func(v *verification.Report) { v.Problems = 0 }),
		"AGoodReportOfWhatNobodyRead": reported(func(v *verification.Report) {
			v.Verdict, v.Problems, v.Looked.Unread = "verified", 0, 1
		}),
		"AReportOfMoreThanThereIs":   reported(func(v *verification.Report) { v.Looked.Found = 10 }),
		"AReportOfNoLevel":           reported(func(v *verification.Report) { v.Level = "all" }),
		"AReportOfMoreThanAll":       reported(func(v *verification.Report) { v.Share = 1_000_001 }),
		"AReportFromBeforeItsBegin":  reported(func(v *verification.Report) { v.Ended = moment.Add(-time.Second) }),
		"ARehearsalWithoutOne":       reported(func(v *verification.Report) { v.Rehearsal = nil }),
		"ARehearsalOfAnotherLevel":   reported(func(v *verification.Report) { v.Level = "hash" }),
		"ARehearsalWithoutADigest":   reported(func(v *verification.Report) { v.Rehearsal = &verification.Rehearsal{} }),
		"AReportWithTooManyProblems": reported(func(v *verification.Report) { v.First = make([]string, 5) }),
	} {
		if encoded, err := notice.Encode(refused); err == nil {
			t.Errorf("%s: written as %s", name, encoded)
		}
	}
}

// What no reader takes must not be written: a sweep that nobody can read stops every backup and every expiry.
func TestNoticeIsNeverWrittenLargerThanItIsRead(t *testing.T) {
	t.Parallel()
	objects := make([]manifest.Digest, notice.MaxSize/len(digest))
	for i := range objects {
		objects[i] = digest
	}
	encoded, err := notice.Encode(notice.Sweep{Version: 1, Number: 1, Actor: "schedule", Objects: objects})
	if err == nil {
		t.Errorf("%d bytes were written, at most %d are read", len(encoded), notice.MaxSize)
	}
}
