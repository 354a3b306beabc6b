package flow

import (
	"tidemark/shared/apply"
	"tidemark/shared/change"
	"tidemark/shared/config"
	"tidemark/shared/fault"
	"tidemark/shared/format/debezium"
	"tidemark/shared/format/debezium/wire"
	"tidemark/shared/format/plain"
	"tidemark/shared/format/plain/cell"
)

// decoders are the flow's: those of single topics, and the one that the other topics have.
//
// Errors: fault.Misconfigured for keys of the flow file that do not fit its topics.
func decoders(catalog change.Catalog, flow *config.Flow) (map[string]apply.Decoder, apply.Decoder, error) {
	switch flow.Format {
	case config.FormatDebezium:
		decoder, err := debezium.New(catalog, debeziumOptions(flow))
		if err != nil { // of all keys, only this one is not judged by the flow file's table
			return nil, nil, fault.New(fault.Misconfigured, "debezium.unavailable_value: %w", err).
				WithHint("write the connector's unavailable.value.placeholder into the flow file")
		}
		return nil, decoder, nil
	case config.FormatPlain:
		return plainDecoders(catalog, flow)
	}
	return nil, nil, fault.New(fault.Bug, "flow %s: no decoder of format %q", flow.Name, flow.Format)
}

// plainDecoders makes one decoder a topic, because the table may hang on it. The first serves as that of other topics,
// whose records the applier refuses.
func plainDecoders(catalog change.Catalog, flow *config.Flow) (map[string]apply.Decoder, apply.Decoder, error) {
	own := make(map[string]apply.Decoder, len(flow.Topics))
	for _, topic := range flow.Topics {
		decoder, err := plain.New(catalog, plainOptions(flow, topic))
		if err != nil {
			return nil, nil, fault.New(fault.Misconfigured, "plain.table does not fit topic %s: %w", topic, err).
				WithHint("correct plain.table in the flow file, or name the topic's table in plain.tables")
		}
		own[topic] = decoder
	}
	return own, own[flow.Topics[0]], nil
}

func debeziumOptions(flow *config.Flow) debezium.Options {
	options := debezium.Options{
		UnavailableValue: flow.Debezium.UnavailableValue,
		Modes: wire.Modes{
			Decimal: wire.DecimalMode(flow.Debezium.Decimal),
			Binary:  wire.BinaryMode(flow.Debezium.Binary),
			Time:    wire.TimeMode(flow.Debezium.Time),
		},
		Table: flow.Debezium.Table,
	}
	if flow.IgnoreUnknownColumns {
		options.UnknownColumn = debezium.Ignore
	}
	if flow.Debezium.NullUnrepresentable {
		options.Unrepresentable = debezium.Null
	}
	return options
}

func plainOptions(flow *config.Flow, topic string) plain.Options {
	options := plain.Options{
		Topic: topic, Table: flow.Plain.Table, Tables: flow.Plain.Tables,
		Key:     plain.Key{From: plain.Source(flow.Plain.Key.From), Columns: flow.Plain.Key.Columns},
		Columns: flow.Plain.Columns,
		Modes: cell.Modes{
			Binary: cell.Binary(flow.Plain.Binary), Epoch: cell.Epoch(flow.Plain.Epoch), JSON: cell.JSON(flow.Plain.JSON),
		},
		Absent: plain.Policy(flow.Plain.Absent), Tombstone: plain.Policy(flow.Plain.Tombstones),
		DeleteField: flow.Plain.DeleteField,
	}
	if flow.IgnoreUnknownColumns {
		options.UnknownField = plain.Ignore
	}
	return options
}
