package miniobucket

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"iter"
	"net/http"
	"strconv"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/encrypt"

	"tidemark/shared/archive"
	"tidemark/shared/archive/s3api"
)

// Put stores an upload. See s3api.Objects. Core.PutObject sends one request for any size; with the content's hash given it
// neither hashes again nor signs in chunks.
func (c *client) Put(ctx context.Context, key string, upload s3api.Upload) error {
	options := minio.PutObjectOptions{
		UserMetadata:         map[string]string{"x-amz-checksum-sha256": upload.Base64Sum()},
		DisableContentSha256: true,
		DisableMultipart:     true,
	}
	options.SetMatchETagExcept("*")
	if c.kmsKey != "" {
		sealed, err := encrypt.NewSSEKMS(c.kmsKey, nil)
		if err != nil {
			return fmt.Errorf("ask for encryption: %w", err)
		}
		options.ServerSideEncryption = sealed
	}
	_, err := c.once.PutObject(ctx, c.bucket, key, bytes.NewReader(upload.Content), int64(len(upload.Content)), "",
		hex.EncodeToString(upload.Sum[:]), options)
	if err != nil {
		return c.refusal(err)
	}
	return nil
}

// Get begins to read an object. See s3api.Objects.
func (c *client) Get(ctx context.Context, key, bytesRange string) (s3api.Download, error) {
	var options minio.GetObjectOptions
	if bytesRange != "" {
		options.Set("Range", bytesRange)
	}
	body, _, header, err := c.again.GetObject(ctx, c.bucket, key, options)
	if err != nil {
		return s3api.Download{}, c.refusal(err)
	}
	return s3api.Download{ReadCloser: body, Length: lengthOf(header), Range: header.Get("Content-Range")}, nil
}

func lengthOf(header http.Header) int64 {
	length, err := strconv.ParseInt(header.Get("Content-Length"), 10, 64)
	if err != nil {
		return -1
	}
	return length
}

// Head asks what the store knows of an object. See s3api.Objects.
func (c *client) Head(ctx context.Context, key string) (archive.Info, error) {
	found, err := c.again.StatObject(ctx, c.bucket, key, minio.StatObjectOptions{Checksum: true})
	if err != nil {
		return archive.Info{}, c.refusal(err)
	}
	return archive.Info{
		Size: found.Size, StoredAt: found.LastModified, Checksum: s3api.WholeSum(found.ChecksumSHA256, found.ChecksumMode),
	}, nil
}

// List gives keys. See s3api.Objects. The client ends a listing in silence when the context ends.
func (c *client) List(ctx context.Context, prefix string) iter.Seq2[archive.Info, error] {
	return func(yield func(archive.Info, error) bool) {
		no := false
		options := minio.ListObjectsOptions{Prefix: prefix, Recursive: true, FetchOwner: &no}
		for object := range c.again.ListObjectsIter(ctx, c.bucket, options) {
			if object.Err != nil {
				yield(archive.Info{}, c.refusal(object.Err))
				return
			}
			if !yield(archive.Info{Key: object.Key, Size: object.Size, StoredAt: object.LastModified}, nil) {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(archive.Info{}, err)
		}
	}
}

// Delete removes an object. See s3api.Objects.
func (c *client) Delete(ctx context.Context, key string) error {
	if err := c.again.RemoveObject(ctx, c.bucket, key, minio.RemoveObjectOptions{}); err != nil {
		return c.refusal(err)
	}
	return nil
}
