package kafkaevent

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"tidemark/shared/position"
)

// The kinds of event source, as they stand in eventSource.
const (
	MSK         = "aws:kafka"
	SelfManaged = "SelfManagedKafka"

	// The service's samples show this form, its events the one above.
	selfManagedSample = "aws:SelfManagedKafka"
)

// Source is what an event says of where it comes from.
type Source struct {
	Kind             string // MSK or SelfManaged
	ARN              string // of the cluster; self-managed events have none
	BootstrapServers string // addresses, separated by commas
}

func accepts(kind string) bool {
	return kind == MSK || kind == SelfManaged || kind == selfManagedSample
}

// appendName appends the service's name of a partition, "orders-3".
func appendName(dst []byte, p position.Partition) []byte {
	dst = append(append(dst, p.Topic...), '-')
	return strconv.AppendInt(dst, int64(p.Number), 10)
}

// parseName reads what appendName writes and nothing else: the service compares the names of a reply as text, so a
// number such as 03 would come back as another name.
func parseName(text string) (position.Partition, bool) {
	hyphen := strings.LastIndexByte(text, '-')
	if hyphen < 0 {
		return position.Partition{}, false
	}
	number, ok := wholeNumber([]byte(text[hyphen+1:]), math.MaxInt32)
	p := position.Partition{Topic: text[:hyphen], Number: int32(number)} //nolint:gosec // at most MaxInt32
	if !ok || p.Validate() != nil || !bytes.Equal(appendName(nil, p), []byte(text)) {
		return position.Partition{}, false
	}
	return p, true
}

// maxOffset is the last offset that a position can follow.
const maxOffset = math.MaxInt64 - 1

// wholeNumber reads digits without a sign, fraction or exponent.
func wholeNumber(digits []byte, limit int64) (int64, bool) {
	number, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil || number > limit || digits[0] == '-' || digits[0] == '+' {
		return 0, false
	}
	return number, true
}
