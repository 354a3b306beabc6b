package archive

import (
	"strings"

	"tidemark/shared/fault"
)

// The longest that keys and the names in them may be. Stores take keys of 1,024 bytes, and the prefix of a bucket needs its
// share. File systems, and stores that are built on one, take names of 255.
const (
	maxKeyBytes  = 900
	maxNameBytes = 255
)

// CheckKey says whether every bucket can keep an object under key: names of [a-z0-9_.-], of which none is "." or "..",
// joined by single slashes. A key is never the folder of another, a/b beside a/b/c: an object store would take both, and a
// folder cannot.
//
// Errors: fault.Bug, because keys are made by package layout and never by a user.
func CheckKey(key string) error {
	if len(key) > maxKeyBytes {
		return fault.New(fault.Bug, "use key %.40q: it has %d bytes, at most %d are kept", key, len(key), maxKeyBytes)
	}
	for name := range strings.SplitSeq(key, "/") {
		switch {
		case name == "", name == ".", name == "..":
			return fault.New(fault.Bug, "use key %q: %q is no name", key, name)
		case len(name) > maxNameBytes:
			return fault.New(fault.Bug, "use key %.40q: a name in it has %d bytes, at most %d are kept", key, len(name), maxNameBytes)
		}
		if at := strings.IndexFunc(name, isForeign); at >= 0 {
			return fault.New(fault.Bug, "use key %q: %q is not of [a-z0-9_.-]", key, name[at:])
		}
	}
	return nil
}

func isForeign(r rune) bool {
	return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' && r != '.' && r != '-'
}
