package arch

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// layer is a part of the house. A package imports what stands below it.
type layer string

const (
	vocabulary layer = "vocabulary"  // values, formats and their rules; no I/O, no clock
	decoder    layer = "decoder"     // bytes of a record to changes
	core       layer = "core"        // behaviour over small interfaces that it declares
	adapter    layer = "adapter"     // one driver each
	process    layer = "process"     // configuration, secrets, telemetry
	assembly   layer = "assembly"    // which driver stands behind which part, as configured
	suite      layer = "test suite"  // conformance suites and support for tests
	wiring     layer = "wiring"      // functions and the operator's command
	localCloud layer = "local cloud" // stand-ins for the services
	proof      layer = "tests"
	nowhere    layer = "no layer"
)

// sharedFolders are the folders that shared may hold.
var sharedFolders = map[string]layer{
	"position": vocabulary, "record": vocabulary, "change": vocabulary, "fault": vocabulary, "envelope": vocabulary,
	"manifest": vocabulary, "signing": vocabulary,
	"format": decoder,
	"apply":  core, "watermark": core, "worker": core, "quarantine": core, "archive": core, "expiry": core, "backup": core,
	"recovery": core, "verify": core, "rehearsal": core, "relay": core, "intake": core, "health": core,
	"postgres": adapter, "kafka": adapter, "kafkaevent": adapter, "eventmapping": adapter, "intakehttp": adapter,
	"config": process, "secret": process, "telemetry": process,
	"wiring": assembly,
}

// fulfils are the endings of adapters' names that lie under the contract that they fulfil.
var fulfils = []string{"bucket", "key", "mark"}

// coreUses is the order inside the core: whoever is not named knows no one.
var coreUses = map[string][]string{
	"worker":    {"apply", "watermark"},
	"backup":    {"archive"},
	"expiry":    {"archive"},
	"health":    {"apply", "archive", "backup"},
	"recovery":  {"apply", "archive", "verify"},
	"rehearsal": {"recovery", "verify"},
}

// adapterUses names the adapters that are made of others: target owns the transaction in which they all write.
var adapterUses = map[string][]string{
	"shared/postgres/target":   {"shared/postgres/ledger", "shared/postgres/catalog", "shared/postgres/writer"},
	"shared/postgres/snapshot": {"shared/postgres/capture"},
	"shared/postgres/restore":  {"shared/postgres/capture"},
	"shared/kafka/groups":      {"shared/kafka/reach"},
	"shared/postgres/writer":   {"shared/postgres/catalog"}, // how a table is described is said once: docs/decisions/0006
}

// notations are the packages under the formats that none of them owns: how numbers, dates and literals are written.
var notations = []string{"shared/format/jsonnode", "shared/format/calendar", "shared/format/literal"}

// processUses: how a secret is held back is decided where configuration reads it.
var processUses = map[string][]string{"config": {"secret"}}

// layerOf says where a folder stands.
func layerOf(dir string) layer {
	name, parts := path.Base(dir), strings.Split(dir, "/")
	for i := 1; i < len(parts); i++ {
		if parts[i] == parts[i-1]+"test" {
			return suite // with all that lies beneath it
		}
	}
	switch parts[0] {
	case "functions", "cmd":
		return wiring
	case "localstack":
		return localCloud
	case "tests":
		return proof
	case "shared":
	default:
		return nowhere
	}
	if len(parts) < 2 {
		return nowhere
	}
	own, known := sharedFolders[parts[1]]
	switch {
	case !known:
		return nowhere
	case len(parts) > 2 && slices.ContainsFunc(fulfils, func(ending string) bool { return strings.HasSuffix(name, ending) }):
		return adapter
	}
	return own
}

// importsFollowTheLayers checks the direction of imports between packages of the module.
func importsFollowTheLayers(t *tree) []string {
	var findings []string
	for _, s := range t.files {
		for _, spec := range s.syntax.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			to, own := strings.CutPrefix(imported, t.module+"/")
			if err != nil || !own || s.isTest() && layerOf(to) != wiring || mayImport(s.dir(), to) {
				continue
			}
			findings = append(findings, fmt.Sprintf("%s: %s (%s) must not import %s (%s)",
				t.at(spec), s.dir(), layerOf(s.dir()), to, layerOf(to)))
		}
	}
	return findings
}

