package original

import (
	"encoding/hex"
	"io"
	"math/rand/v2"
	"strconv"
	"time"
)

// kind is one kind of table. Its rows are made as lines of COPY's text form, the same for the same seed.
type kind struct {
	name, columns, about string
	share                float64 // of the database
	rowBytes             int     // in COPY's binary form, about
	row                  func(to []byte, id int64, r *rand.Rand) []byte
}

// kinds are what the rows of a database look like: wide and narrow ones, documents, keys at random, times.
func kinds() []kind {
	return []kind{
		{
			"article", "id bigint PRIMARY KEY, title text, body text, language text, published timestamptz",
			"a text of 40 to 240 words", 0.28, 930, article,
		},
		{
			"event", "id bigint PRIMARY KEY, at timestamptz NOT NULL, kind text, payload jsonb NOT NULL",
			"a document of six members", 0.24, 235, event,
		},
		{
			"purchase", "id bigint PRIMARY KEY, customer bigint, status text, total numeric(12,2), placed timestamptz, " +
				"paid timestamptz, shipped timestamptz, delivered timestamptz, changed timestamptz",
			"five times, some of them null", 0.20, 118, purchase,
		},
		{
			"reading", "id bigint PRIMARY KEY, sensor int, value float8, low float8, high numeric(10,4), quality smallint",
			"narrow numbers", 0.14, 68, reading,
		},
		{
			"session", "id uuid PRIMARY KEY, account uuid, device text, address text, opened timestamptz, active boolean",
			"keys at random", 0.14, 112, session,
		},
	}
}

// rows is the rows of one table for COPY FROM.
type rows struct {
	kind   kind
	random *rand.Rand
	next   int64
	left   int64
	made   []byte // lines that were not read yet
	room   []byte
}

func newRows(k kind, seed uint64, n int64) *rows {
	const stream = 0x7469_6465
	random := rand.New(rand.NewPCG(seed, stream)) //nolint:gosec // the same rows in each run, no secret
	return &rows{kind: k, random: random, left: n}
}

// Read gives the next lines.
func (s *rows) Read(to []byte) (int, error) {
	if len(s.made) == 0 {
		const batch = 64 << 10
		s.made = s.room[:0]
		for s.left > 0 && len(s.made) < batch {
			s.next, s.left = s.next+1, s.left-1
			s.made = append(s.kind.row(s.made, s.next, s.random), '\n')
		}
		s.room = s.made
	}
	if len(s.made) == 0 {
		return 0, io.EOF
	}
	n := copy(to, s.made)
	s.made = s.made[n:]
	return n, nil
}

func article(to []byte, id int64, r *rand.Rand) []byte {
	to = append(strconv.AppendInt(to, id, 10), '\t')
	to = append(words(to, 4+r.IntN(6), r), '\t')
	to = append(words(to, 40+r.IntN(200), r), "\ten\t"...)
	return moment(to, id, r)
}

func event(to []byte, id int64, r *rand.Rand) []byte {
	to = append(moment(append(strconv.AppendInt(to, id, 10), '\t'), id, r), '\t')
	to = append(words(to, 1, r), "\t{\"request\": \""...)
	to = append(digits(to, 16, r), `", "path": "/`...)
	to = append(words(to, 2, r), `", "status": `...)
	to = append(strconv.AppendInt(to, 200+r.Int64N(300), 10), `, "took": `...)
	to = append(strconv.AppendFloat(to, float64(r.IntN(100_000))/100, 'f', -1, 64), `, "tags": ["`...)
	to = append(words(to, 1, r), `", "`...)
	to = append(words(to, 1, r), `"], "user": {"id": `...)
	return append(strconv.AppendInt(to, r.Int64N(1_000_000), 10), `, "active": true}}`...)
}

func purchase(to []byte, id int64, r *rand.Rand) []byte {
	to = append(strconv.AppendInt(to, id, 10), '\t')
	to = append(strconv.AppendInt(to, r.Int64N(1_000_000), 10), '\t')
	to = append(words(to, 1, r), '\t')
	to = strconv.AppendFloat(to, float64(r.IntN(1_000_000))/100, 'f', 2, 64)
	for step := range int64(5) {
		if to = append(to, '\t'); step > 0 && step < 4 && r.IntN(4) == 0 {
			to = append(to, `\N`...)
			continue
		}
		to = moment(to, id+step*1000, r)
	}
	return to
}

func reading(to []byte, id int64, r *rand.Rand) []byte {
	to = append(strconv.AppendInt(to, id, 10), '\t')
	to = append(strconv.AppendInt(to, r.Int64N(5000), 10), '\t')
	value := 20 + r.NormFloat64()
	to = append(strconv.AppendFloat(to, value, 'g', -1, 64), '\t')
	to = append(strconv.AppendFloat(to, value-r.Float64(), 'g', -1, 64), '\t')
	to = append(strconv.AppendFloat(to, value+r.Float64(), 'f', 4, 64), '\t')
	return strconv.AppendInt(to, r.Int64N(4), 10)
}

func session(to []byte, id int64, r *rand.Rand) []byte {
	to = append(digits(to, 16, r), '\t')
	to = append(digits(to, 16, r), '\t')
	to = append(append(words(to, 2, r), "\t10."...), strconv.Itoa(r.IntN(256))...)
	to = append(append(to, '.'), strconv.Itoa(r.IntN(256))...)
	return append(moment(append(to, '\t'), id, r), "\tt"...)
}

// digits appends so many random bytes in hexadecimal digits, which is also how a UUID may be written.
func digits(to []byte, bytes int, r *rand.Rand) []byte {
	for range bytes {
		to = hex.AppendEncode(to, []byte{byte(r.Uint32())}) //nolint:gosec // the lowest byte
	}
	return to
}

// words appends words, a few of which are frequent as in a language.
func words(to []byte, n int, r *rand.Rand) []byte {
	const syllables = "katorimesanuvelipodagehibufo"
	const count = len(syllables) / 2
	for i := range n {
		if i > 0 {
			to = append(to, ' ')
		}
		rank := int(float64(count*count*count) * r.Float64() * r.Float64() * r.Float64())
		for ; ; rank /= count {
			at := rank % count * 2
			if to = append(to, syllables[at:at+2]...); rank < count {
				break
			}
		}
	}
	return to
}

// moment appends a time some seconds behind that of the row before.
func moment(to []byte, id int64, r *rand.Rand) []byte {
	const first = 1_700_000_000
	at := time.Unix(first+id%100_000_000, r.Int64N(1_000_000)*int64(time.Microsecond)).UTC()
	return at.AppendFormat(to, "2006-01-02 15:04:05.999999+00")
}
