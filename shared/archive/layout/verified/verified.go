// Package verified owns where the reports on manifests stand in an archive.
//
// A report's key holds the key of its manifest and its own id; ids that sort by time make the last key the newest report. What a
// report has no room for stands beside it. Reading a key is the exact inverse of making it, as in package layout. No I/O, no
// state.
package verified

import (
	"strings"

	"tidemark/shared/archive/layout"
	"tidemark/shared/manifest"
)

// Folder is the folder of the reports.
const Folder = "verified/"

const (
	document = ".json"
	detail   = ".detail.json"
)

// Report is the key of a signed report on a manifest.
func Report(id layout.ID, report manifest.RunID) string {
	return Folder + strings.TrimSuffix(strings.TrimPrefix(layout.Manifest(id), layout.Manifests), document) + "/" + report.String() + document
}

// Detail is the key of what a report has no room for, from the report's.
func Detail(report string) string { return strings.TrimSuffix(report, document) + detail }

// Parse reads the key of a report or of its detail.
func Parse(key string) (id layout.ID, report manifest.RunID, isDetail, ok bool) {
	at := strings.LastIndexByte(key, '/')
	if !strings.HasPrefix(key, Folder) || at < len(Folder) {
		return layout.ID{}, "", false, false
	}
	id, ok = layout.ParseManifest(layout.Manifests + key[len(Folder):at] + document)
	name, isDetail := strings.CutSuffix(key[at+1:], detail)
	report = manifest.RunID(strings.TrimSuffix(name, document))
	if !ok || report.Validate() != nil {
		return layout.ID{}, "", false, false
	}
	own := Report(id, report)
	return id, report, isDetail, key == own || key == Detail(own)
}
