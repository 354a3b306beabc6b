package harness

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// frame is one message of the protocol as it was on the wire. The messages that open a connection have no kind.
type frame struct {
	kind byte
	raw  []byte // with its header
	body []byte // the part of raw behind the header
}

const (
	lengthBytes = 4
	headerBytes = 1 + lengthBytes
	maxFrame    = 64 << 20
)

// The first message of a connection names one of these in place of a protocol version when it is a request of its own.
const (
	codeCancel = 1234<<16 | 5678
	codeSSL    = 1234<<16 | 5679
	codeGSS    = 1234<<16 | 5680
)

func readFrame(from io.Reader) (frame, error) {
	header := make([]byte, headerBytes)
	if _, err := io.ReadFull(from, header); err != nil {
		return frame{}, err
	}
	raw, err := readRest(from, header, header[1:])
	return frame{kind: header[0], raw: raw, body: raw[min(len(raw), headerBytes):]}, err
}

// readOpening reads a message without a kind, as connections begin with, and the code in it.
func readOpening(from io.Reader) (opening frame, code uint32, err error) {
	header := make([]byte, lengthBytes)
	if _, err := io.ReadFull(from, header); err != nil {
		return frame{}, 0, err
	}
	raw, err := readRest(from, header, header)
	if err != nil {
		return frame{}, 0, err
	}
	body := raw[lengthBytes:]
	if len(body) < lengthBytes {
		return frame{}, 0, fmt.Errorf("an opening message of %d bytes", len(raw))
	}
	return frame{raw: raw, body: body}, binary.BigEndian.Uint32(body), nil
}

// readRest reads what a header announces; length is the part of it that counts itself and the rest.
func readRest(from io.Reader, header, length []byte) ([]byte, error) {
	size := int64(binary.BigEndian.Uint32(length)) - lengthBytes
	if size < 0 || size > maxFrame {
		return nil, fmt.Errorf("a message of %d bytes", size)
	}
	raw := append(make([]byte, 0, int64(len(header))+size), header...)
	raw = raw[:cap(raw)]
	_, err := io.ReadFull(from, raw[len(header):])
	return raw, err
}

// texts cuts n texts that end with a zero off the front of a body.
func (f frame) texts(n int) []string {
	out := make([]string, n)
	rest := f.body
	for i := range out {
		text, after, _ := bytes.Cut(rest, []byte{0})
		out[i], rest = string(text), after
	}
	return out
}

// askForAnswers is a Flush: the server sends the answers that it still holds back.
func askForAnswers() frame { return frame{kind: 'H', raw: []byte{'H', 0, 0, 0, lengthBytes}} }

// endOfTrip is a Sync: the server has all of a round trip and turns to the next.
func endOfTrip() frame { return frame{kind: 'S', raw: []byte{'S', 0, 0, 0, lengthBytes}} }
