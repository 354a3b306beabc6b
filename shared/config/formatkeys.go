package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"tidemark/shared/change"
	"tidemark/shared/config/setting"
)

// ofFormat says that a section is for one format.
func ofFormat(format Format) func(Flow) error {
	return func(f Flow) error {
		if f.Format == format || f.Format == "" {
			return nil
		}
		return fmt.Errorf("is for format: %s, and this flow has format: %s; remove the section or correct format",
			format, f.Format)
	}
}

func debeziumSection() setting.Field[Flow] {
	return setting.Section(setting.Setting{
		Name: "debezium",
		Meaning: "How the Debezium connector is configured, as far as its records do not say it. " +
			"For format: debezium alone.",
	}, debeziumKeys(), func(f *Flow) *Debezium { return &f.Debezium }).
		Where(ofFormat(FormatDebezium)).
		Where(func(f Flow) error {
			if f.Debezium.Table.IsZero() || len(f.Topics) <= 1 {
				return nil
			}
			return fmt.Errorf("names one table for the records of %d topics; give each topic a flow of its own, "+
				"or remove debezium.table", len(f.Topics))
		})
}

func debeziumKeys() []setting.Field[Debezium] {
	return []setting.Field[Debezium]{
		setting.Scalar(setting.Setting{
			Name: "unavailable_value", Default: "__debezium_unavailable_value",
			Meaning: "The connector's unavailable.value.placeholder. Behind hex: stand its bytes in hex.",
		}, text(), func(d *Debezium) *string { return &d.UnavailableValue }),
		setting.Scalar(setting.Setting{
			Name: "decimal", Default: "precise", Meaning: "The connector's decimal.handling.mode.",
		}, words("precise", "string", "double"), func(d *Debezium) *string { return &d.Decimal }),
		setting.Scalar(setting.Setting{
			Name: "binary", Default: "base64", Meaning: "The connector's binary.handling.mode; its bytes is base64 here.",
		}, words("base64", "base64-url-safe", "hex"), func(d *Debezium) *string { return &d.Binary }),
		setting.Scalar(setting.Setting{
			Name: "time", Default: "adaptive",
			Meaning: "The connector's time.precision.mode. It matters for records without a schema.",
		}, words("adaptive", "adaptive_time_microseconds", "connect", "microseconds", "nanoseconds", "isostring"),
			func(d *Debezium) *string { return &d.Time }),
		setting.Scalar(setting.Setting{
			Name: "unrepresentable", Default: "halt",
			Meaning: "What happens at a value that the target's type cannot hold. null writes NULL in its place.",
		}, setting.Choice(
			setting.Option[bool]{Name: "halt", Value: false},
			setting.Option[bool]{Name: "null", Value: true},
		), func(d *Debezium) *bool { return &d.NullUnrepresentable }),
		setting.Scalar(setting.Setting{
			Name: "table", Example: "shop.orders",
			Meaning: "Table of every record, as the source names it, for a flow of one topic whose records are unwrapped and " +
				"do not name their table. A tombstone is then a delete. Not for full envelopes.",
		}, tableName(), func(d *Debezium) *change.Name { return &d.Table }),
	}
}

func plainSection() setting.Field[Flow] {
	return setting.Section(setting.Setting{
		Name: "plain", Meaning: "What the application's documents mean. For format: plain alone.",
	}, slices.Concat(plainRowKeys(), plainValueKeys()), func(f *Flow) *Plain { return &f.Plain }).
		Where(ofFormat(FormatPlain)).
		Where(func(f Flow) error {
			for _, topic := range slices.Sorted(maps.Keys(f.Plain.Tables)) {
				if len(f.Topics) > 0 && !slices.Contains(f.Topics, topic) {
					return fmt.Errorf("has a table for %q, which is none of the topics; correct plain.tables or topics", topic)
				}
			}
			return nil
		})
}

