package signing_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"

	"tidemark/shared/fault"
	"tidemark/shared/signing"
)

func TestKeyring(t *testing.T) {
	t.Parallel()
	old, next, stranger := edwards(1), nist(2), edwards(3)
	t.Run("OpensWhatOnePinnedKeySigned", func(t *testing.T) {
		t.Parallel()
		for _, s := range []signer{old, next} {
			encoded := seal(t, s)
			opens(t, ring(s), encoded)
			opens(t, ring(old, next), encoded)
			refused(t, ring(stranger), encoded, true)
			refused(t, nil, encoded, true)
		}
	})
	t.Run("OpensBeforeWhileAndAfterARotation", func(t *testing.T) {
		t.Parallel()
		both := seal(t, old, next)
		for _, pinned := range []signing.Keyring{ring(old), ring(old, next), ring(next)} {
			opens(t, pinned, both)
		}
		refused(t, ring(next), seal(t, old), true)
		refused(t, ring(old), seal(t, next), true)
	})
	t.Run("IgnoresUnknownKeys", func(t *testing.T) {
		t.Parallel()
		opens(t, ring(old), seal(t, stranger, old))
		opens(t, ring(old), change(t, seal(t, old, stranger), func(e *dsse.Envelope) { e.Signatures[1].Sig = "?" }))
		opens(t, ring(old), change(t, seal(t, stranger, old), func(e *dsse.Envelope) { e.Signatures[0].KeyID = "" }))
	})
	t.Run("RefusesABadSignatureOfAPinnedKeyBesideAGoodOne", func(t *testing.T) {
		t.Parallel()
		for bad := range 2 {
			encoded := change(t, seal(t, old, next), func(e *dsse.Envelope) {
				e.Signatures[bad].Sig = damage(t, e.Signatures[bad].Sig)
			})
			refused(t, ring(old, next), encoded, true)
			opens(t, ring([]signer{old, next}[1-bad]), encoded)
		}
	})
	t.Run("RefusesASignatureUnderAnotherKeysID", func(t *testing.T) {
		t.Parallel()
		refused(t, ring(old, next), change(t, seal(t, old, next), func(e *dsse.Envelope) {
			e.Signatures[0].KeyID, e.Signatures[1].KeyID = e.Signatures[1].KeyID, e.Signatures[0].KeyID
		}), true)
		refused(t, ring(old, edwards(4)), change(t, seal(t, old), func(e *dsse.Envelope) {
			e.Signatures[0].KeyID = edwards(4).key.ID().String()
		}), true)
	})
	t.Run("RefusesAHintThatIsNotExact", func(t *testing.T) {
		t.Parallel()
		for _, id := range []string{"", strings.ToUpper(old.key.ID().String()), old.key.ID().String() + " "} {
			refused(t, ring(old), change(t, seal(t, old), func(e *dsse.Envelope) { e.Signatures[0].KeyID = id }), true)
		}
	})
	t.Run("TakesTwoGoodSignaturesOfOneKeyAndNoBadOne", func(t *testing.T) {
		t.Parallel()
		first, second := seal(t, next), seal(t, next)
		twice := change(t, first, func(e *dsse.Envelope) {
			_ = change(t, second, func(other *dsse.Envelope) { e.Signatures = append(e.Signatures, other.Signatures...) })
		})
		opens(t, ring(next), twice)
		for i := range 2 {
			refused(t, ring(next), change(t, twice, func(e *dsse.Envelope) {
				e.Signatures[i].Sig = damage(t, e.Signatures[i].Sig)
			}), true)
		}
	})
	t.Run("RefusesAnotherTypeOfPayload", func(t *testing.T) {
		t.Parallel()
		const other = "application/vnd.tidemark.other.v1+json"
		encoded, err := signing.Seal(t.Context(), other, []byte(payload), old)
		if err != nil {
			t.Fatal(err)
		}
		refused(t, ring(old), encoded, true)
		refused(t, ring(old), change(t, encoded, func(e *dsse.Envelope) { e.PayloadType = payloadType }), true)
		refused(t, ring(old), change(t, seal(t, old), func(e *dsse.Envelope) { e.PayloadType = "" }), true)
	})
	t.Run("RefusesAShiftedBoundaryOfTypeAndPayload", func(t *testing.T) {
		t.Parallel()
		encoded, err := signing.Seal(t.Context(), payloadType+" 1 ", []byte(payload), old)
		if err != nil {
			t.Fatal(err)
		}
		refused(t, ring(old), change(t, encoded, func(e *dsse.Envelope) { e.PayloadType = payloadType }), true)
	})
	t.Run("RefusesAnotherPayload", func(t *testing.T) {
		t.Parallel()
		for _, other := range []string{"", "e30=", "eyJzZXEiOiI4In0="} {
			refused(t, ring(old), change(t, seal(t, old), func(e *dsse.Envelope) { e.Payload = other }), true)
		}
	})
	t.Run("RefusesTheZeroKey", func(t *testing.T) {
		t.Parallel()
		refused(t, signing.Keyring{{}}, change(t, seal(t, old), func(e *dsse.Envelope) { e.Signatures[0] = dsse.Signature{} }), true)
	})
	t.Run("BoundsSignatures", func(t *testing.T) {
		t.Parallel()
		times := func(count int) []byte {
			return change(t, seal(t, old), func(e *dsse.Envelope) {
				for range count - 1 {
					e.Signatures = append(e.Signatures, e.Signatures[0])
				}
			})
		}
		opens(t, ring(old), times(16))
		refused(t, ring(old), times(17), true)
		refused(t, ring(old), change(t, seal(t, old), func(e *dsse.Envelope) { e.Signatures = []dsse.Signature{} }), true)
		refused(t, ring(old), change(t, seal(t, old), func(e *dsse.Envelope) { e.Signatures = nil }), true)
	})
}

