package signing_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tidemark/shared/fault"
	"tidemark/shared/signing"
)

// day is a moment of a calendar of the tests; 0 is no time at all.
func day(n int) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Date(2026, 3, n, 12, 0, 0, 0, time.UTC)
}

func TestJudgeAt(t *testing.T) {
	t.Parallel()
	type window struct{ notBefore, notAfter, revokedAt int }
	key := edwards(1)
	encoded := seal(t, key)
	for name, c := range map[string]struct {
		window
		created, stored int
		refusal         string // empty: believed
	}{
		"AlwaysWithoutLimits":              {window{}, 1, 1, ""},
		"WithoutLimitsAtUnknownTimes":      {window{}, 0, 0, ""},
		"FromTheFirstMomentOn":             {window{notBefore: 5}, 5, 5, ""},
		"NotWhenCreatedTooEarly":           {window{notBefore: 5}, 4, 6, "valid from"},
		"WhenTheStoresClockIsBehind":       {window{notBefore: 5}, 5, 4, ""},
		"UntilTheLastMoment":               {window{notAfter: 5}, 5, 5, ""},
		"NotWhenCreatedTooLate":            {window{notAfter: 5}, 6, 6, "valid until"},
		"NotWhenStoredTooLate":             {window{notAfter: 5}, 4, 6, "valid until"},
		"NotWhenCreatedAfterItWasStored":   {window{notAfter: 5}, 6, 4, "valid until"},
		"BeforeItWasRevoked":               {window{revokedAt: 5}, 3, 4, ""},
		"NotFromTheMomentOfRevocation":     {window{revokedAt: 5}, 3, 5, "revoked"},
		"NotWhenBackdatedAfterRevocation":  {window{revokedAt: 5}, 1, 9, "revoked"},
		"BeforeItWasRevokedByAWrongClock":  {window{revokedAt: 5}, 9, 4, ""},
		"InsideAllLimits":                  {window{2, 8, 6}, 3, 4, ""},
		"NotRevokedThoughInsideTheWindow":  {window{2, 8, 6}, 3, 7, "revoked"},
		"NotEarlyThoughNeverRevoked":       {window{2, 8, 9}, 1, 3, "valid from"},
		"NotStoredAtAnUnknownTime":         {window{revokedAt: 5}, 3, 0, "unknown"},
		"NotStoredAtAnUnknownTimeOfWindow": {window{notAfter: 5}, 3, 0, "unknown"},
		"NotCreatedAtAnUnknownTime":        {window{notAfter: 5}, 0, 3, "unknown"},
		"NotCreatedAtAnUnknownTimeBefore":  {window{notBefore: 5}, 0, 6, "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pinned := signing.Keyring{{
				Name: "desk", Key: key.key, NotBefore: day(c.notBefore), NotAfter: day(c.notAfter), RevokedAt: day(c.revokedAt),
			}}
			opened, err := pinned.Open(payloadType, encoded)
			if err != nil {
				t.Fatal(err)
			}
			believed(t, opened.JudgeAt(day(c.created), day(c.stored)), c.refusal)
		})
	}
	t.Run("InAnyTimeZone", func(t *testing.T) {
		t.Parallel()
		opened, err := signing.Keyring{{Key: key.key, NotAfter: day(5)}}.Open(payloadType, encoded)
		if err != nil {
			t.Fatal(err)
		}
		west := time.FixedZone("west", -11*60*60)
		believed(t, opened.JudgeAt(day(5).In(west), day(5).In(west)), "")
		believed(t, opened.JudgeAt(day(5).In(west), day(5).Add(time.Nanosecond).In(west)), "valid until")
	})
	t.Run("NotWhenNobodySigned", func(t *testing.T) {
		t.Parallel()
		believed(t, signing.Opened{}.JudgeAt(day(1), day(1)), "nobody")
	})
	t.Run("ByOneValidSignerOfTwo", func(t *testing.T) {
		t.Parallel()
		other := nist(2)
		both := seal(t, key, other)
		for _, pinned := range []signing.Keyring{
			{{Key: key.key, RevokedAt: day(1)}, {Key: other.key}},
			{{Key: key.key}, {Key: other.key, NotBefore: day(9)}},
		} {
			opened, err := pinned.Open(payloadType, both)
			if err != nil {
				t.Fatal(err)
			}
			believed(t, opened.JudgeAt(day(3), day(3)), "")
		}
	})
	t.Run("ByNoSignerOfTwoAndSaysWhyForEach", func(t *testing.T) {
		t.Parallel()
		other := nist(2)
		pinned := signing.Keyring{{Key: key.key, RevokedAt: day(1)}, {Name: "next", Key: other.key, NotBefore: day(9)}}
		opened, err := pinned.Open(payloadType, seal(t, key, other))
		if err != nil {
			t.Fatal(err)
		}
		err = opened.JudgeAt(day(3), day(3))
		believed(t, err, "revoked")
		believed(t, err, "key next ("+other.key.ID().String()+") is valid from 2026-03-09T12:00:00Z")
	})
	t.Run("NotByAKeyThatIsValidButDidNotSign", func(t *testing.T) {
		t.Parallel()
		opened, err := signing.Keyring{{Key: key.key, RevokedAt: day(1)}, {Key: nist(2).key}}.Open(payloadType, encoded)
		if err != nil {
			t.Fatal(err)
		}
		believed(t, opened.JudgeAt(day(3), day(3)), "revoked")
	})
}

// believed fails unless err is nil, or is a refusal that says so much where one is wanted.
func believed(t *testing.T, err error, refusal string) {
	t.Helper()
	if refusal == "" {
		if err != nil {
			t.Errorf("got %v, want it believed", err)
		}
		return
	}
	if err == nil || !errors.Is(err, signing.ErrUntrusted) || !fault.Is(err, fault.Corrupt) || !strings.Contains(err.Error(), refusal) {
		t.Errorf("got %v, want an untrusted document and %q", err, refusal)
	}
}
