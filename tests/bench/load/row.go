package load

import (
	"strconv"
	"time"
)

// Row is a row of the table. All other columns follow from these two.
type Row struct {
	ID int64
	N  int32
}

func (r Row) amount() float64 { return float64(r.N%100_000) / 100 }

func (r Row) status() string {
	if r.N%3 == 0 {
		return "open"
	}
	return "closed"
}

// firstTime is the time in the row of id 0, and of every record.
const firstTime = 1_700_000_000

// RecordTime is the time of every record of a stream.
func RecordTime() time.Time { return time.Unix(firstTime, 0).UTC() }

func (r Row) at() time.Time {
	return time.Unix(firstTime+r.ID%10_000_000, r.ID%1000*int64(time.Millisecond)).UTC()
}

const (
	nameDigits = 16
	noteDigits = 52
)

// appendDigits appends count hexadecimal digits that follow from the row.
func (r Row) appendDigits(to []byte, count int) []byte {
	const hex = "0123456789abcdef"
	bits := scramble(uint64(r.ID)<<20 + uint64(r.N)) //nolint:gosec // both are above 0
	for i := range count {
		to = append(to, hex[bits>>(i%nameDigits*4)&0xf])
	}
	return to
}

// AppendCopy appends the row as a line of COPY, just as the server prints it under UTC.
func (r Row) AppendCopy(to []byte) []byte {
	to = append(strconv.AppendInt(to, r.ID, 10), '\t')
	to = append(strconv.AppendInt(to, int64(r.N), 10), '\t')
	to = append(strconv.AppendFloat(to, r.amount(), 'f', -1, 64), "\tcustomer-"...)
	to = append(r.appendDigits(to, nameDigits), '\t')
	to = append(append(to, r.status()...), '\t')
	to = append(r.appendDigits(to, noteDigits), '\t')
	return append(r.at().AppendFormat(to, "2006-01-02 15:04:05.999999+00"), '\n')
}

// AppendJSON appends the row as an image in an envelope.
func (r Row) AppendJSON(to []byte) []byte {
	to = strconv.AppendInt(append(to, `{"id":`...), r.ID, 10)
	to = strconv.AppendInt(append(to, `,"n":`...), int64(r.N), 10)
	to = strconv.AppendFloat(append(to, `,"amount":`...), r.amount(), 'f', -1, 64)
	to = r.appendDigits(append(to, `,"name":"customer-`...), nameDigits)
	to = append(append(to, `","status":"`...), r.status()...)
	to = r.appendDigits(append(to, `","note":"`...), noteDigits)
	to = r.at().AppendFormat(append(to, `","at":"`...), "2006-01-02T15:04:05.000000Z")
	return append(to, `"}`...)
}