// TestEnvelope: bytes that are no envelope as Seal writes it are refused before any key is asked.
func TestEnvelope(t *testing.T) {
	t.Parallel()
	key := edwards(1)
	good := string(seal(t, key))
	replaced := func(before, after string) string {
		changed := strings.Replace(good, before, after, 1)
		if changed == good {
			t.Fatalf("%s is not in %s", before, good)
		}
		return changed
	}
	for name, encoded := range map[string]string{
		"RefusesNothing":                   "",
		"RefusesAnotherDocument":           `[]`,
		"RefusesTextBehind":                good + "{}",
		"RefusesAZeroByteBehind":           good + "\x00",
		"RefusesAMemberTwice":              replaced(`{`, `{"payloadType":"x",`),
		"RefusesAnEqualMemberTwice":        replaced(`{`, fmt.Sprintf(`{"payloadType":%q,`, payloadType)),
		"RefusesAMemberOfASignatureTwice":  replaced(`"keyid":`, `"keyid":"x","keyid":`),
		"RefusesAnEscapedMemberTwice":      replaced(`{`, `{"payl\u006fad":"",`),
		"RefusesAnUnknownMember":           replaced(`{`, `{"x":1,`),
		"RefusesAnUnknownMemberOfASig":     replaced(`"keyid":`, `"cert":"","keyid":`),
		"RefusesAMemberInCapitals":         replaced(`"payloadType"`, `"PayloadType"`),
		"RefusesBytesThatAreNoText":        replaced(`{`, "{\"\xff\":1,"),
		"RefusesANumberAsPayload":          replaced(`"payload":"`, `"payload":1,"x":"`),
		"RefusesALineBreakInPayload":       replaced(`"payload":"`, `"payload":"\n`),
		"RefusesASpaceInPayload":           replaced(`"payload":"`, `"payload":" `),
		"RefusesPayloadWithoutPadding":     replaced(`="`, `"`),
		"RefusesPayloadWithMorePadding":    replaced(`="`, `=="`),
		"RefusesPayloadWithBitsInPadding":  replaced(`fQ==`, `fR==`),
		"RefusesPayloadInURLsAlphabet":     replaced(`"payload":"`, `"payload":"-___`),
		"RefusesManyBytesBeforeItReads":    strings.Repeat("{", signing.MaxEnvelope+1),
		"RefusesManySpacesBehindItsEnd":    good + strings.Repeat(" ", signing.MaxEnvelope),
		"RefusesDeepNestingInsideTheLimit": strings.Repeat("[", signing.MaxEnvelope),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused(t, ring(key), []byte(encoded), false)
		})
	}
	for name, encoded := range map[string]string{
		"RefusesNull":               "null",
		"RefusesNoMembers":          "{}",
		"RefusesNullAsSignatures":   good[:strings.Index(good, `"signatures"`)] + `"signatures":null}`,
		"RefusesALineBreakInASig":   replaced(`"sig":"`, `"sig":"\r\n`),
		"RefusesAnEmptySig":         good[:strings.Index(good, `"sig":"`)] + `"sig":""}]}`,
		"RefusesASigThatIsTooLong":  replaced(`"sig":"`, `"sig":"AAAA`),
		"RefusesASigWithoutPadding": replaced(`=="}]`, `"}]`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused(t, ring(key), []byte(encoded), true)
		})
	}
	t.Run("SaysOnlyALittleOfWhatAStrangerWrote", func(t *testing.T) {
		t.Parallel()
		for _, encoded := range []string{
			replaced(`{`, `{"`+strings.Repeat("x", 9000)+`":1,`), replaced(payloadType, strings.Repeat("x", 9000)),
		} {
			if _, err := ring(key).Open(payloadType, []byte(encoded)); err == nil || len(err.Error()) > 500 {
				t.Errorf("got %v", err)
			}
		}
	})
}

