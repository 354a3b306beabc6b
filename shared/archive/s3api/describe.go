package s3api

import (
	"context"
	"fmt"
	"strings"
	"time"

	"tidemark/shared/archive"
)

// Describe asks the store what it says of the bucket. See archive.Describer.
func (b *Bucket) Describe(ctx context.Context) (archive.Properties, error) {
	ctx, cancel := b.within(ctx)
	defer cancel()
	var found archive.Properties
	var err error
	if found.ServerTime, err = b.settings.Time(ctx); err != nil {
		return archive.Properties{}, explain("ask for the store's time", err)
	}
	if found.Versioning, err = orUnset(b.settings.Versioning(ctx)); err != nil {
		return archive.Properties{}, explain("ask for the bucket's versioning", err)
	}
	if found.ObjectLock, err = orUnset(b.settings.ObjectLock(ctx)); err != nil {
		return archive.Properties{}, explain("ask for the bucket's object lock", err)
	}
	expirations, err := orUnset(b.settings.Expirations(ctx))
	if err != nil {
		return archive.Properties{}, explain("ask for the bucket's lifecycle", err)
	}
	found.LifecycleExpires = b.expiring(expirations)
	if found.Encryption, err = b.encryption(ctx); err != nil {
		return archive.Properties{}, explain("ask for the bucket's encryption", err)
	}
	return found, nil
}

// expiring are the rules that would meet objects of this archive: those for all of it, for a part of it, or for more.
func (b *Bucket) expiring(rules []Expiration) []string {
	var met []string
	for _, rule := range rules {
		if rule.Tagged || !strings.HasPrefix(b.prefix, rule.Prefix) && !strings.HasPrefix(rule.Prefix, b.prefix) {
			continue
		}
		when := fmt.Sprintf("after %d days", rule.Days)
		if rule.Days == 0 {
			when = "on " + rule.Date.UTC().Format(time.DateOnly)
		}
		met = append(met, fmt.Sprintf("rule %q deletes what begins with %q %s", rule.Rule, rule.Prefix, when))
	}
	return met
}

// encryption is what new objects get: the key that is asked for with each, else what the bucket does by itself.
func (b *Bucket) encryption(ctx context.Context) (string, error) {
	if b.options.SSEKMSKeyID != "" {
		return EncryptionName("aws:kms", b.options.SSEKMSKeyID), nil
	}
	return orUnset(b.settings.Encryption(ctx))
}
