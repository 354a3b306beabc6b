package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/fault"
)

func TestDecodeEvent(t *testing.T) {
	t.Parallel()
	t.Run("ReadsTheSample", func(t *testing.T) {
		t.Parallel()
		sample, err := os.ReadFile("event.json")
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeEvent(sample)
		want := event{
			Scheduled: time.Date(2026, 11, 29, 21, 0, 0, 0, time.UTC), Execution: "d2b8f7a1-5c3e-4b6a-9f10-7e2c4a8d6b05", Attempt: 1,
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Error(diff, err)
		}
	})
	t.Run("TimesOfOneMomentAreOne", func(t *testing.T) {
		t.Parallel()
		for _, text := range []string{"2026-11-29T21:00:00Z", "2026-11-29T22:00:00+01:00", "2026-11-29T21:00:00.000Z"} {
			got, err := decodeEvent(scheduled(text, "e", "1"))
			if err != nil || got.Scheduled != time.Date(2026, 11, 29, 21, 0, 0, 0, time.UTC) {
				t.Errorf("%s: got %s, %v", text, got.Scheduled, err)
			}
		}
	})
	t.Run("NothingIsABackupWithoutASchedule", func(t *testing.T) {
		t.Parallel()
		for _, payload := range []string{"", "{}", " { } \n"} {
			if got, err := decodeEvent([]byte(payload)); err != nil || got != (event{}) {
				t.Errorf("%q: got %+v, %v", payload, got, err)
			}
		}
	})
	t.Run("RefusesWhatItCannotTakeAtItsWord", func(t *testing.T) {
		t.Parallel()
		const at = "2026-11-29T21:00:00Z"
		for name, c := range map[string]struct {
			payload []byte
			says    string
		}{
			"TimeNotReplaced":      {scheduled("<aws.scheduler.scheduled-time>", "e", "1"), "did not replace"},
			"ExecutionNotReplaced": {scheduled(at, "<aws.scheduler.execution-id>", "1"), "execution is"},
			"AttemptNotReplaced":   {scheduled(at, "e", "<aws.scheduler.attempt-number>"), "attempt is"},
			"NoTime":               {[]byte(`{"execution":"e","attempt":"1"}`), "scheduled_time is missing"},
			"EmptyTime":            {scheduled("", "e", "1"), "scheduled_time is missing"},
			"NoExecution":          {[]byte(`{"scheduled_time":"` + at + `","attempt":"1"}`), "execution is missing"},
			"NoAttempt":            {[]byte(`{"scheduled_time":"` + at + `","execution":"e"}`), "attempt is missing"},
			"MisspeltMember":       {[]byte(`{"scheduledTime":"` + at + `"}`), "scheduledTime"},
			"OtherCase":            {[]byte(`{"Scheduled_Time":"` + at + `"}`), "Scheduled_Time"},
			"EventOfARule":         {[]byte(`{"version":"0","detail-type":"Scheduled Event","time":"` + at + `"}`), "version"},
			"TwoTimes":             {[]byte(`{"scheduled_time":"` + at + `","scheduled_time":"` + at + `"}`), "scheduled_time"},
			"NumberForText":        {[]byte(`{"scheduled_time":1,"execution":"e","attempt":"1"}`), "scheduled_time"},
			"NoTimeOfDay":          {scheduled("2026-11-29", "e", "1"), "want a time"},
			"ZeroTime":             {scheduled("0001-01-01T00:00:00Z", "e", "1"), "want a time"},
			"AttemptZero":          {scheduled(at, "e", "0"), "want a number"},
			"AttemptWord":          {scheduled(at, "e", "one"), "want a number"},
			"Null":                 {[]byte("null"), "no JSON object"},
			"List":                 {[]byte("[]"), "no JSON object"},
			"Cut":                  {[]byte(`{"scheduled_time":`), "read the event"},
			"Twice":                {[]byte("{}{}"), "read the event"},
		} {
			got, err := decodeEvent(c.payload)
			if !fault.Is(err, fault.Misconfigured) || !strings.Contains(err.Error(), c.says) || got != (event{}) {
				t.Errorf("%s: got %+v, %v, want it misconfigured and to say %q", name, got, err, c.says)
			}
			if !strings.Contains(fault.HintOf(err), "<aws.scheduler.scheduled-time>") {
				t.Errorf("%s: the hint does not say what the schedule should send: %q", name, fault.HintOf(err))
			}
		}
	})
}

// scheduled is the event of a schedule.
func scheduled(at, execution, attempt string) []byte {
	return []byte(`{"scheduled_time":"` + at + `","execution":"` + execution + `","attempt":"` + attempt + `"}`)
}
