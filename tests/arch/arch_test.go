package arch

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// rule is one promise about the tree. check lists where it is broken.
type rule struct {
	name  string
	check func(*tree) []string
	cases []sample
}

// sample is a small tree and what the rule must say about it: each text is part of one finding, in their order. No text
// means that the tree is fine.
type sample struct {
	name  string
	files map[string]string
	want  []string
}

func rules() []rule {
	return []rule{
		{"ImportsFollowTheLayers", importsFollowTheLayers, layerSamples()},
		{"DriversStayInTheirAdapters", driversStayInTheirAdapters, driverSamples()},
		{"SQLStaysInPostgres", sqlStaysInPostgres, sqlSamples()},
		{"FilesAndPackagesStaySmall", filesAndPackagesStaySmall, sizeSamples()},
		{"FewNamesAreExported", fewNamesAreExported, exportSamples()},
		{"SignaturesStaySmall", signaturesStaySmall, signatureSamples()},
		{"FoldersAreKnown", foldersAreKnown, folderSamples()},
		{"PackageNamesSayWhatTheyOwn", packageNamesSayWhatTheyOwn, packageNameSamples()},
		{"PackagesIntroduceThemselves", packagesIntroduceThemselves, introductionSamples()},
		{"CorePackagesExplainTheirDesign", corePackagesExplainTheirDesign, designSamples()},
		{"NothingIsSkipped", nothingIsSkipped, skipSamples()},
		{"NothingSleeps", nothingSleeps, sleepSamples()},
		{"NoBuildResultsAreKept", noBuildResultsAreKept, buildResultSamples()},
		{"DocumentsNameRealTargets", documentsNameRealTargets, targetSamples()},
		{"DependenciesAreRecorded", dependenciesAreRecorded, dependencySamples()},
	}
}

// TestTree holds this tree to the rules.
func TestTree(t *testing.T) {
	t.Parallel()
	here, err := load(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	if here.module != "tidemark" || len(here.written()) == 0 || here.texts["Makefile"] == "" {
		t.Fatalf("read module %q with %d files: this is not the tree", here.module, len(here.files))
	}
	for _, r := range rules() {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			for _, finding := range r.check(here) {
				t.Error(finding)
			}
		})
	}
}

// TestRules shows that each rule sees what breaks it and leaves alone what does not.
func TestRules(t *testing.T) {
	t.Parallel()
	for _, r := range rules() {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			breaks := 0
			for _, s := range r.cases {
				breaks += len(s.want)
				t.Run(s.name, func(t *testing.T) {
					t.Parallel()
					s.check(t, r)
				})
			}
			if breaks == 0 {
				t.Error("no sample breaks this rule: nothing shows that it looks")
			}
		})
	}
}

func (s sample) check(t *testing.T, r rule) {
	t.Helper()
	files := fstest.MapFS{"go.mod": {Data: []byte("module tidemark\n\ngo 1.26\n")}}
	for name, text := range s.files {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	parsed, err := load(files)
	if err != nil {
		t.Fatal(err)
	}
	got := r.check(parsed)
	if len(got) != len(s.want) {
		t.Fatalf("got %d findings %q, want %q", len(got), got, s.want)
	}
	for i, want := range s.want {
		if !strings.Contains(got[i], want) {
			t.Errorf("finding %d: got %q, want %q in it", i, got[i], want)
		}
	}
}

// importing is the text of a file that imports the packages.
func importing(name string, imports ...string) string {
	var text strings.Builder
	text.WriteString("package " + name + "\n")
	for _, imported := range imports {
		text.WriteString("import _ \"" + imported + "\"\n")
	}
	return text.String()
}
