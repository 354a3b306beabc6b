package secret

import (
	"encoding/json"
	"strings"

	"tidemark/shared/fault"
)

// Login is who logs in.
type Login struct {
	User     string // empty: the secret does not say
	Password Text
}

// passwordKey is where Secrets Manager's own rotations, those of RDS and of MSK, keep the password.
const passwordKey = "password"

// ParseLogin reads what is kept in a secret: the password as it is, or a JSON object with it. A user stands beside the
// password under username; beside the password of another key it may be another's, and is left alone.
//
// Errors: fault.Misconfigured, without any of the text.
func ParseLogin(text Text, key string) (Login, error) {
	content := strings.TrimSpace(text.Reveal())
	var members map[string]json.RawMessage
	isObject := strings.HasPrefix(content, "{") && json.Unmarshal([]byte(content), &members) == nil
	if key == "" && !isObject {
		return checked(Login{Password: text})
	}
	if !isObject {
		return Login{}, fault.New(fault.Misconfigured, "the secret is no JSON object, so it has no key %s", key).
			WithHint("leave #%s out of its name, or keep an object in it", key)
	}
	if key == "" {
		key = passwordKey
	}
	password, ok := member(members, key)
	if !ok {
		return Login{}, fault.New(fault.Misconfigured, "the secret's JSON has no text under the key %s", key).
			WithHint("name the password's key behind a #, as in shop/database#%s", passwordKey)
	}
	found := Login{Password: New(password)}
	if key == passwordKey {
		found.User, _ = member(members, "username")
	}
	return checked(found)
}

// member reads a text. Names count as they are written, which a struct would not do.
func member(of map[string]json.RawMessage, key string) (text string, ok bool) {
	var value *string
	if err := json.Unmarshal(of[key], &value); err != nil || value == nil {
		return "", false
	}
	return *value, true
}

func checked(found Login) (Login, error) {
	switch {
	case found.Password.IsZero():
		return Login{}, fault.New(fault.Misconfigured, "the secret holds an empty password")
	case strings.ContainsRune(found.Password.Reveal(), 0), strings.ContainsRune(found.User, 0):
		return Login{}, fault.New(fault.Misconfigured, "the secret holds a zero byte, which no login can")
	}
	return found, nil
}
