package config

import (
	"errors"
	"log/slog"
	"regexp"
	"strings"
	"time"

	"tidemark/shared/config/connstring"
	"tidemark/shared/config/secrets"
	"tidemark/shared/config/setting"
	"tidemark/shared/position"
	"tidemark/shared/secret"
)

// applyVariables is the table of the apply function's variables.
func applyVariables() []setting.Field[Apply] {
	return append(setting.Lift(processVariables(), func(a *Apply) *Process { return &a.Process }),
		flowFile(true, func(a *Apply) *string { return &a.FlowFile }),
		setting.Scalar(setting.Setting{
			Name: "TIDEMARK_PARTIAL_REPLIES", Default: "false",
			Meaning: "Whether the event source mapping has ReportBatchItemFailures. " +
				"The two must agree: a reply in parts that the service does not expect counts as success.",
		}, setting.Switch(), func(a *Apply) *bool { return &a.PartialReplies }),
	)
}

// commandVariables is the table of the variables of the operator's command.
func commandVariables() []setting.Field[Command] {
	return append(setting.Lift(processVariables(), func(c *Command) *Process { return &c.Process }),
		flowFile(false, func(c *Command) *string { return &c.FlowFile }))
}

// processVariables is the table of what every process reads. The password comes after the connection string: it goes
// in.
func processVariables() []setting.Field[Process] {
	return []setting.Field[Process]{
		target(func(p *Process) *position.TargetID { return &p.TargetID }),
		setting.Scalar(setting.Setting{
			Name: "TIDEMARK_DATABASE_URL", Required: true, Secret: true,
			Example: "postgres://tidemark@db.example.com:5432/shop",
			Meaning: "How to reach the target's PostgreSQL. Without sslmode, verify-full is added; " +
				"disable, allow and prefer are for sockets and loopback hosts alone.",
		}, databaseURL(), func(p *Process) *secret.Text { return &p.Database }),
		setting.Scalar(setting.Setting{
			Name: "TIDEMARK_DATABASE_SECRET", Withheld: true, Example: "arn:aws:secretsmanager:eu-central-1:111122223333:secret:shop-AbCdEf",
			Meaning: "Secret of AWS Secrets Manager with the password of the database user, in place of TIDEMARK_DATABASE_PASSWORD: as " +
				"plain text, or as JSON under password or the key behind the #. Beside password, username overrules the user of " +
				"TIDEMARK_DATABASE_URL. It is read for new connections, so a rotation needs no restart.",
		}, secrets.Name(), func(p *Process) *secret.Name { return &p.DatabaseSecret }),
		databasePassword(),
		setting.Scalar(setting.Setting{
			Name: "TIDEMARK_DATABASE_IAM", Default: "false",
			Meaning: "Whether the user logs in at a database of RDS or Aurora by IAM, with a token that is signed for each connection. " +
				"TIDEMARK_DATABASE_URL names the database by its address at RDS; the role needs rds-db:connect for the user.",
		}, setting.Switch(), func(p *Process) *bool { return &p.DatabaseIAM }).Where(func(p Process) error {
			if p.DatabaseIAM && !p.DatabaseSecret.IsZero() {
				return errors.New("and TIDEMARK_DATABASE_SECRET exclude each other: set one of them")
			}
			return nil
		}),
		secrets.TTL(func(p *Process) *time.Duration { return &p.SecretTTL }),
		setting.Scalar(setting.Setting{
			Name: "TIDEMARK_LEDGER_SCHEMA", Default: "tidemark",
			Meaning: "Schema of the ledger in the target.",
		}, schemaName(), func(p *Process) *string { return &p.LedgerSchema }),
		setting.Scalar(setting.Setting{
			Name: "TIDEMARK_DATABASE_CONNECTIONS", Default: "1",
			Meaning: "Connections that one process keeps to the target. " +
				"A function's environment serves one delivery at a time, so two is the most it can use.",
		}, setting.Number(1, 2), func(p *Process) *int { return &p.Connections }),
		setting.Scalar(setting.Setting{
			Name: "TIDEMARK_PREPARED_STATEMENTS", Default: "true",
			Meaning: "Whether statements that come often are prepared. " +
				"Say false behind a pooler that gives a session another connection (PgBouncer in transaction mode, RDS Proxy).",
		}, setting.Switch(), func(p *Process) *bool { return &p.PreparedStatements }),
		setting.Scalar(setting.Setting{
			Name: "TIDEMARK_CONNECT_TIMEOUT", Default: "5s",
			Meaning: "Longest wait for a new connection to the target.",
		}, setting.Duration(100*time.Millisecond, time.Minute), func(p *Process) *time.Duration { return &p.ConnectTimeout }),
		logLevel(func(p *Process) *slog.Level { return &p.LogLevel }),
	}
}

