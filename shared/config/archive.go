package config

import (
	"errors"
	"log/slog"
	"strings"
	"time"

	"tidemark/shared/config/location"
	"tidemark/shared/config/setting"
	"tidemark/shared/position"
	"tidemark/shared/secret"
)

// Archive is what every process that reads or writes backups is told.
type Archive struct {
	Primary        location.Place
	PrimaryLogin   location.Login // zero: the AWS SDK's own chain
	Secondary      location.Place // zero: none
	SecondaryLogin location.Login
	CAFile         string // path; empty: the machine's authorities alone

	TrustedKeys string         // path of the file of trusted keys
	SigningKeys []location.Key // of those who write; each of them signs
	HighWater   location.Mark

	Recipients   []string // to whom objects are encrypted; none: as they are
	IdentityFile string   // path; empty: encrypted objects cannot be read

	ObjectLock       time.Duration // of what is written; 0: as the bucket does
	CompressionLevel int
}

// archivistVariables is the table of the variables of verbs on archives.
func archivistVariables() []setting.Field[Archivist] {
	fields := []setting.Field[Archivist]{
		target(func(a *Archivist) *position.TargetID { return &a.TargetID }),
		logLevel(func(a *Archivist) *slog.Level { return &a.LogLevel }),
	}
	fields = append(fields, setting.Lift(archiveVariables(), func(a *Archivist) *Archive { return &a.Archive })...)
	return append(fields, setting.Lift(expiryVariables(), func(a *Archivist) *expiryPolicy { return &a.Expiry })...)
}

// archiveVariables is the table of where an archive is, who vouches for it and how it is packed.
func archiveVariables() []setting.Field[Archive] {
	fields := []setting.Field[Archive]{
		setting.Scalar(setting.Setting{
			Name: "TIDEMARK_ARCHIVE", Required: true, Withheld: true, Example: "s3://shop-backups/tidemark?region=eu-central-1",
			Meaning: "Where backups are: a bucket and a prefix in it, which belong to this target alone.",
		}, place(), func(a *Archive) *location.Place { return &a.Primary }),
	}
	fields = append(fields, login("TIDEMARK_ARCHIVE", "the store of TIDEMARK_ARCHIVE",
		func(a *Archive) *location.Login { return &a.PrimaryLogin }, func(a Archive) location.Place { return a.Primary })...)
	fields = append(fields, setting.Scalar(setting.Setting{
		Name: "TIDEMARK_ARCHIVE_SECONDARY", Withheld: true, Example: "s3://shop-backups-2/tidemark?region=eu-west-1",
		Meaning: "Where the second copy of every backup is: best in another account and region.",
	}, place(), func(a *Archive) *location.Place { return &a.Secondary }).Where(func(a Archive) error {
		if a.Primary.IsZero() || a.Secondary.IsZero() {
			return nil // refused already
		}
		if err := a.Secondary.Apart(a.Primary); err != nil {
			return errors.New(err.Error() + " as TIDEMARK_ARCHIVE: name another bucket or folder, or leave it out")
		}
		return nil
	}))
	fields = append(fields, login("TIDEMARK_ARCHIVE_SECONDARY", "the store of TIDEMARK_ARCHIVE_SECONDARY",
		func(a *Archive) *location.Login { return &a.SecondaryLogin }, func(a Archive) location.Place { return a.Secondary })...)
	return append(append(fields, trustVariables()...), packingVariables()...)
}

// login is the two variables of what one store is shown.
func login(name, store string, at func(*Archive) *location.Login, of func(Archive) location.Place) []setting.Field[Archive] {
	accessKey, secretKey := name+"_ACCESS_KEY", name+"_SECRET_KEY"
	return []setting.Field[Archive]{
		setting.Scalar(setting.Setting{
			Name: accessKey, Secret: true,
			Meaning: "Access key of " + store + ", with " + secretKey + ". A minio:// store needs both; an s3:// store without " +
				"them is shown what the AWS SDK finds: variables AWS_*, shared files, the role of the platform.",
		}, word(), func(a *Archive) *secret.Text { return &at(a).AccessKey }),
		setting.Scalar(setting.Setting{
			Name: secretKey, Secret: true, Meaning: "Secret key of " + store + ", with " + accessKey + ".",
		}, word(), func(a *Archive) *secret.Text { return &at(a).SecretKey }).Always(func(a Archive) error {
			given, place := *at(&a), of(a)
			switch {
			case given.AccessKey.IsZero() != given.SecretKey.IsZero():
				return errors.New("and " + accessKey + " belong together: set both or neither")
			case given.IsZero() && place.Kind == location.Minio:
				return errors.New("and " + accessKey + " are not set, and " + name + " is a minio:// store: set both")
			case !given.IsZero() && place.Kind == location.File:
				return errors.New("is set, and " + name + " is a folder: take it away")
			}
			return nil
		}),
	}
}

