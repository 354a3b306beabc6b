// Package brokers owns what the environment says of the Kafka brokers: where they are, how connections are encrypted and who
// logs in.
//
// It refuses what cannot work together, by the variable's name, and shows no password. Whether a broker agrees is found out by
// the one who connects. There is no I/O and no state.
package brokers

import (
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/shared/config/secrets"
	"tidemark/shared/config/setting"
	"tidemark/shared/secret"
)

// Kafka is how the log is reached.
type Kafka struct {
	Addresses  []string // HOST:PORT of some of the brokers
	TLS        bool
	CAFile     string // path; empty: the machine's authorities
	CertFile   string // path; empty: the client shows no certificate
	KeyFile    string
	ServerName string // empty: the brokers' addresses
	Mechanism  string // empty: nobody logs in
	User       string
	Password   secret.Text
	Secret     secret.Name   // holds the password, and the user where none is named; zero: Password
	SecretTTL  time.Duration // how long it is believed; whoever reads the process's variables sets it
	// Development allows connections in the clear to other machines.
	Development bool
	Timeout     time.Duration // of one question with all its attempts
}

// IAM is the mechanism that takes credentials of AWS in place of a user and a password.
const IAM = "AWS_MSK_IAM"

const plain = "PLAIN"

// Variables is the table of the variables.
func Variables() []setting.Field[Kafka] { return slices.Concat(placeVariables(), loginVariables()) }

// Load reads what the environment says of the brokers, for whoever asks nothing else of it. named is false where it names none.
//
// Errors: fault.Misconfigured for everything that is wrong, in one error.
func Load(lookup func(string) (string, bool), environ []string) (c Kafka, named bool, err error) {
	if at, _ := lookup("TIDEMARK_KAFKA_BROKERS"); at == "" {
		return c, false, nil
	}
	from := setting.Environment{Lookup: lookup, Environ: environ, Prefix: "TIDEMARK_KAFKA_"}
	fields := append(Variables(), secrets.TTL(func(k *Kafka) *time.Duration { return &k.SecretTTL }))
	c, err = setting.ReadVariables(fields, from, "set the variables in the process's environment; docs/configuration.md lists every setting")
	return c, true, err
}

// placeVariables say where the brokers are and how connections are encrypted.
func placeVariables() []setting.Field[Kafka] {
	return []setting.Field[Kafka]{
		setting.Scalar(setting.Setting{
			Name: "TIDEMARK_KAFKA_BROKERS", Required: true, Example: "b-1.example.com:9096,b-2.example.com:9096",
			Meaning: "Some of the brokers of the log, from which the others are learned.",
		}, addresses(), func(k *Kafka) *[]string { return &k.Addresses }),
		setting.Scalar(setting.Setting{
			Name: "TIDEMARK_KAFKA_TLS", Default: "true", Meaning: "Whether connections to the brokers are encrypted.",
		}, setting.Switch(), func(k *Kafka) *bool { return &k.TLS }),
		setting.Scalar(setting.Setting{
			Name: "TIDEMARK_KAFKA_CA_FILE", Example: "/etc/tidemark/brokers-ca.pem",
			Meaning: "Path of a PEM file with the authorities that vouch for the brokers, in place of those of the machine.",
		}, path(), func(k *Kafka) *string { return &k.CAFile }).Where(encrypted),
		setting.Scalar(setting.Setting{
			Name: "TIDEMARK_KAFKA_CERT_FILE", Example: "/etc/tidemark/client.pem",
			Meaning: "Path of a PEM file with the certificate that brokers are shown, for mutual TLS.",
		}, path(), func(k *Kafka) *string { return &k.CertFile }).Where(encrypted),
		setting.Scalar(setting.Setting{
			Name: "TIDEMARK_KAFKA_KEY_FILE", Example: "/etc/tidemark/client.key",
			Meaning: "Path of a PEM file with the key of TIDEMARK_KAFKA_CERT_FILE.",
		}, path(), func(k *Kafka) *string { return &k.KeyFile }).Always(func(k Kafka) error {
			if (k.CertFile == "") != (k.KeyFile == "") {
				return errors.New("and TIDEMARK_KAFKA_CERT_FILE belong together: set both or neither")
			}
			return nil
		}),
		setting.Scalar(setting.Setting{
			Name: "TIDEMARK_KAFKA_SERVER_NAME", Example: "kafka.internal",
			Meaning: "Name in the brokers' certificates, where it is not their address.",
		}, text(), func(k *Kafka) *string { return &k.ServerName }).Where(encrypted),
		setting.Scalar(setting.Setting{
			Name: "TIDEMARK_KAFKA_DEVELOPMENT", Default: "false",
			Meaning: "Whether connections in the clear may go to other machines than this one.",
		}, setting.Switch(), func(k *Kafka) *bool { return &k.Development }),
		setting.Scalar(setting.Setting{
			Name: "TIDEMARK_KAFKA_TIMEOUT", Default: "30s", Meaning: "Longest wait for the answer to one question, with all attempts.",
		}, setting.Duration(time.Second, 10*time.Minute), func(k *Kafka) *time.Duration { return &k.Timeout }),
	}
}

