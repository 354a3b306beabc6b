package layout_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tidemark/shared/archive"
	"tidemark/shared/archive/layout"
	"tidemark/shared/archive/layout/verified"
	"tidemark/shared/manifest"
	"tidemark/shared/position"
)

func runs() *rapid.Generator[manifest.RunID] {
	return rapid.Custom(func(t *rapid.T) manifest.RunID {
		return manifest.RunID(rapid.StringMatching(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`).Draw(t, "run"))
	})
}

func lineages() *rapid.Generator[position.Lineage] {
	return rapid.Map(rapid.Int64Range(1, math.MaxInt32), func(n int64) position.Lineage { return position.Lineage(n) })
}

func ids() *rapid.Generator[layout.ID] {
	return rapid.Custom(func(t *rapid.T) layout.ID {
		return layout.ID{
			Lineage: lineages().Draw(t, "lineage"), Seq: rapid.Int64Range(1, math.MaxInt64).Draw(t, "seq"), Run: runs().Draw(t, "run"),
		}
	})
}

// numbers have ten digits: nobody could go on from the largest that there is.
func numbers() *rapid.Generator[int64] { return rapid.Int64Range(0, 9_999_999_999) }

// parsed is what each reader of keys says of a key; nothing for those that refuse it.
func parsed(key string) map[string]string {
	said := map[string]string{}
	note := func(reader string, ok bool, what ...any) {
		if ok {
			said[reader] = fmt.Sprint(what...)
		}
	}
	digest, ok := layout.ParseObject(key)
	note("object", ok, digest)
	lineage, ok := layout.ParseLineage(key)
	note("lineage", ok, lineage)
	of, run, ended, ok := layout.ParseRun(key)
	note("run", ok, of, " ", run, " ", ended)
	id, ok := layout.ParseManifest(key)
	note("manifest", ok, id)
	n, over, ok := layout.ParseSweep(key)
	note("sweep", ok, n, " ", over)
	about, report, detail, ok := verified.Parse(key)
	note("report", ok, about, " ", report, " ", detail)
	marked, number, ok := layout.ParseMark(key)
	note("mark", ok, marked, " ", number)
	return said
}

// TestKeys: reading a key is the exact inverse of making it, and no key is read as one of another kind.
func TestKeys(t *testing.T) {
	t.Parallel()
	made := map[string]func(*rapid.T) (key, said string){
		"object": func(t *rapid.T) (string, string) {
			digest := manifest.DigestOf(rapid.SliceOf(rapid.Byte()).Draw(t, "content"))
			return layout.Object(digest), string(digest)
		},
		"lineage": func(t *rapid.T) (string, string) {
			lineage := lineages().Draw(t, "lineage")
			return layout.Lineage(lineage), fmt.Sprint(lineage)
		},
		"run": func(t *rapid.T) (string, string) {
			lineage, run, ended := lineages().Draw(t, "lineage"), runs().Draw(t, "run"), rapid.Bool().Draw(t, "ended")
			key := layout.Run(lineage, run)
			if ended {
				key = layout.End(key)
			}
			return key, fmt.Sprint(lineage, " ", run, " ", ended)
		},
		"manifest": func(t *rapid.T) (string, string) {
			id := ids().Draw(t, "id")
			return layout.Manifest(id), id.String()
		},
		"sweep": func(t *rapid.T) (string, string) {
			n, ended := numbers().Draw(t, "n"), rapid.Bool().Draw(t, "ended")
			key := layout.Sweep(n)
			if ended {
				key = layout.End(key)
			}
			return key, fmt.Sprint(n, " ", ended)
		},
		"report": func(t *rapid.T) (string, string) {
			id, report, detail := ids().Draw(t, "id"), runs().Draw(t, "report"), rapid.Bool().Draw(t, "detail")
			key := verified.Report(id, report)
			if detail {
				key = verified.Detail(key)
			}
			return key, fmt.Sprint(id, " ", report, " ", detail)
		},
		"mark": func(t *rapid.T) (string, string) {
			run, n := runs().Draw(t, "run"), numbers().Draw(t, "n")
			if rapid.Bool().Draw(t, "revocation") {
				return layout.Revocation(run), fmt.Sprint(run, " ", 0)
			}
			return layout.Keep(run, n), fmt.Sprint(run, " ", n)
		},
	}
	for kind, make := range made {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				key, said := make(t)
				if got := parsed(key); len(got) != 1 || got[kind] != said {
					t.Fatalf("%s is read as %v, want %s %s alone", key, got, kind, said)
				}
				if err := archive.CheckKey(key); err != nil {
					t.Fatalf("no bucket keeps %s: %v", key, err)
				}
				at := rapid.IntRange(0, len(key)-1).Draw(t, "at")
				for _, other := range []string{
					key[:at], key[at+1:], key[:at] + "0" + key[at:], key + "/", "/" + key, key + ".json", strings.ToUpper(key),
					key[:at] + " " + key[at:], key + "\x00", "x/" + key,
				} {
					if other != key && parsed(other)[kind] == said {
						t.Fatalf("%q is read as %s is", other, key)
					}
				}
			})
		})
	}
}

// Keys sort as what they name does: listings are in the order of their keys.
func TestKeysSortAsTheirNumbersDo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := ids().Draw(t, "a"), ids().Draw(t, "b")
		if a.Before(b) && layout.Manifest(a) >= layout.Manifest(b) {
			t.Fatalf("%s is before %s and sorts after it", layout.Manifest(a), layout.Manifest(b))
		}
		if a.Before(b) && b.Before(a) {
			t.Fatalf("%s and %s are each before the other", a, b)
		}
		x, y := rapid.Int64Range(0, 9_999_999_999).Draw(t, "x"), rapid.Int64Range(0, 9_999_999_999).Draw(t, "y")
		if cmp.Compare(x, y) != strings.Compare(layout.Sweep(x), layout.Sweep(y)) {
			t.Fatalf("%s and %s sort otherwise than %d and %d", layout.Sweep(x), layout.Sweep(y), x, y)
		}
	})
}

// A later life is newer however low its numbers are (wal-g#636: a timeline that begins again made the newest look oldest).
func TestIDOfALaterLifeIsNewer(t *testing.T) {
	t.Parallel()
	want := []layout.ID{{Lineage: 1, Seq: 1}, {Lineage: 1, Seq: 900}, {Lineage: 2, Seq: 1}, {Lineage: 10, Seq: 1}}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, func(a, b layout.ID) int {
		if a.Before(b) {
			return -1
		}
		return 1
	})
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestKeysOfOthersAreNobodys(t *testing.T) {
	t.Parallel()
	const run = "11111111-0000-4000-8000-000000000001"
	digest := strings.Repeat("ab", 32)
	for _, key := range []string{
		"", "/", "objects", "objects/", "objects//" + digest, "objects/cd/" + digest, "objects/ab/" + digest[:63], "objects/ab/" + digest + "0",
		"objects/ab/" + strings.ToUpper(digest), "objects/ab/x/" + digest, "xobjects/ab/" + digest,
		"lineages/1.json", "lineages/0000000000.json", "lineages/-000000001.json", "lineages/+000000001.json", "lineages/0000000001",
		"lineages/0000000001.json.bak", "lineages/99999999999999999999.json", "lineages/00000000001.json",
		"runs/0000000001/" + run, "runs/0000000001/" + run + ".end", "runs/1/" + run + ".json", "runs/0000000001/x.json",
		"runs/0000000001/" + run + ".end.end.json", "runs/0000000000/" + run + ".json",
		"manifests/0000000001/00000000000000000000-" + run + ".json", "manifests/0000000001/1-" + run + ".json",
		"manifests/0000000001/00000000000000000001-x.json", "manifests/0000000001/0000000000000000000+1-" + run + ".json",
		"manifests/0000000001/99999999999999999999-" + run + ".json", "manifests/0000000001/latest.json", "manifests/latest.json",
		"sweeps/1.json", "sweeps/x.end.json", "sweeps/-000000001.json", "sweeps/0000000001.end.end.json", "sweeps/.json",
		"sweeps/-9223372036854775808.json",
		"sweeps/9223372036854775807.json", "sweeps/10000000000.end.json", "keeps/" + run + "/9223372036854775807.json",
		"revoked/x.json", "revoked/" + run, "revoked/" + run + ".end.json", "keeps/" + run + "/1.json", "keeps/" + run + "/.json",
		"keeps//0000000001.json", "keeps/x/0000000001.json", "keeps/" + run + "/0000000001.end.json", "keeps/" + run + ".json",
		"verified/" + run + ".json", "verified/0000000001/00000000000000000001-" + run + ".json", "verified/0000000001/00000000000000000001-" + run + "/x.json",
		"verified/0000000001/00000000000000000001-" + run + "/" + run, "verified/0000000001/1-" + run + "/" + run + ".json", "verified//" + run + ".json",
		"verified/0000000001/00000000000000000001-" + run + "/" + run + ".detail.detail.json", "verified/" + run + "/" + run + ".json",
		"owner.json", "decisions/0000000001/0000000001.json", "readme.txt", "objects/ab/" + digest + "\n",
	} {
		if got := parsed(key); len(got) > 0 {
			t.Errorf("%q is read as %v", key, got)
		}
	}
}
