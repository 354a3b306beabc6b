package verify

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zeebo/xxh3"

	"tidemark/shared/fault"
)

// Share is a part of a manifest's objects, in millionths.
type Share int64

// All is all of them.
const All Share = 1_000_000

const percent = All / 100

// ParseShare reads a share as people write it: 5% or 0.25%. Errors: fault.Misconfigured.
func ParseShare(text string) (Share, error) {
	const digits = 4
	number, isPercent := strings.CutSuffix(strings.TrimSpace(text), "%")
	whole, fraction, _ := strings.Cut(number, ".")
	if len(fraction) > digits {
		fraction = "none" // more than a share can say
	}
	n, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", max(0, digits-len(fraction))), 10, 64)
	if s := Share(n); err == nil && isPercent && whole != "" && !strings.ContainsAny(number, "+-") && s > 0 && s <= All {
		return s, nil
	}
	return 0, fault.New(fault.Misconfigured, "%.40q is no share: want as in 5%% or 0.25%%, above 0 and at most 100%%", text)
}

// String is the share as ParseShare reads it.
func (s Share) String() string {
	text := fmt.Sprintf("%d.%04d", s/percent, s%percent)
	return strings.TrimRight(strings.TrimRight(text, "0"), ".") + "%"
}

// Of is that share of so many, rounded up.
func (s Share) Of(n int) int { return int((int64(n)*int64(s) + int64(All) - 1) / int64(All)) }

// choose marks the objects whose bytes are read: the share of them, the body among them. Which ones hangs on the seed and on
// their digests alone, so whoever has the report can read the same ones again.
func choose(objects []*object, share Share, seed uint64) {
	of := binary.BigEndian.AppendUint64(nil, seed)
	rank := func(o *object) uint64 { return xxh3.Hash(append(of[:8:8], o.Digest...)) }
	order := slices.Clone(objects[1:])
	slices.SortStableFunc(order, func(a, b *object) int { return cmp.Compare(rank(a), rank(b)) })
	for _, o := range append(objects[:1:1], order...)[:share.Of(len(objects))] {
		o.read = true
	}
}
