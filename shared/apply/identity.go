package apply

import (
	"time"
	"unicode/utf8"

	"tidemark/shared/fault"
	"tidemark/shared/record"
)

// IdentityOptions say how a flow's producers name their events. Producers that are not idempotent put one event on the log
// twice, under two offsets; only a name of their own tells that it is one.
type IdentityOptions struct {
	// Header is the name of the header that holds the identity; "" means that the flow has none.
	Header string
	// Horizon is how long an identity is remembered. An older record cannot be judged any more and stops its partition.
	Horizon time.Duration
}

// MaxIdentityBytes is the longest identity that is taken.
const MaxIdentityBytes = 512

// identify returns the record's identity, "" for a flow without.
func (a *Applier) identify(rec *record.Record) (string, error) {
	options := a.options.Identity
	if options.Header == "" {
		return "", nil
	}
	value, ok := rec.Header(options.Header)
	name := value.Bytes()
	switch {
	case !ok || len(name) == 0:
		return "", fault.New(fault.Poison, "header %q, which holds the record's identity, is missing or empty", options.Header).
			WithHint("let the producer send it, or take the flow's identity out of the flow file")
	case len(name) > MaxIdentityBytes || !utf8.Valid(name) || hasZero(name):
		return "", fault.New(fault.Poison, "header %q is no identity: want 1 to %d bytes of text", options.Header, MaxIdentityBytes)
	case !rec.Time.IsZero() && rec.Time.Before(a.options.Now().Add(-options.Horizon)):
		return "", fault.New(fault.Misconfigured, "the record is older than %s, for how long identities are remembered",
			options.Horizon).
			WithHint("raise identity.horizon in the flow file above the age of the oldest record that can come")
	}
	return string(name), nil
}

func hasZero(text []byte) bool {
	for _, c := range text {
		if c == 0 {
			return true
		}
	}
	return false
}

// identities lists those of the pieces' records, each once.
func identities(pieces []piece) []string {
	var names []string
	seen := map[string]bool{}
	for _, p := range pieces {
		for i := range p.n {
			if name := p.run.decoded[i].identity; name != "" && !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	return names
}