// mayImport says whether a package of folder from may import that of folder to.
func mayImport(from, to string) bool {
	above, below := layerOf(from), layerOf(to)
	if above == suite && within(from, "localstack") {
		above = localCloud
	}
	kin := above == below && (within(from, to) || within(to, from) || above != adapter && family(from) == family(to))
	everywhere := below != suite && below != wiring && below != proof && below != nowhere
	switch above {
	case vocabulary:
		return below == vocabulary || kin
	case decoder:
		return below == vocabulary || kin || slices.Contains(notations, to)
	case core:
		inOrder := below == core && slices.Contains(coreUses[sharedName(from)], sharedName(to))
		return below == vocabulary || below == decoder || kin || inOrder
	case adapter:
		return below == vocabulary || below == core || kin || slices.Contains(adapterUses[from], to)
	case process:
		return below == vocabulary || below == core || kin || slices.Contains(processUses[sharedName(from)], sharedName(to))
	case assembly:
		return everywhere && below != localCloud
	case suite: // beside the vocabulary, what it exercises: the package it is named after and what lies beneath that
		return below == vocabulary || below == decoder || below == core || below == suite || within(to, path.Dir(from))
	case wiring:
		return everywhere && below != localCloud || kin
	case localCloud:
		return everywhere || within(from, to)
	case proof:
		return below != wiring && below != nowhere
	case nowhere:
	}
	return false
}

// family is the folder whose packages are parts of one thing: a format, a function, a folder of shared. Adapters have
// none: what lies beside one speaks to something else.
func family(dir string) string {
	parts := strings.Split(dir, "/")
	depth := 2
	if layerOf(dir) == decoder {
		depth = 3
	}
	return strings.Join(parts[:min(depth, len(parts))], "/")
}

// sharedName is the folder of shared that a folder is in.
func sharedName(dir string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(dir, "shared/"), "/")
	return name
}

