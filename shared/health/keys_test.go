package health_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"tidemark/shared/archive/writer/writertest"
	"tidemark/shared/fault"
	"tidemark/shared/health"
	"tidemark/shared/signing"
)

// mute is a key whose service is away.
type mute struct{ signing.Signer }

func (mute) Sign(context.Context, []byte) ([]byte, error) {
	return nil, fault.New(fault.Retryable, "away").WithHint("wait")
}

func TestKeys(t *testing.T) {
	t.Parallel()
	w := writertest.New(t)
	ours, other := writertest.NewKey(t, 1), writertest.NewKey(t, 2)
	now := w.Now()
	for name, c := range map[string]struct {
		trusted signing.Keyring
		signers []signing.Signer
		check   string
		verdict health.Verdict
		part    string
	}{
		"AreBelieved":          {signing.Keyring{{Name: "desk", Key: ours.Key()}}, []signing.Signer{ours}, "signing", health.Fine, "desk"},
		"AreAStrangers":        {signing.Keyring{{Key: other.Key()}}, []signing.Signer{ours}, "signing", health.Failed, "nobody would believe it"},
		"AreOver":              {signing.Keyring{{Key: ours.Key(), NotAfter: now.Add(-time.Hour)}}, []signing.Signer{ours}, "signing", health.Failed, "window"},
		"WereRevoked":          {signing.Keyring{{Key: ours.Key(), RevokedAt: now}}, []signing.Signer{ours}, "signing", health.Failed, "nobody would believe it"},
		"DoNotAnswer":          {signing.Keyring{{Key: ours.Key()}}, []signing.Signer{mute{ours}}, "signing", health.Failed, "wait"},
		"AreNone":              {signing.Keyring{{Key: ours.Key()}}, nil, "signing", health.Doubtful, "TIDEMARK_SIGNING_KEYS"},
		"EndSoon":              {signing.Keyring{{Name: "desk", Key: ours.Key(), NotAfter: now.Add(24 * time.Hour)}}, []signing.Signer{ours}, "window", health.Doubtful, "desk"},
		"EndSoonForAReader":    {signing.Keyring{{Key: ours.Key(), NotAfter: now.Add(24 * time.Hour)}}, nil, "window", health.Doubtful, "tidemark keys generate"},
		"EndInTheFarFuture":    {signing.Keyring{{Key: ours.Key(), NotAfter: now.Add(90 * 24 * time.Hour)}}, []signing.Signer{ours}, "window", health.Fine, ""},
		"EndAndSignedElswhere": {signing.Keyring{{Key: ours.Key()}, {Key: other.Key(), NotAfter: now.Add(time.Hour)}}, []signing.Signer{ours}, "window", health.Fine, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := health.Keys{Trusted: c.trusted, Signers: c.signers, Now: w.Now}.Examine(t.Context())
			if c.check == "window" && c.verdict == health.Fine {
				silent(t, found, "window")
				return
			}
			f := expect(t, found, c.check, c.verdict, c.part)
			if name == "AreAStrangers" && !errors.Is(f.Err, signing.ErrUntrusted) {
				t.Errorf("got %v", f.Err)
			}
		})
	}
}
