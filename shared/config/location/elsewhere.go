package location

import (
	"errors"
	"regexp"
	"strings"
)

// Mark is where the high-water mark is kept: in one of the two. The zero value is nowhere.
type Mark struct {
	File      string // path
	Parameter string // of AWS Systems Manager: its name
}

// IsZero says whether there is none.
func (m Mark) IsZero() bool { return m == Mark{} }

// MarkTakes is the form of a mark's place, for people.
const MarkTakes = "file:///PATH or ssm:NAME"

// longestParameter is the longest name of a parameter in characters.
const longestParameter = 1011

// parameterPattern is what names of parameters are made of. An ARN is none: the service writes to names alone.
var parameterPattern = regexp.MustCompile(`^[A-Za-z0-9_./-]+$`)

// ParseMark reads where the high-water mark is kept.
func ParseMark(given string) (Mark, error) {
	if name, is := strings.CutPrefix(given, "ssm:"); is {
		if len(name) > longestParameter || !parameterPattern.MatchString(name) {
			return Mark{}, errors.New("names no parameter behind ssm: it has characters of A-Z, a-z, 0-9, '_', '.', '-' and '/'")
		}
		return Mark{Parameter: name}, nil
	}
	if !strings.HasPrefix(given, "file:") {
		return Mark{}, errors.New("begins neither with file:// nor with ssm")
	}
	file, err := readPath(given)
	return Mark{File: file}, err
}

// Key is where a private key for signing is: in one of the two.
type Key struct {
	File string // path of a PEM file
	KMS  string // ARN, id or alias of a key of AWS KMS
}

// KeysTake is the form of a list of keys, for people.
const KeysTake = "1 to 4 of these with a comma between them: the path of a PEM file, or awskms: and the ARN or alias of a key"

const maxKeys = 4

// ParseKeys reads a list of keys.
func ParseKeys(given string) ([]Key, error) {
	var keys []Key
	seen := map[Key]bool{}
	for part := range strings.SplitSeq(given, ",") {
		key, err := parseKey(strings.TrimSpace(part))
		switch {
		case err != nil:
			return nil, err
		case seen[key]:
			return nil, errors.New("names a key twice")
		}
		seen[key] = true
		keys = append(keys, key)
	}
	if len(keys) > maxKeys {
		return nil, errors.New("names too many keys")
	}
	return keys, nil
}

// schemed finds what is no path: a colon behind a word.
var schemed = regexp.MustCompile(`^[A-Za-z0-9+.-]*:`)

func parseKey(given string) (Key, error) {
	id, inKMS := strings.CutPrefix(given, "awskms:")
	switch {
	case given == "":
		return Key{}, errors.New("has nothing before or behind a comma")
	case strings.Contains(given, "-----BEGIN"):
		return Key{}, errors.New("holds a key instead of the path of its file: anybody who sees the environment has that key now")
	case strings.ContainsFunc(given, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return Key{}, errors.New("holds a control character")
	case inKMS && (id == "" || strings.Contains(id, " ")):
		return Key{}, errors.New("has nothing behind awskms: that could name a key")
	case inKMS:
		return Key{KMS: id}, nil
	case schemed.MatchString(given):
		return Key{}, errors.New("begins like a URL: a path has no colon in its first word, and awskms is the one scheme")
	}
	return Key{File: given}, nil
}
