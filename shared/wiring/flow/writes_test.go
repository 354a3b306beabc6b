package flow_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/change"
	"tidemark/shared/config"
	"tidemark/shared/wiring/flow"
)

// TestWrites: a flow's tables are told from its file alone, or it is said that they cannot be.
func TestWrites(t *testing.T) {
	t.Parallel()
	name := func(table string) change.Name { return change.Name{Schema: "shop", Table: table} }
	exists := func(n change.Name) bool { return n.Schema == "shop" && n.Table != "gone" }
	for what, c := range map[string]struct {
		file   config.Flow
		tables []change.Name
		all    bool
	}{
		"DebeziumByTopic": {config.Flow{Format: config.FormatDebezium, Topics: []string{"db.shop.a", "db.shop.b"}}, []change.Name{name("a"), name("b")}, true},
		"DebeziumLedElsewhere": {
			config.Flow{Format: config.FormatDebezium, Topics: []string{"db.public.a"}, Routes: []config.Route{
				{From: change.Name{Schema: "public", Table: "a"}, To: name("z")},
			}}, []change.Name{name("z")}, true,
		},
		"DebeziumOfOneTable": {
			config.Flow{Format: config.FormatDebezium, Topics: []string{"t"}, Debezium: config.Debezium{Table: name("a")}}, []change.Name{name("a")}, true,
		},
		"DebeziumWhoseTopicIsNoTable": {config.Flow{Format: config.FormatDebezium, Topics: []string{"t", "db.shop.gone"}}, nil, false},
		"PlainByMap": {
			config.Flow{Format: config.FormatPlain, Topics: []string{"t", "u"}, Plain: config.Plain{
				Table: "shop.${topic}", Tables: map[string]change.Name{"t": name("a")},
			}}, []change.Name{name("a"), name("u")}, true,
		},
		"PlainByAField": {config.Flow{Format: config.FormatPlain, Topics: []string{"t"}, Plain: config.Plain{Table: "shop.${field.kind}"}}, nil, false},
	} {
		tables, all := flow.Writes(&c.file, exists)
		if diff := cmp.Diff(c.tables, tables); diff != "" || all != c.all {
			t.Errorf("%s: all %t (-want +got):\n%s", what, all, diff)
		}
	}
}
