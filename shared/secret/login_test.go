package secret_test

import (
	"strings"
	"testing"

	"tidemark/shared/fault"
	"tidemark/shared/secret"
)

func TestParseLogin(t *testing.T) {
	t.Parallel()
	const rds = `{"username":"shop","password":"hunter2","engine":"postgres","host":"db","port":5432,"dbInstanceIdentifier":"x"}`
	for name, c := range map[string]struct{ text, key, user, password string }{
		"PlainText":               {"hunter2", "", "", "hunter2"},
		"PlainTextAsItIs":         {" hunter2\n", "", "", " hunter2\n"},
		"PlainTextWithABrace":     {"{hunter2", "", "", "{hunter2"},
		"TheFormOfRDS":            {rds, "", "shop", "hunter2"},
		"TheFormOfMSK":            {` {"username":"u","password":"hunter2"} `, "", "u", "hunter2"},
		"ItsKeyByName":            {rds, "password", "shop", "hunter2"},
		"AnotherKeyIsNotTheUsers": {`{"username":"u","password":"x","reports":"hunter2"}`, "reports", "", "hunter2"},
		"NoUser":                  {`{"password":"hunter2"}`, "", "", "hunter2"},
		"Escapes":                 {`{"password":"h\u0075nter2\""}`, "", "", `hunter2"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := secret.ParseLogin(secret.New(c.text), c.key)
			if err != nil || got.User != c.user || got.Password.Reveal() != c.password {
				t.Errorf("got %q, %q, %v, want %q, %q", got.User, got.Password.Reveal(), err, c.user, c.password)
			}
		})
	}
	for name, c := range map[string]struct{ text, key, says string }{
		"Nothing":               {"", "", "empty password"},
		"AnEmptyPassword":       {`{"username":"hunter2","password":""}`, "", "empty password"},
		"NoPassword":            {`{"Password":"hunter2"}`, "", "under the key password"},
		"APasswordThatIsNull":   {`{"password":null,"x":"hunter2"}`, "", "under the key password"},
		"APasswordThatIsNoText": {`{"password":["hunter2"]}`, "", "under the key password"},
		"NoSuchKey":             {`{"password":"hunter2"}`, "other", "under the key other"},
		"AKeyOfPlainText":       {"hunter2", "other", "no JSON object"},
		"AZeroByte":             {`{"password":"hunter2\u0000"}`, "", "zero byte"},
	} {
		t.Run("Refuses"+name, func(t *testing.T) {
			t.Parallel()
			_, err := secret.ParseLogin(secret.New(c.text), c.key)
			if !fault.Is(err, fault.Misconfigured) || !strings.Contains(fault.Line(err), c.says) || strings.Contains(fault.Line(err), "hunter2") {
				t.Errorf("got %v, want it misconfigured, with %q and nothing of the secret", err, c.says)
			}
		})
	}
}

func TestParseName(t *testing.T) {
	t.Parallel()
	const arn = "arn:aws:secretsmanager:eu-central-1:111122223333:secret:"
	for given, want := range map[string]secret.Name{
		"shop/database":                     {ID: "shop/database"},
		"AmazonMSK_shop#token":              {ID: "AmazonMSK_shop", Key: "token"},
		arn + "shop-AbCdEf":                 {ID: arn + "shop-AbCdEf"},
		arn + "rds!db-0123-AbCdEf#password": {ID: arn + "rds!db-0123-AbCdEf", Key: "password"},
	} {
		if got, err := secret.ParseName(given); err != nil || got != want || got.String() != given {
			t.Errorf("%s: got %v, %v", given, got, err)
		}
	}
	for _, given := range []string{"", "#k", "hunter2#", "a b", "arn:aws:ssm:eu-central-1:111122223333:parameter/x", "x#a#b", "hunter2:x"} {
		if _, err := secret.ParseName(given); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: got %v, want it refused without the text", given, err)
		}
	}
}
