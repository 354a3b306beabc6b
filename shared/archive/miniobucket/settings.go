package miniobucket

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/lifecycle"

	"tidemark/shared/archive/s3api"
)

// Retention is how long an object is locked. See s3api.Locks.
func (c *client) Retention(ctx context.Context, key string) (s3api.Retention, error) {
	mode, until, err := c.again.GetObjectRetention(ctx, c.bucket, key, "")
	if err != nil {
		return s3api.Retention{}, c.refusal(err)
	}
	var found s3api.Retention
	if mode != nil && until != nil {
		found = s3api.Retention{Mode: s3api.Mode(*mode), Until: *until}
	}
	return found, nil
}

// LegalHold says whether a person holds an object. See s3api.Locks.
func (c *client) LegalHold(ctx context.Context, key string) (bool, error) {
	status, err := c.again.GetObjectLegalHold(ctx, c.bucket, key, minio.GetObjectLegalHoldOptions{})
	if err != nil {
		return false, c.refusal(err)
	}
	return status != nil && *status == minio.LegalHoldEnabled, nil
}

// Retain sets the retention. See s3api.Locks.
func (c *client) Retain(ctx context.Context, key string, retention s3api.Retention) error {
	mode := minio.RetentionMode(retention.Mode)
	err := c.again.PutObjectRetention(ctx, c.bucket, key, minio.PutObjectRetentionOptions{
		Mode: &mode, RetainUntilDate: &retention.Until,
	})
	if err != nil {
		return c.refusal(err)
	}
	return nil
}

// Versioning says whether older versions are kept. See s3api.Settings.
func (c *client) Versioning(ctx context.Context) (bool, error) {
	found, err := c.again.GetBucketVersioning(ctx, c.bucket)
	if err != nil {
		return false, c.refusal(err)
	}
	return found.Enabled(), nil
}

// ObjectLock says whether objects can be locked. See s3api.Settings.
func (c *client) ObjectLock(ctx context.Context) (bool, error) {
	state, _, _, _, err := c.again.GetObjectLockConfig(ctx, c.bucket)
	if err != nil {
		return false, c.refusal(err)
	}
	return state == "Enabled", nil
}

// Expirations are the rules that delete by age. See s3api.Settings.
func (c *client) Expirations(ctx context.Context) ([]s3api.Expiration, error) {
	found, err := c.again.GetBucketLifecycle(ctx, c.bucket)
	if err != nil {
		return nil, c.refusal(err)
	}
	var rules []s3api.Expiration
	for _, rule := range found.Rules {
		if rule.Status != "Enabled" || rule.Expiration.IsDaysNull() && rule.Expiration.IsDateNull() {
			continue
		}
		prefix, tagged := scope(rule)
		rules = append(rules, s3api.Expiration{
			Rule: rule.ID, Prefix: prefix, Tagged: tagged, Days: int(rule.Expiration.Days), Date: rule.Expiration.Date.Time,
		})
	}
	return rules, nil
}

// scope says which objects a rule meets. There are three places for the prefix, by the age of the API.
func scope(rule lifecycle.Rule) (prefix string, tagged bool) {
	filter := rule.RuleFilter
	if !filter.And.IsEmpty() {
		return filter.And.Prefix, len(filter.And.Tags) > 0
	}
	if filter.Prefix != "" {
		return filter.Prefix, false
	}
	return rule.Prefix, !filter.Tag.IsEmpty()
}

// Encryption is what the bucket does by itself. See s3api.Settings.
func (c *client) Encryption(ctx context.Context) (string, error) {
	found, err := c.again.GetBucketEncryption(ctx, c.bucket)
	if err != nil {
		return "", c.refusal(err)
	}
	for _, rule := range found.Rules {
		return s3api.EncryptionName(rule.Apply.SSEAlgorithm, rule.Apply.KmsMasterKeyID), nil
	}
	return "", nil
}

// Time is the store's clock. See s3api.Settings. The client keeps no answer's date, so it is taken from the wire.
func (c *client) Time(ctx context.Context) (time.Time, error) {
	var date string
	if _, err := c.Versioning(context.WithValue(ctx, dateKey{}, &date)); err != nil {
		return time.Time{}, err
	}
	now, err := http.ParseTime(date)
	if err != nil {
		return time.Time{}, fmt.Errorf("read the date of an answer: %w", err)
	}
	return now, nil
}