func TestSeal(t *testing.T) {
	t.Parallel()
	key := edwards(1)
	t.Run("RefusesSignersThatMakeNoEnvelope", func(t *testing.T) {
		t.Parallel()
		var many []signing.Signer
		for i := range 17 {
			many = append(many, edwards(byte(10+i)))
		}
		for _, signers := range [][]signing.Signer{nil, {key, edwards(1)}, many} {
			_, err := signing.Seal(t.Context(), payloadType, []byte(payload), signers...)
			if !fault.Is(err, fault.Misconfigured) || fault.HintOf(err) == "" {
				t.Errorf("%d signers: got %v of class %v, want misconfigured", len(signers), err, fault.ClassOf(err))
			}
		}
		if _, err := signing.Seal(t.Context(), payloadType, []byte(payload), many[:16]...); err != nil {
			t.Errorf("16 signers: %v", err)
		}
	})
	t.Run("RefusesAMessageThatAKeyServiceWouldNotSign", func(t *testing.T) {
		t.Parallel()
		header := len(dsse.PAE(payloadType, make([]byte, 1000))) - 1000
		for size, class := range map[int]fault.Class{
			signing.MaxMessage - header: fault.Unclassified, signing.MaxMessage - header + 1: fault.Bug,
		} {
			encoded, err := signing.Seal(t.Context(), payloadType, make([]byte, size), key, nist(2))
			if fault.ClassOf(err) != class || (encoded == nil) != (err != nil) {
				t.Errorf("%d bytes: got %v, want class %v", size, err, class)
			}
		}
	})
	t.Run("RefusesASignatureThatItsKeyRefuses", func(t *testing.T) {
		t.Parallel()
		liar := signer{key: key.key, sign: edwards(2).sign}
		if _, err := signing.Seal(t.Context(), payloadType, []byte(payload), liar); !fault.Is(err, fault.Bug) {
			t.Errorf("got %v, want a bug", err)
		}
	})
	t.Run("KeepsTheClassOfASignersError", func(t *testing.T) {
		t.Parallel()
		cause := fault.New(fault.Retryable, "away")
		away := signer{key: key.key, sign: func([]byte) ([]byte, error) { return nil, cause }}
		encoded, err := signing.Seal(t.Context(), payloadType, []byte(payload), nist(2), away)
		if !fault.Is(err, fault.Retryable) || !errors.Is(err, cause) || encoded != nil {
			t.Errorf("got %s, %v", encoded, err)
		}
	})
	t.Run("RefusesATypeThatIsNoText", func(t *testing.T) {
		t.Parallel()
		if _, err := signing.Seal(t.Context(), "\xff", []byte(payload), key); !fault.Is(err, fault.Bug) {
			t.Errorf("got %v, want a bug", err)
		}
	})
}
