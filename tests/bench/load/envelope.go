package load

import "strconv"

// The operations, as an envelope names them.
const (
	opCreate = "c"
	opUpdate = "u"
	opDelete = "d"
)

func appendKey(to []byte, id int64) []byte {
	return append(strconv.AppendInt(append(to, `{"id":`...), id, 10), '}')
}

// appendEnvelope appends the value of a record as the connector writes it without a schema, under the default replica
// identity: no row before an update, and before a delete one that holds the key alone.
func appendEnvelope(to []byte, op string, row Row, sequence int64) []byte {
	if op == opDelete {
		to = strconv.AppendInt(append(to, `{"before":{"id":`...), row.ID, 10)
		to = append(to, `,"n":null,"amount":null,"name":null,"status":null,"note":null,"at":null},"after":null`...)
	} else {
		to = row.AppendJSON(append(to, `{"before":null,"after":`...))
	}
	to = append(to, `,"source":{"version":"3.6.1.Final","connector":"postgresql","name":"bench","ts_ms":`...)
	to = appendTimes(to)
	to = append(to, `,"snapshot":"false","db":"shop","sequence":"[\"`...)
	lsn := firstLSN + sequence*lsnStep
	to = strconv.AppendInt(to, lsn, 10)
	to = strconv.AppendInt(append(to, `\",\"`...), lsn, 10)
	to = append(to, `\"]","schema":"`+Schema+`","table":"`+Table+`","txId":`...)
	to = strconv.AppendInt(to, firstTransaction+sequence, 10)
	to = strconv.AppendInt(append(to, `,"lsn":`...), lsn, 10)
	to = append(to, `,"xmin":null,"origin":null,"origin_lsn":null},"transaction":null,"op":"`...)
	to = append(append(to, op...), `","ts_ms":`...)
	return append(appendTimes(to), '}')
}

const (
	firstLSN         = 1_207_959_552_000
	lsnStep          = 296
	firstTransaction = 48_772_001
)

// appendTimes appends the same time in milliseconds, microseconds and nanoseconds. The first name is there already.
func appendTimes(to []byte) []byte {
	to = strconv.AppendInt(to, firstTime*1_000, 10)
	to = strconv.AppendInt(append(to, `,"ts_us":`...), firstTime*1_000_000, 10)
	return strconv.AppendInt(append(to, `,"ts_ns":`...), firstTime*1_000_000_000, 10)
}
