package secret

import (
	"errors"
	"regexp"
	"strings"
)

// Name says where a secret is kept, and under which key of its JSON the password stands.
type Name struct {
	ID  string // ARN, or the name in this process's account and region
	Key string // empty: password
}

// ParseName reads ID or ID#KEY. A secret's name has no # in it. The error completes the sentence "the value …" and repeats
// no part of it: somebody may have put the password there.
func ParseName(given string) (Name, error) {
	id, key, keyed := strings.Cut(given, "#")
	arn := regexp.MustCompile(`^arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:[A-Za-z0-9/_+=.@!-]{1,512}$`)
	name := regexp.MustCompile(`^[A-Za-z0-9/_+=.@!-]{1,512}$`)
	switch {
	case !arn.MatchString(id) && !name.MatchString(id):
		return Name{}, errors.New("names no secret")
	case keyed && !regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`).MatchString(key):
		return Name{}, errors.New("has no key behind the #")
	}
	return Name{id, key}, nil
}

// String is the name as ParseName reads it.
func (n Name) String() string {
	if n.Key == "" {
		return n.ID
	}
	return n.ID + "#" + n.Key
}

// IsZero says whether no secret is named.
func (n Name) IsZero() bool { return n.ID == "" }
