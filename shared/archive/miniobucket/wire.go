package miniobucket

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// dateKey is where a call's context keeps the place for the answer's date.
type dateKey struct{}

// wire sees each answer before the client does.
type wire struct{ inner http.RoundTripper }

const (
	codeHeader  = "X-Minio-Error-Code" // the client believes it more than the answer's body
	unknownCode = "unknown"

	// maxLook is the longest body that is looked at: the reason of a refusal, or a page of 1,000 names of 1,024 bytes, each
	// of which may be three times as long in a URL, and what stands around them.
	maxLook = 16 << 20
)

// RoundTrip keeps the date of an answer for who asks for it, and stops what the client would misread.
func (w *wire) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := w.inner.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if date, ok := request.Context().Value(dateKey{}).(*string); ok {
		*date = answer.Header.Get("Date")
	}
	switch {
	case answer.StatusCode >= http.StatusMultipleChoices:
		err = nameReason(request.Method, answer)
	case request.URL.Query().Has("list-type"):
		err = checkPage(answer)
	}
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// nameReason sets the code of a refusal to the one in its body, or to unknown. The client takes a bare 404, which a proxy may
// have sent, for a missing object.
func nameReason(method string, answer *http.Response) error {
	if method == http.MethodHead || answer.Header.Get(codeHeader) != "" {
		return nil // s3api asks why a HEAD was refused
	}
	body, err := look(answer)
	if err != nil {
		return err
	}
	var reason struct {
		XMLName xml.Name `xml:"Error"`
		Code    string   `xml:"Code"`
	}
	if xml.Unmarshal(body, &reason) != nil || reason.Code == "" {
		reason.Code = unknownCode
	}
	answer.Header.Set(codeHeader, reason.Code)
	return nil
}

// checkPage refuses an answer to a listing that is none: the client takes any XML for a page without objects.
func checkPage(answer *http.Response) error {
	body, err := look(answer)
	if err != nil {
		return err
	}
	var page struct {
		XMLName xml.Name `xml:"ListBucketResult"`
		Name    string   `xml:"Name"`
	}
	if err := xml.Unmarshal(body, &page); err != nil {
		return fmt.Errorf("read the answer to a listing: %w", err)
	}
	if page.Name == "" {
		return errors.New("the answer to a listing names no bucket")
	}
	return nil
}

// look reads the body of an answer and puts it back.
func look(answer *http.Response) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxLook))
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return nil, err
	}
	answer.Body = io.NopCloser(bytes.NewReader(body))
	return body, nil
}
