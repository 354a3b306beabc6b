package config_test

import (
	"slices"
	"testing"
	"unicode/utf8"

	"tidemark/shared/config"
	"tidemark/shared/fault"
)

// FuzzParseFlow: whatever the file holds, the parser ends without a panic, and with a flow that keeps every limit or
// with an error that an operator can act on.
func FuzzParseFlow(f *testing.F) {
	f.Add([]byte(leastFlow))
	f.Add([]byte(leastPlain))
	for _, l := range slices.Concat(flowLimits(), debeziumLimits(), plainLimits()) {
		for _, value := range l.takes {
			if len(value) < 100 {
				f.Add([]byte(flowWith(l.setting, value)))
			}
		}
		for value := range l.refuses {
			if len(value) < 100 {
				f.Add([]byte(flowWith(l.setting, value)))
			}
		}
	}
	for _, file := range []string{
		"- a", "a: |\n  b\n", "a: >\n\n  b", "\"a\\x00\": b", "{", "---\n...\n", "a: [\n", "\ufeff", "? a", "#",
	} {
		f.Add([]byte(file))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		flow, err := config.ParseFlow("f", data)
		if err != nil {
			if !fault.Is(err, fault.Misconfigured) || fault.HintOf(err) == "" || !utf8.ValidString(err.Error()) {
				t.Errorf("class %v, hint %q: %v", fault.ClassOf(err), fault.HintOf(err), err)
			}
			return
		}
		ranges := flow.MaxTransactionRows >= 1 && flow.MaxTransactionRows <= 1_000_000 &&
			flow.MaxTransactionBytes >= 1<<10 && flow.MaxTransactionBytes <= 1<<30 &&
			len(flow.Topics) >= 1 && len(flow.Topics) <= 1000 && len(flow.Routes) <= 1000
		words := flow.Name != "" && (flow.Format == config.FormatDebezium || flow.Format == config.FormatPlain) && flow.Log == "dense" &&
			flow.Producers == "plain" && flow.Gaps == "refuse" && flow.OnPoison == "halt"
		for topic, table := range flow.Plain.Tables {
			ranges = ranges && slices.Contains(flow.Topics, topic) && table.Validate() == nil
		}
		if !ranges || !words {
			t.Errorf("a flow beyond its limits: %+v", flow)
		}
		for _, route := range flow.Routes {
			if route.From.Validate() != nil || route.To.Validate() != nil {
				t.Errorf("a route beyond its limits: %+v", route)
			}
		}
	})
}
