package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// driver is a client of a service and the folders that may speak to that service with it.
type driver struct {
	prefix string
	homes  []string
}

var drivers = []driver{
	{"github.com/jackc/", []string{"shared/postgres", "cmd", "tests", "localstack/services"}},
	{"github.com/pressly/goose/", []string{"shared/postgres/migrations"}},
	{"github.com/twmb/", []string{"shared/kafka", "localstack", "tests"}},
	{"github.com/minio/", []string{"shared/archive/miniobucket", "localstack", "tests"}},
	{"github.com/aws/aws-lambda-go/", []string{"functions", "localstack", "tests"}},
	{"github.com/aws/aws-sdk-go-v2/", []string{
		"shared/archive/s3bucket", "shared/archive/ssmmark", "shared/eventmapping", "shared/signing/kmskey", "shared/kafka",
		"shared/postgres", "shared/secret", "localstack", "tests",
	}},
}

// driversStayInTheirAdapters checks that a service can be changed in one place. Files of tests may look for themselves.
func driversStayInTheirAdapters(t *tree) []string {
	var findings []string
	for _, s := range t.files {
		if s.isTest() {
			continue
		}
		for _, spec := range s.syntax.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				continue // the parser has accepted it: cannot happen
			}
			for _, d := range drivers {
				if strings.HasPrefix(imported+"/", d.prefix) && !within(s.dir(), d.homes...) {
					findings = append(findings, fmt.Sprintf("%s: %s stands outside %s",
						t.at(spec), imported, strings.Join(d.homes, ", ")))
				}
			}
		}
	}
	return findings
}

func driverSamples() []sample {
	const pgx, goose = "github.com/jackc/pgx/v5", "github.com/pressly/goose/v3"
	const kgo, lambda = "github.com/twmb/franz-go/pkg/kgo", "github.com/aws/aws-lambda-go/lambda"
	const s3, minio = "github.com/aws/aws-sdk-go-v2/service/s3", "github.com/minio/minio-go/v7"
	return []sample{
		{"LetsAdaptersUseTheirDriver", map[string]string{
			"shared/postgres/ledger/a.go":     importing("ledger", pgx),
			"shared/postgres/migrations/a.go": importing("migrations", goose),
			"shared/kafka/a.go":               importing("kafka", kgo),
			"shared/archive/s3bucket/a.go":    importing("s3bucket", s3),
			"functions/apply/main.go":         importing("main", lambda),
			"shared/apply/a_test.go":          importing("apply", pgx),
		}, nil},
		{"ReportsDriversElsewhere", map[string]string{
			"shared/apply/a.go":           importing("apply", pgx, kgo, s3),
			"shared/kafkaevent/a.go":      importing("kafkaevent", lambda),
			"shared/postgres/ledger/a.go": importing("ledger", goose, kgo),
			"functions/apply/main.go":     importing("main", pgx, minio),
		}, []string{
			"functions/apply/main.go:2: " + pgx, minio, "shared/apply/a.go:2: " + pgx, kgo, s3,
			"shared/kafkaevent/a.go:2: " + lambda, "shared/postgres/ledger/a.go:2: " + goose, kgo,
		}},
	}
}

// sqlHomes are the folders that may hold SQL.
var sqlHomes = []string{"shared/postgres", "localstack", "tests"}

// sqlText finds strings that are SQL: a command in capitals, or one in small letters with what follows it in SQL alone.
var sqlText = regexp.MustCompile(`(?s)^\s*(?:(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|TRUNCATE|SET|LOCK|WITH|COPY|MERGE|` +
	`GRANT|REVOKE|CALL|VALUES|EXPLAIN|ANALYZE|VACUUM|NOTIFY|LISTEN|SAVEPOINT|RELEASE|START|PREPARE|EXECUTE|DECLARE|FETCH)\s` +
	`|(?:BEGIN|COMMIT|ROLLBACK|ABORT)(?:\s|;|$)` +
	`|select\s.*\sfrom\s|insert\s+into\s.*\s(?:values|select)|update\s.*\sset\s.*=|delete\s+from\s.*\swhere\s)`)

// sqlStaysInPostgres checks that no other package knows how the database is asked.
func sqlStaysInPostgres(t *tree) []string {
	var findings []string
	for _, s := range t.files {
		if s.isTest() || within(s.dir(), sqlHomes...) {
			continue
		}
		ast.Inspect(s.syntax, func(node ast.Node) bool {
			literal, ok := node.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			if text, err := strconv.Unquote(literal.Value); err == nil && sqlText.MatchString(text) {
				findings = append(findings, fmt.Sprintf("%s: SQL stands outside %s", t.at(literal), strings.Join(sqlHomes, ", ")))
			}
			return true
		})
	}
	for _, name := range sortedKeys(t.heads) {
		if path.Ext(name) == ".sql" && !within(name, sqlHomes...) {
			findings = append(findings, fmt.Sprintf("%s: SQL stands outside %s", name, strings.Join(sqlHomes, ", ")))
		}
	}
	return findings
}

func sqlSamples() []sample {
	return []sample{
		{"LeavesWordsAlone", map[string]string{
			"shared/apply/a.go": "package apply\nvar a = []string{\"select\", \"update orders/3 [1,2): %w\", \"SETTLED\", \"delete the row\"," +
				" \"beginning\", \"Select a table from the list\", \"COMMITTED\"}\n",
			"shared/postgres/ledger/a.go":  "package ledger\nconst q = `SELECT 1`\n",
			"shared/postgres/ledger/a.sql": "SELECT 1",
			"shared/apply/a_test.go":       "package apply\nconst q = `SELECT 1`\n",
		}, nil},
		{"ReportsSQLElsewhere", map[string]string{
			"shared/apply/a.go": "package apply\nconst a = \"COMMIT\"\nconst b = `\n  UPDATE x SET y = 1`\nconst c = \"select a from b\"\n" +
				"const d = \"BEGIN; SELECT 1\"\n",
			"cmd/tidemark/a.sql": "select 1",
		}, []string{"shared/apply/a.go:2:", "shared/apply/a.go:3:", "shared/apply/a.go:5:", "shared/apply/a.go:6:", "cmd/tidemark/a.sql"}},
	}
}
