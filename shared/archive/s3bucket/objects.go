package s3bucket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/url"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"tidemark/shared/archive"
	"tidemark/shared/archive/s3api"
)

// Put stores an upload. See s3api.Objects.
func (c *client) Put(ctx context.Context, key string, upload s3api.Upload) error {
	input := &s3.PutObjectInput{
		Bucket: &c.bucket, Key: &key,
		Body:           bytes.NewReader(upload.Content),
		ContentLength:  aws.Int64(int64(len(upload.Content))),
		IfNoneMatch:    aws.String("*"),
		ChecksumSHA256: aws.String(upload.Base64Sum()),
	}
	if c.kmsKey != "" {
		input.ServerSideEncryption, input.SSEKMSKeyId = types.ServerSideEncryptionAwsKms, &c.kmsKey
	}
	if _, err := c.api.PutObject(ctx, input, once); err != nil {
		return c.refusal(err)
	}
	return nil
}

// Get begins to read an object. See s3api.Objects.
func (c *client) Get(ctx context.Context, key, bytesRange string) (s3api.Download, error) {
	input := &s3.GetObjectInput{Bucket: &c.bucket, Key: &key}
	if bytesRange != "" {
		input.Range = &bytesRange
	}
	answer, err := c.api.GetObject(ctx, input)
	if err != nil {
		return s3api.Download{}, c.refusal(err)
	}
	length := int64(-1)
	if answer.ContentLength != nil {
		length = *answer.ContentLength
	}
	return s3api.Download{ReadCloser: answer.Body, Length: length, Range: aws.ToString(answer.ContentRange)}, nil
}

// Head asks what the store knows of an object. See s3api.Objects.
func (c *client) Head(ctx context.Context, key string) (archive.Info, error) {
	answer, err := c.api.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &c.bucket, Key: &key, ChecksumMode: types.ChecksumModeEnabled})
	if err != nil {
		return archive.Info{}, c.refusal(err)
	}
	return archive.Info{
		Size: aws.ToInt64(answer.ContentLength), StoredAt: aws.ToTime(answer.LastModified),
		Checksum: s3api.WholeSum(aws.ToString(answer.ChecksumSHA256), string(answer.ChecksumType)),
	}, nil
}

// List gives keys, page by page. See s3api.Objects.
func (c *client) List(ctx context.Context, prefix string) iter.Seq2[archive.Info, error] {
	return func(yield func(archive.Info, error) bool) {
		// Names come encoded as in a URL, because some that others may have put there cannot stand in XML.
		input := &s3.ListObjectsV2Input{Bucket: &c.bucket, Prefix: &prefix, EncodingType: types.EncodingTypeUrl}
		for {
			page, err := c.page(ctx, input)
			if err != nil {
				yield(archive.Info{}, err)
				return
			}
			for _, object := range page.Contents {
				if !yield(listed(object, page.EncodingType)) {
					return
				}
			}
			if !aws.ToBool(page.IsTruncated) {
				return
			}
			input.ContinuationToken = page.NextContinuationToken
		}
	}
}

// page is one answer of a listing. The SDK takes an answer without content for a page without objects, which would make an
// archive look empty.
func (c *client) page(ctx context.Context, input *s3.ListObjectsV2Input) (*s3.ListObjectsV2Output, error) {
	page, err := c.api.ListObjectsV2(ctx, input)
	switch {
	case err != nil:
		return nil, c.refusal(err)
	case page.Name == nil:
		return nil, errors.New("the answer to a listing names no bucket")
	case aws.ToBool(page.IsTruncated) && aws.ToString(page.NextContinuationToken) == "":
		return nil, errors.New("the answer to a listing says that there is more, and not where")
	}
	return page, nil
}

func listed(object types.Object, encoding types.EncodingType) (archive.Info, error) {
	key := aws.ToString(object.Key)
	if encoding == types.EncodingTypeUrl {
		decoded, err := url.QueryUnescape(key)
		if err != nil {
			return archive.Info{}, fmt.Errorf("read a name in a listing: %w", err)
		}
		key = decoded
	}
	return archive.Info{Key: key, Size: aws.ToInt64(object.Size), StoredAt: aws.ToTime(object.LastModified)}, nil
}

// Delete removes an object. See s3api.Objects.
func (c *client) Delete(ctx context.Context, key string) error {
	if _, err := c.api.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &c.bucket, Key: &key}); err != nil {
		return c.refusal(err)
	}
	return nil
}
