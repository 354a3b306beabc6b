package runtimeapi

import (
	"io"
	"sync"
)

// sharedWriter serialises what the processes of a Function, one after the other and at their seams two at once, write.
type sharedWriter struct {
	mu     sync.Mutex
	target io.Writer
}

func (w *sharedWriter) write(p []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, _ = w.target.Write(p) // a full disk of the reader must not change what the function does
}

const tailBytes = 2048

// tailWriter passes a process's output on and remembers its end, which says why a process died: a Go function reports a
// failed start on standard error alone.
type tailWriter struct {
	shared *sharedWriter

	mu   sync.Mutex
	kept []byte
}

// Write takes everything, always.
func (w *tailWriter) Write(p []byte) (int, error) {
	w.shared.write(p)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kept = append(w.kept, p...)
	if extra := len(w.kept) - tailBytes; extra > 0 {
		w.kept = append(w.kept[:0], w.kept[extra:]...)
	}
	return len(p), nil
}

func (w *tailWriter) tail() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.kept)
}