func target[T any](at func(*T) *position.TargetID) setting.Field[T] {
	return setting.Scalar(setting.Setting{
		Name: "TIDEMARK_TARGET_ID", Required: true, Example: "shop-prod",
		Meaning: "Identity of the target, chosen once and kept by every recovery. " +
			"A database or an archive with another id is refused.",
	}, targetID(), at)
}

func logLevel[T any](at func(*T) *slog.Level) setting.Field[T] {
	return setting.Scalar(setting.Setting{
		Name: "TIDEMARK_LOG_LEVEL", Default: "info",
		Meaning: "Least level of the log lines that are written.",
	}, setting.Choice(
		setting.Option[slog.Level]{Name: "debug", Value: slog.LevelDebug},
		setting.Option[slog.Level]{Name: "info", Value: slog.LevelInfo},
		setting.Option[slog.Level]{Name: "warn", Value: slog.LevelWarn},
		setting.Option[slog.Level]{Name: "error", Value: slog.LevelError},
	), at)
}

func flowFile[T any](required bool, at func(*T) *string) setting.Field[T] {
	return setting.Scalar(setting.Setting{
		Name: "TIDEMARK_FLOW_FILE", Required: required, Example: "/var/task/flow.yaml",
		Meaning: "Path of the flow file.",
	}, withoutZero("a path"), at)
}

func targetID() setting.Rule[position.TargetID] {
	takes := "1 to 63 characters of a-z, 0-9, '.', '_' and '-', the first a letter or digit"
	return setting.Checked(takes, "is not a target id", position.ParseTargetID)
}

func databaseURL() setting.Rule[secret.Text] {
	return setting.Text("a postgres:// URL or host=… user=… dbname=… pairs, with a host", connstring.Secure)
}

// databasePassword puts the password into the connection string, where it overrules the one that is there: whoever
// takes the string cannot forget it.
func databasePassword() setting.Field[Process] {
	return setting.Put(setting.Setting{
		Name: "TIDEMARK_DATABASE_PASSWORD", Secret: true,
		Meaning: "Password of the database user, as it is, without escapes. " +
			"It overrules a password in TIDEMARK_DATABASE_URL.",
	}, withoutZero("any text without a zero byte"), func(p *Process, password string) {
		// A connection string that was refused is reported already.
		if complete, err := connstring.WithPassword(p.Database, password); err == nil {
			p.Database = complete
		}
	}).Where(func(p Process) error {
		if !p.DatabaseSecret.IsZero() {
			return errors.New("and TIDEMARK_DATABASE_SECRET exclude each other: set one of them")
		}
		return nil
	})
}

func withoutZero(takes string) setting.Rule[string] {
	return setting.Text(takes, func(given string) (string, error) {
		if strings.ContainsRune(given, 0) {
			return "", errors.New("holds a zero byte")
		}
		return given, nil
	})
}

// schemaName is a schema of PostgreSQL that needs no quotes and is not the server's own.
func schemaName() setting.Rule[string] {
	pattern := regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`)
	takes := "1 to 63 characters of a-z, 0-9 and '_', the first not a digit, not pg_… or information_schema"
	return setting.Text(takes, func(given string) (string, error) {
		switch {
		case strings.HasPrefix(given, "pg_"), given == "information_schema":
			return "", errors.New("belongs to PostgreSQL itself")
		case !pattern.MatchString(given):
			return "", errors.New("is not a schema name")
		}
		return given, nil
	})
}
