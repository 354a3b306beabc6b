package s3apitest

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tidemark/shared/archive"
	"tidemark/shared/archive/s3api"
	"tidemark/shared/fault"
)

// vault answers for one object in a bucket with object lock.
type vault struct {
	unlockable bool
	now        time.Time
	mode       string
	until      time.Time // zero: no retention
	held       bool
	gone       string // the code that says that the object is not there
	deletion   string // the code that a deletion is refused with
	extended   time.Time

	settings, deletions atomic.Int32
	retained            chan string
}

var clock = time.Date(2026, 11, 2, 10, 0, 0, 0, time.UTC) //nolint:gochecknoglobals // a constant that cannot be one

func (v *vault) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	w.Header().Set("Date", v.now.Format(http.TimeFormat))
	switch {
	case query.Has("object-lock"):
		v.settings.Add(1)
		if v.unlockable {
			Refuse(w, http.StatusNotFound, "ObjectLockConfigurationNotFoundError")
			return
		}
		answerXML(w, "<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled></ObjectLockConfiguration>")
	case query.Has("retention"):
		v.retention(w, r)
	case query.Has("legal-hold") && !v.held:
		Refuse(w, http.StatusNotFound, "NoSuchObjectLockConfiguration")
	case query.Has("legal-hold"):
		answerXML(w, "<LegalHold><Status>ON</Status></LegalHold>")
	case query.Has("versioning"):
		answerXML(w, "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>")
	case query.Has("list-type"):
		page(w, false, nil, 0, false)
	case r.Method == http.MethodDelete:
		v.deletions.Add(1)
		if v.deletion != "" {
			v.until = v.extended
			Refuse(w, http.StatusForbidden, v.deletion)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}
}

func (v *vault) retention(w http.ResponseWriter, r *http.Request) {
	switch {
	case v.gone != "":
		Refuse(w, http.StatusNotFound, v.gone)
	case r.Method == http.MethodPut:
		body, _ := io.ReadAll(r.Body) // a short body shows in what is compared
		v.retained <- string(body)
		if !v.extended.IsZero() {
			v.until = v.extended
			Refuse(w, http.StatusForbidden, "AccessDenied")
		}
	case v.until.IsZero():
		Refuse(w, http.StatusNotFound, "NoSuchObjectLockConfiguration")
	default:
		answerXML(w, fmt.Sprintf("<Retention><Mode>%s</Mode><RetainUntilDate>%s</RetainUntilDate></Retention>", v.mode,
			v.until.Format(time.RFC3339)))
	}
}

func answerXML(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "application/xml")
	_, _ = io.WriteString(w, "<?xml version=\"1.0\"?>"+text)
}

// deletion is a Delete and what must come of it.
type deletion struct {
	vault   *vault
	locked  bool
	failed  bool
	deletes int32
}

func deletions() map[string]deletion {
	hour := clock.Add(time.Hour)
	return map[string]deletion{
		"RemovesWhatIsNotLocked":              {&vault{}, false, false, 1},
		"RemovesWithoutObjectLock":            {&vault{unlockable: true, until: hour, mode: "COMPLIANCE"}, false, false, 1},
		"RefusesUntilTheRetentionEnds":        {&vault{until: hour, mode: "GOVERNANCE"}, true, true, 0},
		"RemovesAfterTheRetention":            {&vault{until: clock, mode: "COMPLIANCE"}, false, false, 1},
		"RefusesALegalHold":                   {&vault{held: true}, true, true, 0},
		"RefusesALegalHoldAfterTheRetention":  {&vault{held: true, until: clock, mode: "COMPLIANCE"}, true, true, 0},
		"TakesAnAbsentKeyForDone":             {&vault{gone: "NoSuchKey"}, false, false, 1},
		"TakesAMarkerForDone":                 {&vault{gone: "MethodNotAllowed"}, false, false, 1},
		"TellsALockThatCameBetween":           {&vault{deletion: "AccessDenied", extended: hour, mode: "COMPLIANCE"}, true, true, 1},
		"TellsALockThatCameBetweenInMinIO":    {&vault{deletion: "InvalidRequest", extended: hour, mode: "COMPLIANCE"}, true, true, 1},
		"TellsMissingRightsFromALock":         {&vault{deletion: "AccessDenied"}, false, true, 1},
		"TellsMissingRightsWithoutObjectLock": {&vault{unlockable: true, deletion: "AccessDenied"}, false, true, 1},
	}
}

