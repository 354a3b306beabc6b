package position_test

import (
	"fmt"
	"strings"
	"testing"

	"tidemark/shared/position"
)

// value is what every parser of the package makes.
type value interface {
	comparable
	fmt.Stringer
	Validate() error
}

// mustPrintBack holds a parser against its promise: whatever the text, it ends with an error or with a valid value that
// prints back to the text. Digits may have had zeros or a sign to spare; their value is the same.
func mustPrintBack[T value](t *testing.T, text string, parse func(string) (T, error)) {
	t.Helper()
	got, err := parse(text)
	if err != nil {
		return
	}
	if err := got.Validate(); err != nil {
		t.Errorf("%T of %q is taken and not valid: %v", got, text, err)
	}
	if printed := got.String(); printed != text && printed != sparing(text) {
		t.Errorf("%T of %q prints %q", got, text, printed)
	}
	if again, err := parse(got.String()); err != nil || again != got {
		t.Errorf("%T of %q reads what it prints as %v, %v", got, text, again, err)
	}
}

// sparing is text with its number, all of it or what stands behind the slash, in its shortest form.
func sparing(text string) string {
	at := strings.LastIndex(text, "/") + 1
	number := strings.TrimLeft(text[at:], "+0")
	if number == "" {
		number = "0"
	}
	return text[:at] + number
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"", "0", "7", "007", "-1", "+1", "9223372036854775807", "9223372036854775808", "orders/3", "orders/03",
		"orders/+3", "/", "a/b/1",
		"./1", "../1", strings.Repeat("a", 249) + "/0", strings.Repeat("a", 250) + "/0", "orders/2147483648", "shop",
		"shop.eu-1", "Shop",
		"0190c5ae-7e1f-7abc-8def-0123456789ab", "0190C5AE-7E1F-7ABC-8DEF-0123456789AB", "\xff", "\u0661", "1\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		mustPrintBack(t, text, position.ParseOffset)
		mustPrintBack(t, text, position.ParsePartition)
		mustPrintBack(t, text, position.ParseTargetID)
		mustPrintBack(t, text, position.ParseIncarnation)
		mustPrintBack(t, text, position.ParseLineage)
	})
}
