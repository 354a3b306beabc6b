package ssmmark_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"tidemark/shared/archive/history"
	"tidemark/shared/archive/ssmmark"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/position"
)

func mark(lineage position.Lineage, seq int64) history.Mark {
	return history.Mark{Lineage: lineage, Seq: seq, Statement: manifest.DigestOf([]byte(fmt.Sprint(lineage, seq)))}
}

func encoded(m history.Mark) string {
	return fmt.Sprintf(`{"version":1,"lineage":"%d","seq":"%d","statement":"%s"}`, m.Lineage, m.Seq, m.Statement)
}

func expect(t *testing.T, m *ssmmark.Mark, want history.Mark) {
	t.Helper()
	got, err := m.Load(t.Context())
	if err != nil || got != want {
		t.Errorf("got %+v and %v, want %+v", got, err, want)
	}
}

func TestMark(t *testing.T) {
	t.Parallel()
	t.Run("IsZeroBeforeTheFirst", func(t *testing.T) {
		t.Parallel()
		expect(t, newService(t).mark(), history.Mark{})
	})
	t.Run("NeverGoesBack", func(t *testing.T) {
		t.Parallel()
		s := newService(t)
		m := s.mark()
		for _, step := range []struct{ raise, want history.Mark }{
			{mark(1, 5), mark(1, 5)},
			{mark(1, 4), mark(1, 5)},
			{mark(1, 5), mark(1, 5)},
			{mark(1, 6), mark(1, 6)},
			{mark(2, 1), mark(2, 1)},
			{mark(1, 9), mark(2, 1)},
		} {
			if err := m.Raise(t.Context(), step.raise); err != nil {
				t.Fatal(err)
			}
			expect(t, m, step.want)
		}
		if s.puts != 3 || s.lastType != "String" {
			t.Errorf("%d puts, the last of type %s; want 3 of String", s.puts, s.lastType)
		}
	})
	t.Run("ReadsItsForm", func(t *testing.T) {
		t.Parallel()
		expect(t, newService(t, encoded(mark(3, 7))).mark(), mark(3, 7))
	})
}