// deleting holds a Delete to locks.
func deleting(t *testing.T, open Open) {
	t.Helper()
	for name, test := range deletions() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.check(t, open)
		})
	}
	t.Run("RefusesWhenObjectLockIsNotKnown", func(t *testing.T) {
		t.Parallel()
		bucket := Serve(t, open, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodDelete {
				t.Error("it was deleted")
			}
			Refuse(w, http.StatusForbidden, "AccessDenied")
		})
		if err := bucket.Delete(t.Context(), "k"); !errors.Is(err, archive.ErrDenied) {
			t.Errorf("got %v, want it denied", err)
		}
	})
}

func (d deletion) check(t *testing.T, open Open) {
	t.Helper()
	d.vault.now = clock
	bucket := Serve(t, open, d.vault.ServeHTTP)
	err := bucket.Delete(t.Context(), "k")
	if errors.Is(err, archive.ErrLocked) != d.locked || (err != nil) != d.failed {
		t.Errorf("got %v, want locked %t, an error %t", err, d.locked, d.failed)
	}
	if d.failed && !d.locked && !errors.Is(err, archive.ErrDenied) {
		t.Errorf("got %v, want it denied", err)
	}
	if got := d.vault.deletions.Load(); got != d.deletes {
		t.Errorf("got %d deletions, want %d", got, d.deletes)
	}
	if again := bucket.Delete(t.Context(), "k"); (again == nil) != (err == nil) || d.vault.settings.Load() != 1 {
		t.Errorf("again: got %v and %d questions for object lock, want one", again, d.vault.settings.Load())
	}
}

// retention is a Retain and what must come of it.
type retention struct {
	vault *vault
	until time.Time
	want  []string // parts of what is sent; none: nothing is
	class fault.Class
}

func retentions() map[string]retention {
	hour, day := clock.Add(time.Hour), clock.Add(24*time.Hour)
	return map[string]retention{
		"LocksWhatIsNot":              {&vault{}, hour, []string{"GOVERNANCE", "2026-11-02T11:00:00Z"}, 0},
		"Extends":                     {&vault{mode: "GOVERNANCE", until: hour}, day, []string{"GOVERNANCE", "2026-11-03T10:00:00Z"}, 0},
		"KeepsTheStricterMode":        {&vault{mode: "COMPLIANCE", until: hour}, day, []string{"COMPLIANCE", "2026-11-03T10:00:00Z"}, 0},
		"RoundsUp":                    {&vault{}, hour.Add(time.Nanosecond), []string{"2026-11-02T11:00:01Z"}, 0},
		"NeverShortens":               {&vault{mode: "GOVERNANCE", until: day}, hour, nil, 0},
		"LeavesAnEqualLock":           {&vault{mode: "GOVERNANCE", until: hour}, hour, nil, 0},
		"BelievesALongerLockBetween":  {&vault{extended: day, mode: "COMPLIANCE"}, hour, []string{"GOVERNANCE"}, 0},
		"RefusesAShorterLockBetween":  {&vault{extended: hour, mode: "COMPLIANCE"}, day, []string{"GOVERNANCE"}, fault.Misconfigured},
		"RefusesAnObjectThatIsAbsent": {&vault{gone: "NoSuchKey"}, hour, nil, fault.Retryable},
	}
}

// retaining holds a Retain to never shortening a lock.
func retaining(t *testing.T, open Open) {
	t.Helper()
	for name, test := range retentions() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.check(t, open)
		})
	}
	t.Run("LocksInTheModeOfTheOptions", func(t *testing.T) {
		t.Parallel()
		v := &vault{now: clock, retained: make(chan string, 1)}
		bucket := Serve(t, open, v.ServeHTTP, func(o *s3api.Options) { o.Retention = s3api.Compliance })
		if err := bucket.Retain(t.Context(), "k", clock.Add(time.Hour)); !failed(t, err) {
			if sent := <-v.retained; !strings.Contains(sent, "COMPLIANCE") {
				t.Errorf("sent %q", sent)
			}
		}
	})
}

func (r retention) check(t *testing.T, open Open) {
	t.Helper()
	r.vault.now, r.vault.retained = clock, make(chan string, 1)
	err := Serve(t, open, r.vault.ServeHTTP).Retain(t.Context(), "k", r.until)
	if fault.ClassOf(err) != r.class || (err == nil) != (r.class == fault.Unclassified) {
		t.Errorf("got %v (%s), want %s", err, fault.ClassOf(err), r.class)
	}
	close(r.vault.retained)
	sent := <-r.vault.retained
	if (sent == "") != (r.want == nil) {
		t.Errorf("sent %q, want %q", sent, r.want)
	}
	for _, part := range r.want {
		if !strings.Contains(sent, part) {
			t.Errorf("sent %q, want %q in it", sent, part)
		}
	}
}