// loginVariables say who logs in.
func loginVariables() []setting.Field[Kafka] {
	return []setting.Field[Kafka]{
		setting.Scalar(setting.Setting{
			Name: "TIDEMARK_KAFKA_SASL_MECHANISM",
			Meaning: "How to log in at the brokers. Without it nobody logs in. AWS_MSK_IAM takes the credentials that the AWS SDK " +
				"finds: variables AWS_*, shared files, the role of the platform.",
		}, setting.Choice(option("SCRAM-SHA-256"), option("SCRAM-SHA-512"), option(plain), option(IAM)),
			func(k *Kafka) *string { return &k.Mechanism }).Where(func(k Kafka) error {
			if (k.Mechanism == plain || k.Mechanism == IAM) && !k.TLS {
				return errors.New("shows its secret to whoever listens, and TIDEMARK_KAFKA_TLS is false: encrypt, or take SCRAM")
			}
			return nil
		}),
		setting.Scalar(setting.Setting{
			Name: "TIDEMARK_KAFKA_USER", Meaning: "User of SCRAM or PLAIN, with TIDEMARK_KAFKA_PASSWORD or TIDEMARK_KAFKA_SECRET.",
		}, text(), func(k *Kafka) *string { return &k.User }),
		setting.Scalar(setting.Setting{
			Name: "TIDEMARK_KAFKA_SECRET", Withheld: true, Example: "AmazonMSK_tidemark",
			Meaning: "Secret of AWS Secrets Manager with the password of SCRAM or PLAIN, in place of TIDEMARK_KAFKA_PASSWORD, and, where " +
				"TIDEMARK_KAFKA_USER is not set, with the user: JSON with username and password, or the password as plain text.",
		}, secrets.Name(), func(k *Kafka) *secret.Name { return &k.Secret }),
		setting.Scalar(setting.Setting{
			Name: "TIDEMARK_KAFKA_PASSWORD", Secret: true, Meaning: "Password of TIDEMARK_KAFKA_USER.",
		}, password(), func(k *Kafka) *secret.Text { return &k.Password }).Always(loginFits),
	}
}

// loginFits says whether what the mechanism takes is there, once, and nothing else.
func loginFits(k Kafka) error {
	takes, named := k.Mechanism != "" && k.Mechanism != IAM, !k.Secret.IsZero()
	switch {
	case named && !k.Password.IsZero():
		return errors.New("and TIDEMARK_KAFKA_SECRET exclude each other: set one of them")
	case !takes && named:
		return errors.New("and TIDEMARK_KAFKA_SECRET are for SCRAM and PLAIN: set TIDEMARK_KAFKA_SASL_MECHANISM, or neither of them")
	case takes && !named && (k.User == "" || k.Password.IsZero()):
		return errors.New("and TIDEMARK_KAFKA_USER are what " + k.Mechanism + " takes: set both, or TIDEMARK_KAFKA_SECRET")
	case !takes && (k.User != "" || !k.Password.IsZero()):
		return errors.New("and TIDEMARK_KAFKA_USER are for SCRAM and PLAIN: set TIDEMARK_KAFKA_SASL_MECHANISM, or neither of them")
	}
	return nil
}

func encrypted(k Kafka) error {
	if !k.TLS {
		return errors.New("is for TLS, and TIDEMARK_KAFKA_TLS is false: take one of them away")
	}
	return nil
}

func option(name string) setting.Option[string] {
	return setting.Option[string]{Name: name, Value: name}
}

// addresses only looks at the form: whether a broker is there is found out by the one who connects.
func addresses() setting.Rule[[]string] {
	return setting.Text("1 or more HOST:PORT with a comma between them, each once", func(given string) ([]string, error) {
		var found []string
		for part := range strings.SplitSeq(given, ",") {
			part = strings.TrimSpace(part)
			host, port, err := net.SplitHostPort(part)
			number, failed := strconv.ParseUint(port, 10, 16)
			switch {
			case err != nil, failed != nil, host == "", number == 0, strings.ContainsAny(host, " /@"):
				return nil, errors.New("has something else than HOST:PORT in it")
			case slices.Contains(found, part):
				return nil, errors.New("names a broker twice")
			}
			found = append(found, part)
		}
		return found, nil
	})
}

func path() setting.Rule[string] { return withoutZero("a path") }

func text() setting.Rule[string] { return withoutZero("any text without a zero byte") }

func withoutZero(takes string) setting.Rule[string] {
	return setting.Text(takes, func(given string) (string, error) { return given, refuseZero(given) })
}

func password() setting.Rule[secret.Text] {
	return setting.Text("any text without a zero byte", func(given string) (secret.Text, error) {
		return secret.New(given), refuseZero(given)
	})
}

func refuseZero(given string) error {
	if strings.ContainsRune(given, 0) {
		return errors.New("holds a zero byte")
	}
	return nil
}
