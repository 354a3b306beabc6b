package runtimeapi

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"time"
)

// Lambda's limits: a request, a response and the account and region that a local function pretends to be in.
const (
	maxPayload  = 6 << 20
	maxResponse = 6<<20 + 100
	maxReport   = 1 << 20
	region      = "eu-central-1"
	account     = "000000000000"
)

// invocation is one call of the function.
type invocation struct {
	id       string
	payload  []byte
	deadline time.Time
	end      chan ending // holds the first end that was posted
}

type ending struct {
	reply []byte
	err   error
}

func newInvocation(payload []byte, deadline time.Time) *invocation {
	return &invocation{id: requestID(), payload: payload, deadline: deadline, end: make(chan ending, 1)}
}

func requestID() string {
	b := randomHex(16)
	return b[:8] + "-" + b[8:12] + "-" + b[12:16] + "-" + b[16:20] + "-" + b[20:]
}

func randomHex(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// api is the Runtime API, and of the Extensions API what a Go function needs that wants to see SIGTERM: it registers an
// extension that waits for ever.
func (i *instance) api(options Options) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", func(w http.ResponseWriter, r *http.Request) {
		i.serveNext(w, r, options)
	})
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/response", i.serveResponse)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/error", i.serveError)
	mux.HandleFunc("POST /2018-06-01/runtime/init/error", i.serveInitError)
	mux.HandleFunc("POST /2020-01-01/extension/register", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Lambda-Extension-Identifier", requestID())
		writeJSON(w, http.StatusOK, map[string]string{
			"functionName": options.Name, "functionVersion": "$LATEST", "handler": "bootstrap",
		})
	})
	mux.HandleFunc("GET /2020-01-01/extension/event/next", func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
	})
	return mux
}

// serveNext waits for an invocation. Asking is also how the process says that its start, or its last invocation, is over.
func (i *instance) serveNext(w http.ResponseWriter, r *http.Request, options Options) {
	i.readyOnce.Do(func() { close(i.ready) })
	select {
	case call := <-i.work:
		i.mu.Lock()
		i.current = call
		i.mu.Unlock()
		h := w.Header()
		h.Set("Content-Type", "application/json")
		h.Set("Lambda-Runtime-Aws-Request-Id", call.id)
		h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(call.deadline.UnixMilli(), 10))
		h.Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:"+region+":"+account+":function:"+options.Name)
		h.Set("Lambda-Runtime-Trace-Id", "Root=1-"+strconv.FormatInt(time.Now().Unix(), 16)+"-"+randomHex(12)+
			";Parent="+randomHex(8)+";Sampled=0")
		_, _ = w.Write(call.payload) // a process that is gone is noticed by its death
	case <-r.Context().Done():
	}
}

// take ends the claim of the current invocation on a reply, if id is its id.
func (i *instance) take(w http.ResponseWriter, id string) (*invocation, bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	call := i.current
	if call == nil || call.id != id {
		writeJSON(w, http.StatusBadRequest, report("InvalidRequestID", "there is no invocation "+id+" in progress"))
		return nil, false
	}
	i.current = nil
	return call, true
}

func (i *instance) serveResponse(w http.ResponseWriter, r *http.Request) {
	body, err := readLimited(r, maxResponse)
	if err != nil {
		return // the process broke off: it did not reply
	}
	call, ok := i.take(w, r.PathValue("id"))
	if !ok {
		return
	}
	switch {
	case len(body) > maxResponse:
		failure := report("Function.ResponseSizeTooLarge", "the response is above "+strconv.Itoa(maxResponse)+" bytes")
		call.end <- ending{err: failure}
		writeJSON(w, http.StatusRequestEntityTooLarge, failure)
		return
	case r.Trailer.Get("Lambda-Runtime-Function-Error-Type") != "":
		call.end <- ending{err: report(r.Trailer.Get("Lambda-Runtime-Function-Error-Type"), "the response broke off")}
	case i.onPost != nil && i.onPost(call.id, body):
		call.end <- ending{err: ErrReplyDropped}
	default:
		call.end <- ending{reply: body}
	}
	writeJSON(w, http.StatusAccepted, map[string]string{"status": "OK"})
}

func (i *instance) serveError(w http.ResponseWriter, r *http.Request) {
	failure, ok := readReport(r)
	if !ok {
		return
	}
	call, ok := i.take(w, r.PathValue("id"))
	if !ok {
		return
	}
	call.end <- ending{err: failure}
	writeJSON(w, http.StatusAccepted, map[string]string{"status": "OK"})
}

func (i *instance) serveInitError(w http.ResponseWriter, r *http.Request) {
	failure, ok := readReport(r)
	if !ok {
		return
	}
	select {
	case i.initFailed <- failure:
	default: // the first one counts
	}
	writeJSON(w, http.StatusAccepted, map[string]string{"status": "OK"})
}

// readReport reads a posted error, unless the process broke off. One that is no JSON is still an error; its text is then
// the message.
func readReport(r *http.Request) (*FunctionError, bool) {
	body, err := readLimited(r, maxReport)
	failure := &FunctionError{Type: "Unhandled"}
	if json.Unmarshal(body, failure) != nil {
		failure.Message = string(body)
	}
	return failure, err == nil
}

// readLimited keeps at most one byte more than limit of a request and reads the rest away, so that the process sees the
// status of the answer and not a broken connection.
func readLimited(r *http.Request, limit int64) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(io.Discard, r.Body)
	return body, err
}

func report(kind, message string) *FunctionError { return &FunctionError{Type: kind, Message: message} }

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // a process that is gone is noticed by its death
}
