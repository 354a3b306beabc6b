package setting_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/shared/config/setting"
	"tidemark/shared/fault"
)

// oven is a struct that has nothing to do with Tidemark.
type oven struct {
	Heat  int
	Time  time.Duration
	Fan   bool
	Notes string
	Racks []string
	Light light
}

type light struct{ Colour string }

// tuned is an oven whose map is a map of the baker's own words, and whose fan has a condition.
type tuned struct {
	Fan     bool
	Recipes map[string]int
}

func tunedFields() []setting.Field[tuned] {
	word := setting.Text("a word", func(given string) (string, error) {
		if strings.Contains(given, " ") {
			return "", errors.New("is no word")
		}
		return given, nil
	})
	return []setting.Field[tuned]{
		setting.Scalar(setting.Setting{Name: "FAN", Default: "false"}, setting.Switch(), func(t *tuned) *bool { return &t.Fan }),
		setting.Pairs(setting.Setting{Name: "RECIPES"}, 2, word, setting.Number(50, 250),
			func(t *tuned) *map[string]int { return &t.Recipes }).Where(func(t tuned) error {
			if t.Fan {
				return errors.New("are for an oven without a fan")
			}
			return nil
		}),
	}
}

func ovenFields() []setting.Field[oven] {
	anything := setting.Text("any text", func(given string) (string, error) { return given, nil })
	return []setting.Field[oven]{
		setting.Scalar(setting.Setting{Name: "HEAT", Required: true}, setting.Number(50, 250),
			func(o *oven) *int { return &o.Heat }),
		setting.Scalar(setting.Setting{Name: "TIME", Default: "10s"}, setting.Duration(time.Second, time.Minute),
			func(o *oven) *time.Duration { return &o.Time }),
		setting.Scalar(setting.Setting{Name: "FAN", Default: "true"}, setting.Switch(),
			func(o *oven) *bool { return &o.Fan }),
		setting.Put(setting.Setting{Name: "NOTES"}, anything, func(o *oven, given string) {
			o.Notes = fmt.Sprintf("%s at %d", given, o.Heat)
		}),
		setting.List(setting.Setting{Name: "RACKS"}, setting.Texts(1, 2, anything),
			func(o *oven) *[]string { return &o.Racks }),
		setting.Section(setting.Setting{Name: "LIGHT"}, []setting.Field[light]{
			setting.Scalar(setting.Setting{Name: "COLOUR", Default: "warm"}, setting.Choice(
				setting.Option[string]{Name: "warm", Value: "w"}, setting.Option[string]{Name: "cold", Value: "c"},
				setting.Option[string]{Name: "blue", Unoffered: "no lamp is sold"},
			), func(l *light) *string { return &l.Colour }),
		}, func(o *oven) *light { return &o.Light }),
	}
}

func readOven(file string) (oven, error) {
	return setting.ReadYAML(ovenFields(), "oven", []byte(file), "turn it off")
}

func TestReadYAML(t *testing.T) {
	t.Parallel()
	t.Run("FillsTheStruct", func(t *testing.T) {
		t.Parallel()
		for file, want := range map[string]oven{
			"HEAT: 50": {Heat: 50, Time: 10 * time.Second, Fan: true, Light: light{"w"}},
			"NOTES: bread\nHEAT: 250": {
				Heat: 250, Time: 10 * time.Second, Fan: true,
				Notes: "bread at 250", Light: light{"w"},
			},
			"HEAT: 60\nFAN: false\nRACKS: [a]": {
				Heat: 60, Time: 10 * time.Second,
				Racks: []string{"a"}, Light: light{"w"},
			},
			"HEAT: 60\nFAN: 'false'\nLIGHT:\n  COLOUR: cold": {Heat: 60, Time: 10 * time.Second, Light: light{"c"}},
		} {
			got, err := readOven(file)
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%q: %v %s", file, err, diff)
			}
		}
	})
	t.Run("SaysWhatToDo", func(t *testing.T) {
		t.Parallel()
		for file, want := range map[string]string{
			"HEAT: 49": `oven:1:7: HEAT: "49" is below the range; want a whole number from 50 to 250`,
			"HEAT: 60\nLIGHT: {COLOUR: blue}": `oven:2:17: LIGHT.COLOUR: "blue" is not offered by this release: ` +
				`no lamp is sold; want warm or cold`,
			"HEAT: 60\nRACKS: [a, b, c]": `oven:2:8: RACKS: the value has 3 items; ` +
				`want a list of 1 to 2 distinct values, each any text`,
			"HEAT: 60\nHEET: hunter2": `oven:2:1: "HEET" is unknown; did you mean HEAT?`,
			"FAN: on\n": `oven:1:1: HEAT is not set; want a whole number from 50 to 250; ` +
				`oven:1:6: FAN: "on" is not an allowed value; want true or false`,
		} {
			got, err := readOven(file)
			if err == nil || err.Error() != want || fault.HintOf(err) != "turn it off" || !fault.Is(err, fault.Misconfigured) {
				t.Errorf("%q:\n got %v\nwant %s", file, err, want)
			}
			if diff := cmp.Diff(oven{}, got); diff != "" {
				t.Errorf("%q: a refused file fills %s", file, diff)
			}
		}
	})
}

func TestPairs(t *testing.T) {
	t.Parallel()
	read := func(file string) (tuned, error) {
		return setting.ReadYAML(tunedFields(), "oven", []byte(file), "turn it off")
	}
	for file, want := range map[string]tuned{
		"FAN: true":                           {Fan: true},
		"RECIPES: {}":                         {Recipes: map[string]int{}},
		"RECIPES: {bread: 250, 1: 50}":        {Recipes: map[string]int{"bread": 250, "1": 50}},
		"RECIPES:\n  bread: 250\n  'a': 50\n": {Recipes: map[string]int{"bread": 250, "a": 50}},
	} {
		got, err := read(file)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%q: %v %s", file, err, diff)
		}
	}
	for file, want := range map[string]string{
		"FAN: true\nRECIPES: {}": "oven:2:10: RECIPES are for an oven without a fan",
		"RECIPES: {bread: 10, a b: 60}": `oven:1:18: RECIPES."bread": "10" is below the range; want a whole number from 50 to 250; ` +
			`oven:1:22: RECIPES: "a b" is no word; want a word`,
		"RECIPES: {a: 60, a: 60}": `oven:1:18: RECIPES."a" is set twice, before in line 1; remove one`,
		"RECIPES: [a]": "oven:1:10: RECIPES: the value is a list; want a map of 0 to 2 pairs, from a word, " +
			"to a whole number from 50 to 250",
		"RECIPES: {a: 60, b: 60, c: 60}": "oven:1:11: RECIPES: the value has 3 pairs; want a map of 0 to 2 pairs, from a word, " +
			"to a whole number from 50 to 250",
	} {
		if got, err := read(file); err == nil || err.Error() != want || got.Recipes != nil {
			t.Errorf("%q:\n got %v\nwant %s", file, err, want)
		}
	}
}

func TestReadVariables(t *testing.T) {
	t.Parallel()
	set := map[string]string{"HEAT": "70", "TIME": "", "FAN": "false"}
	from := setting.Environment{
		Lookup: func(name string) (string, bool) { value, ok := set[name]; return value, ok },
		Prefix: "H", Known: []string{"HUM"}, Environ: []string{"HEAT=70", "HUM=1", "LOUD=1", "HUMM=hunter2"},
	}
	_, err := setting.ReadVariables(ovenFields(), from, "turn it off")
	if err == nil || err.Error() != `"HUMM" is unknown; did you mean HUM?` || fault.HintOf(err) != "turn it off" {
		t.Errorf("got %v", err)
	}
	from.Environ = from.Environ[:3]
	got, err := setting.ReadVariables(ovenFields(), from, "turn it off")
	want := oven{Heat: 70, Time: 10 * time.Second, Light: light{"w"}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	var got []string
	for _, s := range setting.Describe(ovenFields()) {
		got = append(got, strings.TrimSuffix(s.Name+": "+s.Takes+"; "+s.Later, "; "))
	}
	want := []string{
		"HEAT: a whole number from 50 to 250", "TIME: a duration from 1s to 60s, as in 2s or 500ms", "FAN: true or false",
		"NOTES: any text", "RACKS: a list of 1 to 2 distinct values, each any text", "LIGHT: a map with the keys below",
		"LIGHT.COLOUR: warm or cold; blue",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestNearest: the name that is suggested for a typing error of one letter is the right one.
func TestNearest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"HEAT", "TIME", "NOTES", "RACKS", "LIGHT"}).Draw(t, "name")
		at := rapid.IntRange(0, len(name)-1).Draw(t, "at")
		typed := rapid.SampledFrom([]string{
			name[:at] + name[at+1:], name[:at] + "X" + name[at:], name[:at] + "X" + name[at+1:],
		}).Draw(t, "typed")
		_, err := readOven("HEAT: 60\n" + typed + ": 1\n")
		if err == nil || !strings.HasSuffix(err.Error(), "did you mean "+name+"?") {
			t.Fatalf("%s: got %v", typed, err)
		}
	})
}
