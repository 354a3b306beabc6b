//go:build integration

package integration_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"tidemark/localstack/eventsource"
)

// heldAt15 is another loss with 30 entries in the log, 10 of them in the backup, recovered up to offset 15.
func (l *loss) heldAt15(t *testing.T) *loss {
	t.Helper()
	l = l.backedUp(t, 1)
	l.publish(t, 0, entries(10, 30)...)
	until := fmt.Sprintf("%s/0=15", l.topics[0])
	db := l.recovers(t, 0, []string{"held behind the end", "[15,30)", "is held in life 2", "tidemark flow resume"}, "--until", until)
	shows(t, db, [2]int{0, 15})
	l = l.on(db)
	l.publish(t, 0, entries(30, 35)...)
	l.unapplied(t, "fenced", "held")
	shows(t, db, [2]int{0, 15})
	l.tidemark(t, db, 0, []string{"had recovered it already", "is held"}, "recover", "--until", until)
	return l
}

// unapplied delivers the first topic until a delivery failed a second time without progress, and verifies that the function says
// why.
func (s *stage) unapplied(t *testing.T, class, why string) {
	t.Helper()
	f := s.function(t, nil)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	failures := 0
	source := s.source(t, s.topics[0], f, func(o *eventsource.Options) {
		o.Events.OnFailed = func(eventsource.Event, int, error) {
			if failures++; failures == 2 {
				cancel()
			}
		}
	})
	if err := source.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want a source that delivers again until it is told to stop", err)
	}
	if got := source.Positions()[s.partition(0)]; got != 0 {
		t.Errorf("the source's position is %s, want 0: everything is reported as not applied", got)
	}
	f.stoppedAt(t, class, why)
}

func untilAndReplayed(t *testing.T, l *loss) {
	t.Helper()
	l = l.heldAt15(t)
	l.tidemark(t, l.db, 2, []string{"--replay", "--skip"}, "flow", "resume")
	l.tidemark(t, l.db, 0, []string{"[15,30) is applied as it comes", "the target is live"}, "flow", "resume", "--replay")
	l.tidemark(t, l.db, 0, []string{"had recovered it already", "is live in life 2"}, "recover", "--until", fmt.Sprintf("%s/0=15", l.topics[0]))
	l.tidemark(t, l.db, 0, []string{"had recovered it already", "is live in life 2"}, "recover", "--until", fmt.Sprintf("%s/0=15", l.topics[0]))
	l.apply(t)
	shows(t, l.db, [2]int{0, 35})
	l.stands(t, 0, 35)
	shows(t, l.recovers(t, 0, nil), [2]int{0, 35})
}

func untilAndSkipped(t *testing.T, l *loss) {
	t.Helper()
	l = l.heldAt15(t)
	l.tidemark(t, l.db, 0, []string{"[15,30) is left out for good", "the target is live"}, "flow", "resume", "--skip", "the release of Monday")
	l.apply(t)
	shows(t, l.db, [2]int{0, 15}, [2]int{30, 35})
	l.stands(t, 0, 35)
	const gaps = "SELECT from_offset, until_offset, how, why FROM tidemark.gap"
	if got, want := l.db.Copy(t, gaps), "15\t30\texcluded\tthe release of Monday\n"; got != want {
		t.Errorf("the gaps are %q, want %q", got, want)
	}
	again := l.recovers(t, 0, []string{"left out before", "the release of Monday"}) // from the backup of the life before
	shows(t, again, [2]int{0, 15}, [2]int{30, 35})
	if got := again.Copy(t, gaps); got != l.db.Copy(t, gaps) {
		t.Errorf("a later recovery has the gaps %q", got)
	}
}

func untilATime(t *testing.T, l *loss) {
	t.Helper()
	l = l.entriesLoss(t, 1)
	begin := time.Now().Add(-time.Hour).Truncate(time.Second)
	l.publish(t, 0, at(begin, entries(0, 10))...)
	l.apply(t)
	l.tidemark(t, l.db, 0, nil, "backup")
	l.publish(t, 0, at(begin.Add(time.Minute), entries(10, 20))...)
	l.publish(t, 0, at(begin.Add(2*time.Minute), entries(20, 30))...)
	l.refuses(t, 2, []string{"--until"}, "--until", "yesterday")
	between := begin.Add(90 * time.Second).UTC().Format(time.RFC3339)
	db := l.recovers(t, 0, []string{"[20,30)", "is held in life 2"}, "--until", between)
	shows(t, db, [2]int{0, 20})
}

// untilBelowTheCut asks for less than every backup shows: replay cannot take anything back.
func untilBelowTheCut(t *testing.T, l *loss) {
	t.Helper()
	l = l.backedUp(t, 1)
	l.publish(t, 0, entries(10, 20)...)
	l.refuses(t, 2, []string{"beyond until", "an older manifest is needed"}, "--until", fmt.Sprintf("%s/0=5", l.topics[0]))
	l.publish(t, 0, entries(20, 30)...)
	l.refuses(t, 2, []string{"no flow of the manifest reads that topic"}, "--until", "another/0=5")
}