func layerSamples() []sample {
	return []sample{
		{"LetsTheHouseStand", map[string]string{
			"shared/record/a.go":                importing("record", "tidemark/shared/position", "fmt"),
			"shared/format/debezium/a.go":       importing("debezium", "tidemark/shared/change"),
			"shared/recovery/a.go":              importing("recovery", "tidemark/shared/apply", "tidemark/shared/verify"),
			"shared/postgres/target/a.go":       importing("target", "tidemark/shared/apply", "tidemark/shared/postgres/ledger"),
			"shared/postgres/ledger/a.go":       importing("ledger", "tidemark/shared/postgres"),
			"shared/archive/s3bucket/a.go":      importing("s3bucket", "tidemark/shared/archive"),
			"shared/apply/a_test.go":            importing("apply_test", "tidemark/shared/apply/applytest", "tidemark/localstack/services"),
			"shared/apply/applytest/a.go":       importing("applytest", "tidemark/shared/apply"),
			"shared/config/a.go":                importing("config", "tidemark/shared/secret", "tidemark/shared/config/setting"),
			"shared/postgres/postgrestest/a.go": importing("postgrestest", "tidemark/shared/postgres/migrations"),
			"functions/apply/main.go":           importing("main", "tidemark/shared/postgres/target", "tidemark/shared/config"),
			"shared/archive/filemark/a.go":      importing("filemark", "tidemark/shared/archive/history"),
			"shared/wiring/a.go":                importing("wiring", "tidemark/shared/archive/s3bucket", "tidemark/shared/config"),
			"cmd/tidemark/main.go":              importing("main", "tidemark/shared/wiring"),
			"localstack/services/a.go":          importing("services", "tidemark/shared/postgres/migrations"),
			"tests/drill/a.go":                  importing("drill", "tidemark/localstack/services", "tidemark/shared/kafka"),
		}, nil},
		{"ReportsVocabularyThatKnowsTheCore", map[string]string{
			"shared/record/a.go": importing("record", "tidemark/shared/apply"),
		}, []string{"shared/record/a.go:2: shared/record (vocabulary) must not import shared/apply (core)"}},
		{"ReportsADecoderThatKnowsMoreThanChanges", map[string]string{
			"shared/format/plain/a.go": importing("plain", "tidemark/shared/apply", "tidemark/shared/format/debezium"),
		}, []string{"shared/apply", "shared/format/debezium"}},
		{"ReportsACoreThatKnowsAnAdapter", map[string]string{
			"shared/apply/a.go":   importing("apply", "tidemark/shared/postgres/ledger", "tidemark/shared/config"),
			"shared/archive/a.go": importing("archive", "tidemark/shared/archive/s3bucket"),
		}, []string{"shared/postgres/ledger (adapter)", "shared/config (process)", "shared/archive/s3bucket (adapter)"}},
		{"ReportsTheCoreOutOfOrder", map[string]string{
			"shared/apply/a.go":  importing("apply", "tidemark/shared/watermark"),
			"shared/verify/a.go": importing("verify", "tidemark/shared/archive"),
			"shared/worker/a.go": importing("worker", "tidemark/shared/recovery"),
		}, []string{"shared/watermark", "shared/archive", "shared/recovery"}},
		{"ReportsAdaptersThatKnowEachOther", map[string]string{
			"shared/postgres/ledger/a.go": importing("ledger", "tidemark/shared/postgres/writer"),
			"shared/postgres/target/a.go": importing("target", "tidemark/shared/kafka"),
			"shared/kafka/a.go":           importing("kafka", "tidemark/shared/postgres"),
		}, []string{"shared/kafka (adapter) must not", "shared/postgres/ledger (adapter) must not", "shared/postgres/target (adapter) must not"}},
		{"ReportsAProcessThatKnowsAnAdapter", map[string]string{
			"shared/config/a.go": importing("config", "tidemark/shared/kafka"),
			"shared/secret/a.go": importing("secret", "tidemark/shared/config"),
		}, []string{"shared/kafka", "shared/config"}},
		{"ReportsAHouseThatKnowsItsAssembly", map[string]string{
			"shared/archive/a.go":          importing("archive", "tidemark/shared/archive/filemark", "tidemark/shared/wiring"),
			"shared/archive/filemark/a.go": importing("filemark", "tidemark/shared/wiring", "tidemark/shared/archive/ssmmark"),
			"shared/config/a.go":           importing("config", "tidemark/shared/wiring"),
			"shared/record/a.go":           importing("record", "tidemark/shared/wiring"),
			"shared/wiring/a.go":           importing("wiring", "tidemark/cmd/tidemark", "tidemark/localstack/services"),
		}, []string{
			"shared/archive (core) must not import shared/archive/filemark (adapter)",
			"shared/archive (core) must not import shared/wiring (assembly)",
			"shared/archive/filemark (adapter) must not import shared/wiring (assembly)", "shared/archive/ssmmark (adapter)",
			"shared/config (process) must not import shared/wiring (assembly)",
			"shared/record (vocabulary) must not import shared/wiring (assembly)",
			"cmd/tidemark", "localstack/services",
		}},
		{"ReportsASuiteThatKnowsMoreThanItExercises", map[string]string{
			"shared/archive/archivetest/a.go": importing("archivetest", "tidemark/shared/archive/dirbucket", "tidemark/shared/postgres"),
		}, []string{"shared/postgres (adapter)"}},
		{"ReportsAnImportedFunction", map[string]string{
			"functions/backup/main.go":  importing("main", "tidemark/functions/apply"),
			"shared/apply/a_test.go":    importing("apply", "tidemark/functions/apply"),
			"tests/integration/main.go": importing("main", "tidemark/cmd/tidemark"),
		}, []string{"functions/backup", "shared/apply", "tests/integration"}},
		{"ReportsTestSupportInABinary", map[string]string{
			"functions/apply/main.go": importing("main", "tidemark/shared/apply/applytest", "tidemark/localstack/services"),
			"shared/backup/a.go":      importing("backup", "tidemark/shared/archive/archivetest", "tidemark/tests/internal/harness"),
		}, []string{"applytest", "localstack/services", "archivetest", "tests/internal/harness"}},
		{"ReportsAPackageOutsideTheHouse", map[string]string{
			"shared/apply/a.go":  importing("apply", "tidemark/shared/odds"),
			"shared/odds/a.go":   importing("odds", "tidemark/shared/position"),
			"elsewhere/other.go": importing("elsewhere", "tidemark/shared/position"),
		}, []string{"elsewhere (no layer)", "shared/odds (no layer)", "shared/odds (no layer)"}},
	}
}
