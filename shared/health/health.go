// Package health owns the questions that an operator asks before a backup is needed: does each bucket do what the archive
// counts on, are the keys believed, is what was backed up usable and fresh, can the whole database be read.
//
// It judges what the parts say of themselves and of each other, one finding a question, each with what to do about it. It
// refuses to mend anything, and writes only where that is harmless: the owner's record again, byte for byte, which changes
// nothing, and on demand one small object that nothing refers to, which the next sweep takes. A question that cannot be asked
// is a finding too, never silence. No state, no clock; values may be used by several goroutines.
package health

import (
	"context"
	"fmt"

	"tidemark/shared/fault"
)

// Verdict is how a question was answered.
type Verdict uint8

// The verdicts.
const (
	Fine     Verdict = iota
	Doubtful         // it works, and somebody should look
	Failed           // a backup or a recovery would fail, or could not be trusted
)

// String is how reports show it.
func (v Verdict) String() string {
	switch v {
	case Fine:
		return "ok"
	case Doubtful:
		return "warn"
	case Failed:
		return "FAIL"
	}
	return fmt.Sprintf("verdict(%d)", uint8(v))
}

// Finding is the answer to one question.
type Finding struct {
	About   string // what was looked at: a bucket, the keys, the backups, the database
	Check   string // the question
	Verdict Verdict
	Saw     string
	Fix     string // a command or a sentence; empty where there is nothing to do
	Err     error  // of a question that failed
}

// Examiner answers the questions about one thing. A reader that gives up halfway says so in its last finding.
type Examiner interface {
	Examine(ctx context.Context) []Finding
}

// Broken is the finding of a question that failed.
func Broken(about, check string, err error) Finding {
	fix := fault.HintOf(err)
	if fix == "" {
		fix = advice(fault.ClassOf(err))
	}
	return Finding{About: about, Check: check, Verdict: Failed, Saw: err.Error(), Fix: fix, Err: err}
}

// advice is what to do about an error that does not say it.
func advice(class fault.Class) string {
	switch class { //nolint:exhaustive // the others have one answer
	case fault.Retryable, fault.UnknownOutcome:
		return "try again; if it stays so, look at the way there and at the service itself"
	case fault.Corrupt:
		return "bring it back from the other bucket or from a copy, and find out who or what changed it"
	case fault.Misconfigured:
		return "correct the setting or the right that the message names"
	case fault.Fenced:
		return "find out which database lives on as this target before anything is written"
	}
	return "report it with this line"
}

// findings collects what is found about one thing.
type findings struct {
	about string
	list  []Finding
}

func (f *findings) fine(check, form string, args ...any) {
	f.list = append(f.list, Finding{About: f.about, Check: check, Saw: fmt.Sprintf(form, args...)})
}

func (f *findings) doubtful(check, saw, fix string) {
	f.list = append(f.list, Finding{About: f.about, Check: check, Verdict: Doubtful, Saw: saw, Fix: fix})
}

func (f *findings) failed(check string, err error) {
	f.list = append(f.list, Broken(f.about, check, err))
}