// plainRowKeys say which row a document is.
func plainRowKeys() []setting.Field[Plain] {
	return []setting.Field[Plain]{
		setting.Scalar(setting.Setting{
			Name: "table", Example: `"public.${topic}"`,
			Meaning: "Table of the records, as SCHEMA.TABLE. ${topic}, ${topic:N}, ${header:NAME} and ${field:NAME} stand for " +
				"the whole topic, its Nth part between dots (the last is -1), a header and a field of the document. The first " +
				"dot outside of them separates schema and table.",
		}, text(), func(p *Plain) *string { return &p.Table }),
		setting.Pairs(setting.Setting{
			Name: "tables", Example: "{web.orders: public.orders}",
			Meaning: "Tables of single topics, which table is not asked for. Every topic must have a table here or there.",
		}, 1000, topicName(), tableName(), func(p *Plain) *map[string]change.Name { return &p.Tables }),
		setting.Section(setting.Setting{
			Name: "key", Meaning: "Where a row's key stands. Which columns it has, the target's table says.",
		}, plainKeyKeys(), func(p *Plain) *PlainKey { return &p.Key }),
		setting.Pairs(setting.Setting{
			Name: "columns", Example: "{custId: customer_id}",
			Meaning: "Fields that lead to a column of another name. All others lead to the column of their own.",
		}, 1000, text(), columnName(), func(p *Plain) *map[string]string { return &p.Columns }),
		setting.Scalar(setting.Setting{
			Name: "absent", Default: "keep",
			Meaning: "What a column without a field means. keep: a row that is there keeps it, a new one has its default; " +
				"update: the same, and the row must be there; null: NULL; halt: the record is refused.",
		}, words("keep", "update", "null", "halt"), func(p *Plain) *string { return &p.Absent }),
		setting.Scalar(setting.Setting{
			Name: "tombstones", Default: "delete",
			Meaning: "What a key with the value null means: the row is deleted, or nothing.",
		}, words("delete", "ignore"), func(p *Plain) *string { return &p.Tombstones }),
		setting.Scalar(setting.Setting{
			Name: "delete_field", Example: "deleted",
			Meaning: "Field that is true in a document whose row is to be deleted. Without this key there is none.",
		}, text(), func(p *Plain) *string { return &p.DeleteField }),
	}
}

func plainKeyKeys() []setting.Field[PlainKey] {
	return []setting.Field[PlainKey]{
		setting.Scalar(setting.Setting{
			Name: "from", Default: "record_key",
			Meaning: "record_key: the record's key in JSON, an object with a field for each column of the key and no other, " +
				"or a scalar for a key of one column; record_key_text: the record's key as it stands, for a key of one " +
				"column; value: the document; headers: the record's headers, one for each column.",
		}, words("record_key", "record_key_text", "value", "headers"), func(k *PlainKey) *string { return &k.From }),
		setting.Pairs(setting.Setting{
			Name: "columns", Example: "{orderId: id}",
			Meaning: "Fields of the record's key, or headers, that lead to a column of another name. " +
				"For record_key and headers alone.",
		}, 1000, text(), columnName(), func(k *PlainKey) *map[string]string { return &k.Columns }).
			Where(PlainKey.fits),
	}
}

// fits says why the key's columns cannot be led.
func (k PlainKey) fits() error {
	columns := slices.Sorted(maps.Values(k.Columns))
	switch {
	case len(columns) > 0 && (k.From == "record_key_text" || k.From == "value"):
		return fmt.Errorf("are for a key from record_key or headers: one from %s has no names to lead to columns", k.From)
	case len(slices.Compact(columns)) < len(k.Columns):
		return errors.New("lead two names to one column; remove one")
	}
	return nil
}

// plainValueKeys say what JSON leaves open in values.
func plainValueKeys() []setting.Field[Plain] {
	return []setting.Field[Plain]{
		setting.Scalar(setting.Setting{
			Name: "epoch", Default: "none",
			Meaning: "Unit of a number in a timestamp column, counted from 1970-01-01 in UTC. none: such a number is refused.",
		}, setting.Choice(
			setting.Option[string]{Name: "none", Value: ""},
			setting.Option[string]{Name: "s", Value: "s"},
			setting.Option[string]{Name: "ms", Value: "ms"},
			setting.Option[string]{Name: "us", Value: "us"},
		), func(p *Plain) *string { return &p.Epoch }),
		setting.Scalar(setting.Setting{
			Name: "binary", Default: "base64",
			Meaning: `How bytes stand in a string: base64 with + and / and padding, or hex with or without a leading \x.`,
		}, words("base64", "hex"), func(p *Plain) *string { return &p.Binary }),
		setting.Scalar(setting.Setting{
			Name: "json", Default: "value",
			Meaning: "What a string in a json or jsonb column is: the document itself, or the text of one.",
		}, words("value", "text"), func(p *Plain) *string { return &p.JSON }),
	}
}

func columnName() setting.Rule[string] {
	return setting.Text("a column's name of 1 to 63 bytes", func(given string) (string, error) {
		if given == "" || len(given) > change.MaxNameBytes {
			return "", errors.New("is not a column's name")
		}
		return given, nil
	})
}
