package archive

import (
	"context"
	"time"
)

// Properties is what a store says of the place where a bucket's objects stand, for a person who judges whether an archive
// is safe there.
type Properties struct {
	// Versioning: what is overwritten or deleted is kept as an older version.
	Versioning bool
	// ObjectLock: objects can have a retention.
	ObjectLock bool
	// LifecycleExpires are the rules that delete objects of the archive by their age, in words. Old objects are still in
	// use, so any rule here destroys backups.
	LifecycleExpires []string
	// Encryption is how the store encrypts what is created, empty when it does not.
	Encryption string
	// ServerTime is the store's clock, of second precision.
	ServerTime time.Time
}

// Describer is a bucket that knows its properties.
type Describer interface {
	// Describe asks the store. It changes nothing.
	Describe(ctx context.Context) (Properties, error)
}
