// Package meter owns how a stretch of work is measured: time, CPU of this process and of a server's, allocations, and
// the peak memory of a process.
//
// It reads the kernel's own accounts and judges nothing. What lies in /proc is not to be had on every system; there it
// answers 0, and HasProc says so.
package meter

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Sample is what a stretch of work took.
type Sample struct {
	Seconds              float64
	Rate                 float64 // records a second
	ClientCPU, ServerCPU float64 // seconds for a million records
	Allocations, Bytes   float64 // a record
}

// Reading notes where clock, CPU and allocations stand.
type Reading struct {
	server      int // the postmaster's process; 0 when its CPU is not known
	time        time.Time
	client      time.Duration
	family      time.Duration
	allocations uint64
	bytes       uint64
}

// Begin collects garbage, so that no stretch pays for another's, and starts to measure. server is the first process of
// a server, 0 for none.
func Begin(server int) (Reading, error) {
	runtime.GC()
	m := Reading{server: server}
	var err error
	if m.family, err = familyCPU(server); err != nil {
		return m, err
	}
	m.allocations, m.bytes = allocated()
	if m.client, err = ownCPU(); err != nil {
		return m, err
	}
	m.time = time.Now()
	return m, nil
}

// End says what n records took since Begin.
func (m Reading) End(n int) (Sample, error) {
	took := time.Since(m.time)
	client, err := ownCPU()
	if err != nil {
		return Sample{}, err
	}
	allocations, bytes := allocated()
	family, err := familyCPU(m.server)
	if err != nil {
		return Sample{}, err
	}
	count := float64(n)
	million := func(d time.Duration) float64 { return d.Seconds() / count * 1e6 }
	return Sample{
		Seconds: took.Seconds(), Rate: count / took.Seconds(), ClientCPU: million(client - m.client), ServerCPU: million(family - m.family),
		Allocations: float64(allocations-m.allocations) / count, Bytes: float64(bytes-m.bytes) / count,
	}, nil
}

func allocated() (allocations, bytes uint64) {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.Mallocs, stats.TotalAlloc
}

func ownCPU() (time.Duration, error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, fmt.Errorf("read own CPU: %w", err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), nil
}

// familyCPU is the CPU of a process and its children, also of those that have ended. Process 0 has none.
func familyCPU(pid int) (time.Duration, error) {
	if pid == 0 {
		return 0, nil
	}
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	var ticks int64
	for _, file := range files {
		text, err := os.ReadFile(file) //nolint:gosec // a process's own word
		if err != nil {
			continue // it has ended; its CPU is with its parent's children now
		}
		p, err := parseStat(string(text))
		switch {
		case err != nil:
			return 0, fmt.Errorf("read %s: %w", file, err)
		case p.pid == pid:
			ticks += p.own + p.ended
		case p.parent == pid:
			ticks += p.own
		}
	}
	return time.Duration(ticks) * tick, nil
}

// tick is the unit of /proc on every platform that Go runs on.
const tick = 10 * time.Millisecond

// stat is what /proc says of a process. own is its CPU, ended that of the children it has waited for.
type stat struct {
	pid, parent int
	own, ended  int64
}

// parseStat reads a stat file. The name in parentheses may hold anything, so what counts is behind its last one.
func parseStat(text string) (stat, error) {
	id, rest, found := strings.Cut(text, " (")
	fields := strings.Fields(rest[strings.LastIndexByte(rest, ')')+1:])
	const user, system, endedUser, endedSystem = 11, 12, 13, 14
	if !found || len(fields) <= endedSystem {
		return stat{}, fmt.Errorf("stat %.60q: too few fields", text)
	}
	numbers := make([]int64, 0, 6)
	for _, field := range []string{id, fields[1], fields[user], fields[system], fields[endedUser], fields[endedSystem]} {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return stat{}, fmt.Errorf("stat: %w", err)
		}
		numbers = append(numbers, n)
	}
	return stat{
		pid: int(numbers[0]), parent: int(numbers[1]), own: numbers[2] + numbers[3], ended: numbers[4] + numbers[5],
	}, nil
}

// PeakResident is the most memory that a living process had resident so far, in MB; 0 where the system has no /proc.
//
// What a parent is told of an ended child will not do: Linux counts into it what the parent had when it forked.
func PeakResident(pid int) (float64, error) {
	if !HasProc() {
		return 0, nil
	}
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return 0, fmt.Errorf("read peak memory: %w", err)
	}
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, []byte("VmHWM:")); ok {
			kilobytes, err := strconv.ParseFloat(strings.Fields(string(rest))[0], 64)
			return kilobytes * 1024 / 1e6, err
		}
	}
	return 0, fmt.Errorf("read peak memory: process %d has no VmHWM", pid)
}

// HasProc says whether the system tells of other processes.
func HasProc() bool {
	_, err := os.Stat("/proc/self/stat")
	return err == nil
}

// Parent is the process that made a process.
func Parent(pid int) (int, error) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, fmt.Errorf("find the parent of a process: %w", err)
	}
	of, err := parseStat(string(text))
	return of.parent, err
}
