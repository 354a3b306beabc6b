package s3bucket

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"tidemark/shared/archive/s3api"
)

// Retention is how long an object is locked. See s3api.Locks.
func (c *client) Retention(ctx context.Context, key string) (s3api.Retention, error) {
	answer, err := c.api.GetObjectRetention(ctx, &s3.GetObjectRetentionInput{Bucket: &c.bucket, Key: &key})
	if err != nil {
		return s3api.Retention{}, c.refusal(err)
	}
	if answer.Retention == nil {
		return s3api.Retention{}, nil
	}
	return s3api.Retention{Mode: s3api.Mode(answer.Retention.Mode), Until: aws.ToTime(answer.Retention.RetainUntilDate)}, nil
}

// LegalHold says whether a person holds an object. See s3api.Locks.
func (c *client) LegalHold(ctx context.Context, key string) (bool, error) {
	answer, err := c.api.GetObjectLegalHold(ctx, &s3.GetObjectLegalHoldInput{Bucket: &c.bucket, Key: &key})
	if err != nil {
		return false, c.refusal(err)
	}
	return answer.LegalHold != nil && answer.LegalHold.Status == types.ObjectLockLegalHoldStatusOn, nil
}

// Retain sets the retention. See s3api.Locks.
func (c *client) Retain(ctx context.Context, key string, retention s3api.Retention) error {
	_, err := c.api.PutObjectRetention(ctx, &s3.PutObjectRetentionInput{
		Bucket: &c.bucket, Key: &key, ChecksumAlgorithm: types.ChecksumAlgorithmSha256,
		Retention: &types.ObjectLockRetention{
			Mode: types.ObjectLockRetentionMode(retention.Mode), RetainUntilDate: aws.Time(retention.Until.UTC()),
		},
	})
	if err != nil {
		return c.refusal(err)
	}
	return nil
}

// Versioning says whether older versions are kept. See s3api.Settings.
func (c *client) Versioning(ctx context.Context) (bool, error) {
	answer, err := c.api.GetBucketVersioning(ctx, &s3.GetBucketVersioningInput{Bucket: &c.bucket})
	if err != nil {
		return false, c.refusal(err)
	}
	return answer.Status == types.BucketVersioningStatusEnabled, nil
}

// ObjectLock says whether objects can be locked. See s3api.Settings.
func (c *client) ObjectLock(ctx context.Context) (bool, error) {
	answer, err := c.api.GetObjectLockConfiguration(ctx, &s3.GetObjectLockConfigurationInput{Bucket: &c.bucket})
	if err != nil {
		return false, c.refusal(err)
	}
	return answer.ObjectLockConfiguration != nil &&
		answer.ObjectLockConfiguration.ObjectLockEnabled == types.ObjectLockEnabledEnabled, nil
}

// Expirations are the rules that delete by age. See s3api.Settings.
func (c *client) Expirations(ctx context.Context) ([]s3api.Expiration, error) {
	answer, err := c.api.GetBucketLifecycleConfiguration(ctx, &s3.GetBucketLifecycleConfigurationInput{Bucket: &c.bucket})
	if err != nil {
		return nil, c.refusal(err)
	}
	var rules []s3api.Expiration
	for _, rule := range answer.Rules {
		ends := rule.Expiration
		if rule.Status != types.ExpirationStatusEnabled || ends == nil || ends.Days == nil && ends.Date == nil {
			continue
		}
		prefix, tagged := scope(rule)
		rules = append(rules, s3api.Expiration{
			Rule: aws.ToString(rule.ID), Prefix: prefix, Tagged: tagged,
			Days: int(aws.ToInt32(ends.Days)), Date: aws.ToTime(ends.Date),
		})
	}
	return rules, nil
}

// scope says which objects a rule meets. There are three places for the prefix, by the age of the API.
func scope(rule types.LifecycleRule) (prefix string, tagged bool) {
	prefix = aws.ToString(rule.Prefix) //nolint:staticcheck // rules of long ago still have it there
	if rule.Filter == nil {
		return prefix, false
	}
	if rule.Filter.And != nil {
		return aws.ToString(rule.Filter.And.Prefix), len(rule.Filter.And.Tags) > 0
	}
	if rule.Filter.Prefix != nil {
		prefix = *rule.Filter.Prefix
	}
	return prefix, rule.Filter.Tag != nil
}

// Encryption is what the bucket does by itself. See s3api.Settings.
func (c *client) Encryption(ctx context.Context) (string, error) {
	answer, err := c.api.GetBucketEncryption(ctx, &s3.GetBucketEncryptionInput{Bucket: &c.bucket})
	if err != nil {
		return "", c.refusal(err)
	}
	if answer.ServerSideEncryptionConfiguration == nil {
		return "", nil
	}
	for _, rule := range answer.ServerSideEncryptionConfiguration.Rules {
		if standard := rule.ApplyServerSideEncryptionByDefault; standard != nil {
			return s3api.EncryptionName(string(standard.SSEAlgorithm), aws.ToString(standard.KMSMasterKeyID)), nil
		}
	}
	return "", nil
}

// Time is the store's clock. See s3api.Settings.
func (c *client) Time(ctx context.Context) (time.Time, error) {
	// A page of one key and no HEAD: its refusal has a code.
	one := &s3.ListObjectsV2Input{Bucket: &c.bucket, MaxKeys: aws.Int32(1)}
	answer, err := c.api.ListObjectsV2(ctx, one)
	if err != nil {
		return time.Time{}, c.refusal(err)
	}
	now, ok := awsmiddleware.GetServerTime(answer.ResultMetadata)
	if !ok {
		return time.Time{}, errors.New("the answer has no date")
	}
	return now, nil
}
