package dirbucket

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"

	"tidemark/shared/archive"
	"tidemark/shared/fault"
)

// List walks the folders in the order of keys, and holds the names of the folders on the way from the root. See
// archive.Bucket.
func (b *Bucket) List(ctx context.Context, prefix string) iter.Seq2[archive.Info, error] {
	return func(yield func(archive.Info, error) bool) {
		if err := b.enter(ctx, "list "+prefix); err != nil {
			yield(archive.Info{}, err)
			return
		}
		folder := "."
		if cut := strings.LastIndexByte(prefix, '/'); cut >= 0 {
			folder = prefix[:cut]
			if archive.CheckKey(folder) != nil {
				return // no key begins so
			}
		}
		b.walk(ctx, folder, prefix, yield)
	}
}

// walk yields the objects of a folder, and says whether more are wanted.
func (b *Bucket) walk(ctx context.Context, folder, prefix string, yield func(archive.Info, error) bool) bool {
	entries, err := b.names(folder)
	if isAbsent(err) {
		return true
	}
	if err != nil {
		yield(archive.Info{}, classed(err, "list %s", folder))
		return false
	}
	for _, entry := range entries {
		key := path.Join(folder, entry.Name())
		if archive.CheckKey(key) != nil {
			continue
		}
		if err := ctx.Err(); err != nil {
			yield(archive.Info{}, fault.New(fault.Retryable, "list %s: %w", folder, err))
			return false
		}
		more := true
		switch {
		case !strings.HasPrefix(withSlash(key, entry), prefix):
		case entry.IsDir():
			more = b.walk(ctx, key, prefix, yield)
		case entry.Type().IsRegular():
			more = b.show(key, yield)
		}
		if !more {
			return false
		}
	}
	return true
}

// show yields one object, unless it was deleted since its folder was read.
func (b *Bucket) show(key string, yield func(archive.Info, error) bool) bool {
	info, err := b.find(key)
	if errors.Is(err, archive.ErrNotFound) {
		return true
	}
	if err != nil {
		yield(archive.Info{}, err)
		return false
	}
	return yield(infoOf(key, info), nil)
}

// names reads a folder in the order of the keys that begin there: the slash behind a folder counts, so that a-b and a.b
// come before what is in a.
func (b *Bucket) names(folder string) ([]fs.DirEntry, error) {
	file, err := b.root.Open(folder)
	if err != nil {
		return nil, err
	}
	entries, err := file.ReadDir(-1)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	slices.SortFunc(entries, func(x, y fs.DirEntry) int { return cmp.Compare(withSlash(x.Name(), x), withSlash(y.Name(), y)) })
	return entries, nil
}

// withSlash is how the keys begin that an entry stands for.
func withSlash(name string, entry fs.DirEntry) string {
	if entry.IsDir() {
		return name + "/"
	}
	return name
}
