// Package layout owns where each document of an archive stands: its key, relative to the archive's prefix.
//
// Keys hold only [a-z0-9/_.-], never the name of a table, and their numbers are padded so that keys sort as numbers do.
// Reading a key is the exact inverse of making it; whatever else stands under a prefix was not written by Tidemark and is
// nobody's. No I/O, no state.
package layout

import (
	"fmt"
	"strconv"
	"strings"

	"tidemark/shared/manifest"
	"tidemark/shared/position"
)

// Owner says whose archive this is.
const Owner = "owner.json"

// The folders.
const (
	Objects   = "objects/"
	Lineages  = "lineages/"
	Runs      = "runs/"
	Manifests = "manifests/"
	Sweeps    = "sweeps/"
	Revoked   = "revoked/"
	Keeps     = "keeps/"
)

const (
	document = ".json"
	end      = ".end.json"
)

// Object is the key of stored bytes.
func Object(digest manifest.Digest) string {
	return Objects + string(digest[:2]) + "/" + string(digest)
}

// ParseObject reads an object's key.
func ParseObject(key string) (manifest.Digest, bool) {
	digest := manifest.Digest(key[strings.LastIndexByte(key, '/')+1:])
	return digest, digest.Validate() == nil && key == Object(digest)
}

// Lineage is the key of a life's record.
func Lineage(lineage position.Lineage) string {
	return fmt.Sprintf("%s%010d%s", Lineages, lineage, document)
}

// ParseLineage reads the key of a life's record.
func ParseLineage(key string) (lineage position.Lineage, ok bool) {
	number, ok := numberIn(key, Lineages, document)
	lineage = position.Lineage(number)
	return lineage, ok && lineage.Validate() == nil && key == Lineage(lineage)
}

// Run is the key of a run's record.
func Run(lineage position.Lineage, run manifest.RunID) string {
	return fmt.Sprintf("%s%010d/%s%s", Runs, lineage, run, document)
}

// End is the key of what says how a run or a sweep ended, from the key of what says that it began.
func End(begun string) string { return strings.TrimSuffix(begun, document) + end }

// ParseRun reads the key of a run's record or of its end.
func ParseRun(key string) (lineage position.Lineage, run manifest.RunID, ended, ok bool) {
	folder, name, _ := strings.Cut(strings.TrimPrefix(key, Runs), "/")
	lineage = parseLineage(folder)
	text, ended := strings.CutSuffix(name, end)
	run = manifest.RunID(strings.TrimSuffix(text, document))
	ok = lineage.Validate() == nil && run.Validate() == nil && (key == Run(lineage, run) || key == End(Run(lineage, run)))
	return lineage, run, ended, ok
}

// ID names a manifest: which life, which of its backups, which try.
type ID struct {
	Lineage position.Lineage
	Seq     int64
	Run     manifest.RunID
}

// Manifest is the key of a signed statement.
func Manifest(id ID) string {
	return fmt.Sprintf("%s%010d/%020d-%s%s", Manifests, id.Lineage, id.Seq, id.Run, document)
}

// ParseManifest reads the key of a signed statement.
func ParseManifest(key string) (id ID, ok bool) {
	folder, name, _ := strings.Cut(strings.TrimPrefix(key, Manifests), "/")
	seq, run, _ := strings.Cut(name, "-")
	id = ID{Lineage: parseLineage(folder), Run: manifest.RunID(strings.TrimSuffix(run, document))}
	id.Seq, _ = parseNumber(seq)
	return id, id.Lineage.Validate() == nil && id.Seq > 0 && id.Run.Validate() == nil && key == Manifest(id)
}

// String prints the id for a person.
func (id ID) String() string { return fmt.Sprintf("%s/%d-%s", id.Lineage, id.Seq, id.Run) }

// Before says whether id is older than other: an earlier life, or an earlier backup of the same life.
func (id ID) Before(other ID) bool {
	if id.Lineage != other.Lineage {
		return id.Lineage.Before(other.Lineage)
	}
	return id.Seq < other.Seq
}

// Sweep is the key of a sweep's intention.
func Sweep(n int64) string { return fmt.Sprintf("%s%010d%s", Sweeps, n, document) }

// ParseSweep reads the key of a sweep's intention or of its end.
func ParseSweep(key string) (n int64, ended, ok bool) {
	if n, ok = numberIn(key, Sweeps, end); ok && key == End(Sweep(n)) {
		return n, true, true
	}
	n, ok = numberIn(key, Sweeps, document)
	return n, false, ok && key == Sweep(n)
}

// Revocation is the key of the document that withdraws a manifest.
func Revocation(run manifest.RunID) string { return Revoked + string(run) + document }

// Keep is the key of the nth mark that keeps a manifest, or lets it go again.
func Keep(run manifest.RunID, n int64) string {
	return fmt.Sprintf("%s%s/%010d%s", Keeps, run, n, document)
}

// ParseMark reads the key of a revocation or of a mark that keeps, which has a number.
func ParseMark(key string) (run manifest.RunID, n int64, ok bool) {
	run = manifest.RunID(strings.TrimSuffix(strings.TrimPrefix(key, Revoked), document))
	if run.Validate() == nil && key == Revocation(run) {
		return run, 0, true
	}
	folder, _, _ := strings.Cut(strings.TrimPrefix(key, Keeps), "/")
	run = manifest.RunID(folder)
	n, ok = numberIn(key, Keeps+folder+"/", document)
	return run, n, ok && run.Validate() == nil && key == Keep(run, n)
}

// numberIn reads a number of ten digits. One of more could be the largest that there is, and nobody could go on from it.
func numberIn(key, prefix, suffix string) (int64, bool) {
	rest, begins := strings.CutPrefix(key, prefix)
	digits, ends := strings.CutSuffix(rest, suffix)
	if !begins || !ends || len(digits) != 10 {
		return 0, false
	}
	return parseNumber(digits)
}

func parseNumber(digits string) (int64, bool) {
	number, err := strconv.ParseInt(digits, 10, 64)
	return number, err == nil && number >= 0
}

func parseLineage(digits string) position.Lineage {
	number, _ := parseNumber(digits) // 0 is no lineage
	return position.Lineage(number)
}
