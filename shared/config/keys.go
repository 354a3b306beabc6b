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
func flowKeys() []setting.Field[Flow] { return append(commonKeys(), plainSection()) }

func commonKeys() []setting.Field[Flow] {
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
			Meaning: "How the records of the topics are written. plain is a JSON object for each row, of any application; " +
				"the section plain, whose keys stand in docs/formats.md, then takes the place of debezium.",
		}, words(FormatDebezium, FormatPlain), func(f *Flow) *Format { return &f.Format }),
		setting.List(setting.Setting{
			Name: "topics", Required: true, Example: "[dbn.shop.orders]",
			Meaning: "Kafka topics of the flow, each once.",
		}, setting.Texts(1, 1000, topicName()), func(f *Flow) *[]string { return &f.Topics }),
		setting.Scalar(setting.Setting{
			Name: "log", Required: true, Example: "dense",
			Meaning: "What a hole between offsets means. In a dense log there are none, so each is a gap. Only whoever knows " +
				"the topics can say so: they have no compaction and no transactional producers.",
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
		identitySection(),
		setting.List(setting.Setting{
			Name: "routes", Example: "[{from: shop.orders, to: public.orders}]",
			Meaning: "Tables whose changes go to a table of another name. All others keep schema and name.",
		}, setting.Maps(1000, routeKeys(), Route.ends), func(f *Flow) *[]Route { return &f.Routes }),
		debeziumSection(),
	}
}

func identitySection() setting.Field[Flow] {
	return setting.Section(setting.Setting{
		Name: "identity",
		Meaning: "For producers that are not idempotent, which may put one event on the log twice, under two offsets: " +
			"a name of its own tells that it is one, and it is applied once.",
	}, []setting.Field[Identity]{
		setting.Scalar(setting.Setting{
			Name: "header", Example: "event-id",
			Meaning: "Header with the event's name. A record without it halts. Without this key the flow has no identities.",
		}, text(), func(i *Identity) *string { return &i.Header }),
		setting.Scalar(setting.Setting{
			Name: "horizon", Default: "168h",
			Meaning: "How long identities are remembered. An older record cannot be judged any more and halts.",
		}, setting.Duration(time.Hour, 8760*time.Hour), func(i *Identity) *time.Duration { return &i.Horizon }),
	}, func(f *Flow) *Identity { return &f.Identity }).Where(func(f Flow) error {
		if f.Identity.Header == "" {
			return errors.New("names no header, so it would do nothing; add identity.header or remove the section")
		}
		return nil
	})
}

func routeKeys() []setting.Field[Route] {
	return []setting.Field[Route]{
		setting.Scalar(setting.Setting{
			Name: "from", Required: true, Example: "shop.orders",
			Meaning: "Table as the source names it. No other route may name it.",
		}, tableName(), func(r *Route) *change.Name { return &r.From }),
		setting.Scalar(setting.Setting{
			Name: "to", Required: true, Example: "public.orders",
			Meaning: "Table of the target. No other route may name it: rows of two tables would overwrite each other.",
		}, tableName(), func(r *Route) *change.Name { return &r.To }),
	}
}

func ignorable() setting.Rule[bool] {
	return setting.Choice(
		setting.Option[bool]{Name: "halt", Value: false},
		setting.Option[bool]{Name: "ignore", Value: true},
	)
}

// words is a choice of words that mean themselves.
func words[W ~string](names ...W) setting.Rule[W] {
	options := make([]setting.Option[W], len(names))
	for i, name := range names {
		options[i] = setting.Option[W]{Name: string(name), Value: name}
	}
	return setting.Choice(options...)
}

// text is any text that is no longer than a name may be.
func text() setting.Rule[string] {
	return setting.Text("1 to 255 bytes of text", func(given string) (string, error) {
		if given == "" || len(given) > 255 {
			return "", fmt.Errorf("has %d bytes", len(given))
		}
		return given, nil
	})
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

func tableName() setting.Rule[change.Name] {
	takes := "SCHEMA.TABLE, without quotes, each part 1 to 63 bytes"
	return setting.Checked(takes, "is not a table name", change.ParseName)
}

// ends names both tables of a route, which no other route may name.
func (r Route) ends() []string { return []string{"from: " + r.From.String(), "to: " + r.To.String()} }
