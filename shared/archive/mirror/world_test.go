package mirror_test

import (
	"context"
	"testing"

	"tidemark/shared/archive"
	"tidemark/shared/archive/archivetest"
	"tidemark/shared/archive/notice"
)

// overwriting is a bucket of a store that takes no notice of If-None-Match.
type overwriting struct{ *archivetest.Memory }

func (o overwriting) Create(ctx context.Context, key string, content []byte) error {
	if err := o.Delete(ctx, key); err != nil {
		return err
	}
	return o.Memory.Create(ctx, key, content)
}

func put(t *testing.T, bucket archive.Bucket, key string, document interface{ Validate() error }) {
	t.Helper()
	encoded, err := notice.Encode(document)
	if err != nil {
		t.Fatal(err)
	}
	if err := bucket.Create(t.Context(), key, encoded); err != nil {
		t.Fatal(err)
	}
}