// trustVariables is the part of the table that says whose word counts.
func trustVariables() []setting.Field[Archive] {
	return []setting.Field[Archive]{
		setting.Scalar(setting.Setting{
			Name: "TIDEMARK_ARCHIVE_CA_FILE", Example: "/etc/tidemark/store-ca.pem",
			Meaning: "Path of a PEM file with the authorities that vouch for the stores' certificates, beside those of the machine.",
		}, withoutZero("a path"), func(a *Archive) *string { return &a.CAFile }),
		setting.Scalar(setting.Setting{
			Name: "TIDEMARK_TRUSTED_KEYS", Required: true, Example: "/etc/tidemark/trusted-keys.yaml",
			Meaning: "Path of the file of trusted keys: what they signed is believed, and nothing else. Keep it away from the archive.",
		}, withoutZero("a path"), func(a *Archive) *string { return &a.TrustedKeys }),
		setting.Scalar(setting.Setting{
			Name: "TIDEMARK_SIGNING_KEYS", Withheld: true, Example: "awskms:alias/tidemark-backup",
			Meaning: "The keys that sign backups, marks that keep one, and revocations. Each of them signs, so that a key is replaced without a gap. " +
				"Whoever only reads needs none.",
		}, setting.Text(location.KeysTake, location.ParseKeys), func(a *Archive) *[]location.Key { return &a.SigningKeys }),
		setting.Scalar(setting.Setting{
			Name: "TIDEMARK_HIGH_WATER", Example: "ssm:/tidemark/shop-prod/newest",
			Meaning: "Where the newest backup is remembered outside the buckets, so that a bucket that was turned back is noticed. " +
				"Without it freshness is unproven.",
		}, setting.Text(location.MarkTakes, location.ParseMark), func(a *Archive) *location.Mark { return &a.HighWater }),
	}
}

// packingVariables is the part of the table that says in which form objects are stored.
func packingVariables() []setting.Field[Archive] {
	const year = 365 * 24 * time.Hour
	return []setting.Field[Archive]{
		setting.Scalar(setting.Setting{
			Name: "TIDEMARK_AGE_RECIPIENTS", Withheld: true,
			Meaning: "Public age keys that objects are encrypted to before they leave this process. " +
				"Without one the store alone encrypts. Losing every identity loses the backups.",
		}, recipients(), func(a *Archive) *[]string { return &a.Recipients }),
		setting.Scalar(setting.Setting{
			Name: "TIDEMARK_AGE_IDENTITY_FILE", Example: "/etc/tidemark/age-identities.txt",
			Meaning: "Path of a file with the age identities that open objects. Keep old ones in it: old backups need them.",
		}, withoutZero("a path"), func(a *Archive) *string { return &a.IdentityFile }),
		setting.Scalar(setting.Setting{
			Name: "TIDEMARK_OBJECT_LOCK", Default: "0",
			Meaning: "How long what a backup writes is locked against deletion, in buckets with object lock. " +
				"0: as the bucket does by itself.",
		}, setting.Duration(time.Hour, 10*year).Or("0", 0), func(a *Archive) *time.Duration { return &a.ObjectLock }),
		setting.Scalar(setting.Setting{
			Name: "TIDEMARK_COMPRESSION_LEVEL", Default: "1",
			Meaning: "Level of zstd. Higher ones take more time and memory for smaller objects.",
		}, setting.Number(1, 19), func(a *Archive) *int { return &a.CompressionLevel }),
	}
}

func place() setting.Rule[location.Place] { return setting.Text(location.Takes, location.Parse) }

// word is a secret of one line.
func word() setting.Rule[secret.Text] {
	return setting.Text("text without blanks and control characters", func(given string) (secret.Text, error) {
		if strings.ContainsFunc(given, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
			return secret.Text{}, errors.New("holds a blank or a control character")
		}
		return secret.New(given), nil
	})
}

// recipients only looks at the outside of keys: whether they are keys is found out by the one who encrypts.
func recipients() setting.Rule[[]string] {
	return setting.Text("1 or more age recipients (age1…) with a comma between them", func(given string) ([]string, error) {
		parts := strings.Split(given, ",")
		for i, part := range parts {
			parts[i] = strings.TrimSpace(part)
			switch {
			case strings.HasPrefix(strings.ToUpper(parts[i]), "AGE-SECRET-KEY-"):
				return nil, errors.New("holds an identity, which is secret, instead of a recipient: replace that key, it was shown")
			case !strings.HasPrefix(parts[i], "age1"), strings.ContainsFunc(parts[i], isNoBech32):
				return nil, errors.New("has something else than age recipients in it")
			}
		}
		return parts, nil
	})
}

func isNoBech32(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }
