package result_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/tests/bench/result"
)

func TestSpreadOf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		values []float64
		want   result.Spread
	}{
		"One":        {[]float64{2}, result.Spread{Median: 2, Min: 2, Max: 2}},
		"OddNumber":  {[]float64{9, 1, 3}, result.Spread{Median: 3, Min: 1, Max: 9}},
		"EvenNumber": {[]float64{4, 1, 3, 9}, result.Spread{Median: 3.5, Min: 1, Max: 9}},
		"FourDigits": {[]float64{0.123456, 123456, 12.3456}, result.Spread{Median: 12.35, Min: 0.1235, Max: 123500}},
		"Zero":       {[]float64{0, 0, -0.00012344}, result.Spread{Median: 0, Min: -0.0001234, Max: 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, result.SpreadOf(c.values)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestResults(t *testing.T) {
	t.Parallel()
	t.Run("ComeBackFromTheirDocument", func(t *testing.T) {
		t.Parallel()
		want := result.Results{
			Machine: result.Machine{Commit: "abc", Cores: 2},
			Cells:   []result.Cell{{Workload: "insert", Apply: result.Side{ServerCPU: &result.Spread{Median: 1.5}}}},
		}
		text, err := want.Encode()
		if err != nil {
			t.Fatal(err)
		}
		var got result.Results
		err = got.Decode(text)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	})
	t.Run("RefuseUnknownFields", func(t *testing.T) {
		t.Parallel()
		if err := new(result.Results).Decode([]byte(`{"machines":{}}`)); err == nil {
			t.Error("no error")
		}
	})
}
