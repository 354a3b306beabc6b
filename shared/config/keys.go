package config

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"tidemark/shared/change"
	"tidemark/shared/config/setting"
	"tidemark/shared/position"
)

// flowKeys is the table of the flow file's keys.
func flowKeys() []setting.Field[Flow] {
	return slices.Concat(streamKeys(), policyKeys(), limitKeys(), sectionKeys())
}

// streamKeys say what is read.
func streamKeys() []setting.Field[Flow] {
	return []setting.Field[Flow]{
		setting.Scalar(setting.Setting{
			Name: "flow", Required: true, Example: "shop",
			Meaning: "Name of the flow: part of its checkpoints' identity, so another name is another flow.",
		}, flowName(), func(f *Flow) *string { return &f.Name }),
		setting.Scalar(setting.Setting{
			Name: "format", Required: true, Example: "debezium",
			Meaning: "How the records of the topics are written.",
		}, setting.Choice(setting.Option[Format]{Name: "debezium", Value: FormatDebezium}),
			func(f *Flow) *Format { return &f.Format }),
		setting.List(setting.Setting{
			Name: "topics", Required: true, Example: "[dbn.shop.orders]",
			Meaning: "Kafka topics of the flow, each once.",
		}, setting.Texts(1, 1000, topicName()), func(f *Flow) *[]string { return &f.Topics }),
		setting.Scalar(setting.Setting{
			Name: "log", Default: "dense",
			Meaning: "What a hole between offsets means. In a dense log there are none, so each is a gap: " +
				"topics without compaction and transactions.",
		}, setting.Choice(
			setting.Option[string]{Name: "dense", Value: "dense"},
			setting.Option[string]{Name: "brokers", Unoffered: "it does not ask the brokers about holes and needs log: dense"},
		), func(f *Flow) *string { return &f.Log }),
		setting.Scalar(setting.Setting{
			Name: "producers", Default: "plain",
			Meaning: "Whether the topics' producers write in Kafka transactions.",
		}, setting.Choice(
			setting.Option[string]{Name: "plain", Value: "plain"},
			setting.Option[string]{Name: "transactional", Unoffered: "it cannot tell what was committed"},
		), func(f *Flow) *string { return &f.Producers }),
	}
}

// policyKeys say what stops the flow.
func policyKeys() []setting.Field[Flow] {
	return []setting.Field[Flow]{
		setting.Scalar(setting.Setting{
			Name: "gaps", Default: "refuse",
			Meaning: "What happens at records that the log no longer holds. refuse stops until an operator decides.",
		}, setting.Choice(
			setting.Option[string]{Name: "refuse", Value: "refuse"},
			setting.Option[string]{Name: "heal", Unoffered: "it does not read from the brokers and needs gaps: refuse"},
		), func(f *Flow) *string { return &f.Gaps }),
		setting.Scalar(setting.Setting{
			Name: "on_poison", Default: "halt",
			Meaning: "What happens at a record that can never be applied. halt leaves its partition where it is.",
		}, setting.Choice(
			setting.Option[string]{Name: "halt", Value: "halt"},
			setting.Option[string]{Name: "park", Unoffered: "it has no quarantine and needs on_poison: halt"},
		), func(f *Flow) *string { return &f.OnPoison }),
		setting.Scalar(setting.Setting{
			Name: "on_unknown_table", Default: "halt",
			Meaning: "What happens at changes of a table that the target does not have.",
		}, ignorable(), func(f *Flow) *bool { return &f.IgnoreUnknownTables }),
		setting.Scalar(setting.Setting{
			Name: "on_unknown_column", Default: "halt",
			Meaning: "What happens at columns that the target's table does not have.",
		}, ignorable(), func(f *Flow) *bool { return &f.IgnoreUnknownColumns }),
	}
}

// limitKeys bound one transaction.
func limitKeys() []setting.Field[Flow] {
	return []setting.Field[Flow]{
		setting.Scalar(setting.Setting{
			Name: "max_transaction_rows", Default: "10000",
			Meaning: "Most rows of one transaction in the target. A larger delivery is split; each part commits its position.",
		}, setting.Number(1, 1_000_000), func(f *Flow) *int { return &f.MaxTransactionRows }),
		setting.Scalar(setting.Setting{
			Name: "max_transaction_bytes", Default: "32MiB",
			Meaning: "Most bytes of values of one transaction in the target.",
		}, setting.Size(1<<10, 1<<30), func(f *Flow) *int64 { return &f.MaxTransactionBytes }),
		setting.Scalar(setting.Setting{
			Name: "deadline_reserve", Default: "2s",
			Meaning: "How long before a function's deadline no new work is started.",
		}, setting.Duration(100*time.Millisecond, time.Minute), func(f *Flow) *time.Duration { return &f.DeadlineReserve }),
	}
}