// Between the reading and the writing of one raise others write: whatever they wrote, the newest stays.
func TestRaisePutsBackWhatItWroteOver(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		before, between []string
		raised, want    history.Mark
	}{
		"ANewerOne": {[]string{encoded(mark(1, 5))}, []string{encoded(mark(1, 7))}, mark(1, 6), mark(1, 7)},
		"AnOlderOne": {
			[]string{encoded(mark(1, 5))}, []string{encoded(mark(1, 6))}, mark(1, 7), mark(1, 7),
		},
		"TheNewestOfSeveral": {
			[]string{encoded(mark(1, 5))}, []string{encoded(mark(1, 8)), encoded(mark(2, 1)), encoded(mark(1, 9))}, mark(1, 6), mark(2, 1),
		},
		"OneThatIsGone": {[]string{encoded(mark(1, 5))}, []string{"gone"}, mark(1, 6), mark(1, 6)},
		"TheFirst":      {nil, []string{encoded(mark(1, 7))}, mark(1, 6), mark(1, 7)},
		"AFirstBefore":  {nil, []string{encoded(mark(1, 5))}, mark(1, 6), mark(1, 6)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, test.before...)
			var once sync.Once
			s.onPut = func() {
				once.Do(func() {
					s.mu.Lock()
					defer s.mu.Unlock()
					s.values = append(s.values, test.between...)
				})
			}
			m := s.mark()
			if err := m.Raise(t.Context(), test.raised); err != nil {
				t.Fatal(err)
			}
			expect(t, m, test.want)
		})
	}
	t.Run("UnderManyWriters", func(t *testing.T) {
		t.Parallel()
		s := newService(t)
		const writers = 4
		var group sync.WaitGroup
		for i := range writers {
			m := s.mark()
			group.Go(func() {
				for seq := int64(i) + 1; seq <= 5*writers; seq += writers {
					// A raise that lost every try says so, and then proves nothing.
					if err := m.Raise(t.Context(), mark(1, seq)); err != nil && !fault.Is(err, fault.Retryable) {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
		newest := history.Mark{}
		for _, value := range s.values {
			if found, err := newService(t, value).mark().Load(t.Context()); err != nil || newest.Before(found) {
				newest = found
			}
		}
		expect(t, s.mark(), newest)
	})
	t.Run("TriesAgainWhenOthersWriteAtOnce", func(t *testing.T) {
		t.Parallel()
		s := newService(t, encoded(mark(1, 5)))
		s.busy = 2
		m := s.mark()
		if err := m.Raise(t.Context(), mark(1, 6)); err != nil {
			t.Fatal(err)
		}
		expect(t, m, mark(1, 6))
	})
	t.Run("SaysThatItDidNotStay", func(t *testing.T) {
		t.Parallel()
		m := ssmmark.New(forgetful{newService(t).client()}, name)
		if err := m.Raise(t.Context(), mark(1, 6)); !fault.Is(err, fault.Retryable) || fault.HintOf(err) == "" {
			t.Errorf("got %v", err)
		}
	})
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	for what, value := range map[string]string{
		"AnEmptyValue": "", "Garbage": "garbage", "AnotherDocument": `{"version":1,"target_id":"shop"}`, "Null": "null",
		"NoVersion": strings.Replace(encoded(mark(1, 5)), `"version":1,`, "", 1), "SeqZero": strings.Replace(encoded(mark(1, 5)), `"5"`, `"0"`, 1),
		"TwoMarks": encoded(mark(1, 5)) + encoded(mark(1, 5)),
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newService(t, value)
			m := s.mark()
			found, err := m.Load(t.Context())
			refused(t, err, fault.Corrupt, name)
			if !found.IsZero() {
				t.Errorf("got %+v beside the error", found)
			}
			refused(t, m.Raise(t.Context(), mark(1, 6)), fault.Corrupt, name)
			if s.puts != 0 {
				t.Error("the evidence was written over")
			}
		})
	}
	t.Run("AMarkOfNothing", func(t *testing.T) {
		t.Parallel()
		if err := newService(t).mark().Raise(t.Context(), history.Mark{}); !fault.Is(err, fault.Bug) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("ToGoOnWithoutItsCaller", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		s := newService(t)
		if err := s.mark().Raise(ctx, mark(1, 6)); !fault.Is(err, fault.Retryable) || !errors.Is(err, context.Canceled) || s.puts != 0 {
			t.Errorf("got %v after %d puts", err, s.puts)
		}
	})
}

func TestErrorsHaveAClass(t *testing.T) {
	t.Parallel()
	for code, class := range map[string]fault.Class{
		"ThrottlingException": fault.Retryable, "TooManyUpdates": fault.Retryable, "InternalServerError": fault.Retryable,
		"ExpiredTokenException": fault.Retryable, "AccessDeniedException": fault.Misconfigured, "InvalidKeyId": fault.Misconfigured,
		"ValidationException": fault.Misconfigured, "UnsupportedParameterType": fault.Misconfigured,
		"ParameterLimitExceeded": fault.Misconfigured, "ParameterMaxVersionLimitExceeded": fault.Misconfigured,
		"UnrecognizedClientException": fault.Misconfigured, "InvalidSignatureException": fault.Misconfigured,
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			s := newService(t)
			s.refuse = code
			_, err := s.mark().Load(t.Context())
			refused(t, err, class, name)
		})
	}
	t.Run("Unknown", func(t *testing.T) {
		t.Parallel()
		s := newService(t)
		s.refuse = "Unheard"
		if _, err := s.mark().Load(t.Context()); fault.ClassOf(err) != fault.Unclassified {
			t.Errorf("got %v", err)
		}
		s.status = http.StatusServiceUnavailable
		_, err := s.mark().Load(t.Context())
		refused(t, err, fault.Retryable, name)
	})
	t.Run("NoAnswer", func(t *testing.T) {
		t.Parallel()
		refused(t, ssmmark.New(clientOf("http://127.0.0.1:1"), name).Raise(t.Context(), mark(1, 6)), fault.Retryable, name)
	})
}

func refused(t *testing.T, err error, class fault.Class, says string) {
	t.Helper()
	if !fault.Is(err, class) || !strings.Contains(err.Error(), says) || fault.HintOf(err) == "" {
		t.Errorf("got %v of class %v with hint %q, want %v and %s in it", err, fault.ClassOf(err), fault.HintOf(err), class, says)
	}
}
