package packing

import (
	"strings"

	"filippo.io/age"

	"tidemark/shared/fault"
)

// ParseRecipients reads public keys, one a line; empty lines and lines that begin with # are passed over. Errors are
// fault.Misconfigured and name the line, never what stands in it.
func ParseRecipients(text string) ([]age.Recipient, error) {
	return parseKeys(text, "recipient", func(line string) ([]age.Recipient, error) {
		return age.ParseRecipients(strings.NewReader(line))
	})
}

// ParseIdentities reads secret keys in the same form, and its errors say as little.
func ParseIdentities(secret string) ([]age.Identity, error) {
	return parseKeys(secret, "identity", func(line string) ([]age.Identity, error) {
		return age.ParseIdentities(strings.NewReader(line))
	})
}

// parseKeys drops the errors of parse, since they may quote what they did not understand: a secret, maybe in the wrong
// list.
func parseKeys[K any](text, kind string, parse func(line string) ([]K, error)) ([]K, error) {
	var keys []K
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, err := parse(line)
		if err != nil {
			return nil, fault.New(fault.Misconfigured, "line %d is no age %s", number, kind).
				WithHint("a recipient is the public half and begins with age1, an identity is the secret half and begins " +
					"with AGE-SECRET-KEY-")
		}
		keys = append(keys, key...)
	}
	if len(keys) == 0 {
		return nil, fault.New(fault.Misconfigured, "there is no age %s in %d lines", kind, number)
	}
	return keys, nil
}