// sectionKeys hold further keys.
func sectionKeys() []setting.Field[Flow] {
	return []setting.Field[Flow]{
		setting.List(setting.Setting{
			Name: "routes", Example: "[{from: shop.orders, to: public.orders}]",
			Meaning: "Tables whose changes go to a table of another name. All others keep schema and name.",
		}, setting.Maps(1000, routeKeys(), Route.ends), func(f *Flow) *[]Route { return &f.Routes }),
		setting.Section(setting.Setting{
			Name: "debezium", Meaning: "How the Debezium connector is configured, as far as its records do not say it.",
		}, debeziumKeys(), func(f *Flow) *Debezium { return &f.Debezium }),
	}
}

func routeKeys() []setting.Field[Route] {
	takes := "SCHEMA.TABLE, without quotes, each part 1 to 63 bytes"
	table := setting.Checked(takes, "is not a table name", change.ParseName)
	return []setting.Field[Route]{
		setting.Scalar(setting.Setting{
			Name: "from", Required: true, Example: "shop.orders",
			Meaning: "Table as the source names it. No other route may name it.",
		}, table, func(r *Route) *change.Name { return &r.From }),
		setting.Scalar(setting.Setting{
			Name: "to", Required: true, Example: "public.orders",
			Meaning: "Table of the target. No other route may name it: rows of two tables would overwrite each other.",
		}, table, func(r *Route) *change.Name { return &r.To }),
	}
}

func debeziumKeys() []setting.Field[Debezium] {
	return []setting.Field[Debezium]{
		setting.Scalar(setting.Setting{
			Name: "unavailable_value", Default: "__debezium_unavailable_value",
			Meaning: "The connector's unavailable.value.placeholder.",
		}, setting.Text("1 to 255 bytes of text", func(given string) (string, error) {
			if len(given) == 0 || len(given) > 255 {
				return "", fmt.Errorf("has %d bytes", len(given))
			}
			return given, nil
		}), func(d *Debezium) *string { return &d.UnavailableValue }),
		setting.Scalar(setting.Setting{
			Name: "decimal", Default: "precise", Meaning: "The connector's decimal.handling.mode.",
		}, setting.Choice(
			setting.Option[Decimal]{Name: "precise", Value: DecimalPrecise},
			setting.Option[Decimal]{Name: "string", Value: DecimalString},
			setting.Option[Decimal]{Name: "double", Value: DecimalDouble},
		), func(d *Debezium) *Decimal { return &d.Decimal }),
		setting.Scalar(setting.Setting{
			Name: "binary", Default: "base64", Meaning: "The connector's binary.handling.mode.",
		}, setting.Choice(
			setting.Option[Binary]{Name: "base64", Value: BinaryBase64},
			setting.Option[Binary]{Name: "hex", Value: BinaryHex},
		), func(d *Debezium) *Binary { return &d.Binary }),
		setting.Scalar(setting.Setting{
			Name: "unrepresentable", Default: "halt",
			Meaning: "What happens at a value that the target's type cannot hold. null writes NULL in its place.",
		}, setting.Choice(
			setting.Option[bool]{Name: "halt", Value: false},
			setting.Option[bool]{Name: "null", Value: true},
		), func(d *Debezium) *bool { return &d.NullUnrepresentable }),
	}
}

func ignorable() setting.Rule[bool] {
	return setting.Choice(
		setting.Option[bool]{Name: "halt", Value: false},
		setting.Option[bool]{Name: "ignore", Value: true},
	)
}

func flowName() setting.Rule[string] {
	pattern := regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)
	takes := "1 to 63 characters of a-z, 0-9, '.', '_' and '-', the first a letter or digit"
	return setting.Text(takes, func(given string) (string, error) {
		if !pattern.MatchString(given) {
			return "", errors.New("is not a flow name")
		}
		return given, nil
	})
}

func topicName() setting.Rule[string] {
	takes := "a topic name of 1 to 249 characters of a-z, A-Z, 0-9, '.', '_' and '-', not '.' or '..'"
	return setting.Checked(takes, "is not a topic name", func(given string) (string, error) {
		return given, position.Partition{Topic: given}.Validate()
	})
}

// ends names both tables of a route, which no other route may name.
func (r Route) ends() []string { return []string{"from: " + r.From.String(), "to: " + r.To.String()} }
