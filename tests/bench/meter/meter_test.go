package meter

import (
	"os"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	t.Parallel()
	t.Run("ReadsBehindTheName", func(t *testing.T) {
		t.Parallel()
		got, err := parseStat("42 (a) b (c)) S 7 8 9 0 -1 4194560 1 2 3 4 100 20 3 4 20 0 1 0 5 6 7\n")
		if want := (stat{pid: 42, parent: 7, own: 120, ended: 7}); err != nil || got != want {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	})
	for name, text := range map[string]string{
		"Empty": "", "NoName": "42 S 7", "Cut": "42 (a) S 7 8 9 0 -1 4194560 1 2 3 4 100 20 3",
		"NoNumber": "x (a) S 7 8 9 0 -1 1 1 2 3 4 100 20 3 4",
	} {
		t.Run("Refuses"+name, func(t *testing.T) {
			t.Parallel()
			if got, err := parseStat(text); err == nil {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestReading(t *testing.T) {
	t.Parallel()
	begun, err := Begin(0)
	if err != nil {
		t.Fatal(err)
	}
	var kept [][]byte
	for range 1000 {
		kept = append(kept, make([]byte, 1000))
	}
	got, err := begun.End(len(kept))
	if err != nil || got.Rate <= 0 || got.Allocations < 1 || got.Bytes < 1000 || got.ClientCPU < 0 || got.ServerCPU != 0 {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestProc is about what only some systems tell; on others nothing is told and nothing fails.
func TestProc(t *testing.T) {
	t.Parallel()
	peak, err := PeakResident(os.Getpid())
	if err != nil || (peak > 1) != HasProc() {
		t.Errorf("peak %v MB, %v, with /proc: %v", peak, err, HasProc())
	}
	if !HasProc() {
		return
	}
	if parent, err := Parent(os.Getpid()); err != nil || parent != os.Getppid() {
		t.Errorf("parent %d, %v, want %d", parent, err, os.Getppid())
	}
	if spent, err := familyCPU(os.Getppid()); err != nil || spent < 0 || spent%time.Millisecond != 0 {
		t.Errorf("family's CPU %s, %v", spent, err)
	}
}
