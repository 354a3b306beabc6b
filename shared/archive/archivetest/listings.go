package archivetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/archive"
	"tidemark/shared/fault"
)

func listings() []exercise {
	return []exercise{
		{"ListsThousandsInOrder", listsThousandsInOrder},
		{"ListsTimesThatStatGives", listsTimesThatStatGives},
	}
}

// shelf is 2,500 keys under list/, which is more than two pages of a store, and neighbours that sort and read like them.
// The bytes of '-' and '.' come before that of '/', so a walk of folders by name is out of order.
func shelf() []string {
	keys := []string{
		"lis", "list-", "list-a/a", "list.json", "list0", "list_", "lisu/a", "a/list/a", "zlist",
		"list/-", "list/7-a", "list/7.a", "list/7/00000", "list/70", "list/7_",
	}
	for i := range 2_494 {
		keys = append(keys, fmt.Sprintf("list/%02x/%05d", i%16, i))
	}
	slices.Sort(keys)
	return keys
}

func listsThousandsInOrder(b *bench) {
	keys := shelf()
	many(len(keys), 32, func(i int) {
		if err := b.Create(b.context(), keys[i], []byte(keys[i])); err != nil {
			b.Errorf("create %s: %v", keys[i], err)
		}
	})
	if b.Failed() {
		return
	}
	for _, prefix := range []string{
		"", "l", "list", "list/", "list/0", "list/0f/", "list/0f/000", "list/7", "list/7/", "list/70", "list/7-", "list-", "list-a/",
		"list.json", "list/00/00000", "list/00/00000/", "list/00/000000", "list/z", "lisu", "zz", "a", ".", "-",
	} {
		want := slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return !strings.HasPrefix(key, prefix) })
		if diff := cmp.Diff(want, b.mustList(prefix), equateEmpty()); diff != "" {
			b.Errorf("list %q (-want +got):\n%s", prefix, diff)
		}
	}
	b.mustStopEarly(keys)
	b.mustSayThatAListingWasCut(len(keys))
}

func equateEmpty() cmp.Option {
	return cmp.Transformer("empty", func(list []string) map[int]string {
		places := map[int]string{}
		for i, key := range list {
			places[i] = key
		}
		return places
	})
}

// mustStopEarly checks that whoever leaves the loop gets no more, and that the bucket is as good as before.
func (b *bench) mustStopEarly(keys []string) {
	b.Helper()
	for _, wanted := range []int{1, 3, 1_000, 1_001} {
		var got []string
		for info, err := range b.List(b.context(), "") {
			if err != nil {
				b.Fatalf("list: %v", err)
			}
			if got = append(got, info.Key); len(got) == wanted {
				break
			}
		}
		if !slices.Equal(got, keys[:wanted]) {
			b.Errorf("the first %d keys are %s, want %s", wanted, got, keys[:wanted])
		}
	}
}

// mustSayThatAListingWasCut checks that a listing whose context ends is never taken for a whole one.
func (b *bench) mustSayThatAListingWasCut(all int) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.context())
	defer cancel()
	seen := 0
	for _, err := range b.List(ctx, "") {
		if err != nil {
			b.mustBeCancelled(err, fault.Retryable)
			return
		}
		seen++
		cancel()
	}
	if seen != all {
		b.Errorf("a cancelled listing ended after %d of %d keys without an error", seen, all)
	}
}

func listsTimesThatStatGives(b *bench) {
	for _, key := range []string{"a", "b/c", "b/d"} {
		b.mustCreate(key, []byte(key))
	}
	for listed, err := range b.List(b.context(), "") {
		if err != nil {
			b.Fatalf("list: %v", err)
		}
		b.checkInfo(listed, listed.Key, []byte(listed.Key))
		// A store may count finer in a listing than in a header.
		found, err := b.Stat(b.context(), listed.Key)
		if err != nil || !found.StoredAt.Truncate(time.Second).Equal(listed.StoredAt.Truncate(time.Second)) {
			b.Errorf("%s: stat says %s, %v, the listing %s", listed.Key, found.StoredAt, err, listed.StoredAt)
		}
	}
}

func names() []exercise {
	return []exercise{
		{"KeepsOddKeys", keepsOddKeys},
		{"RefusesIllegalKeys", refusesIllegalKeys},
		{"ListsNothingUnderAnIllegalPrefix", listsNothingUnderAnIllegalPrefix},
	}
}

func keepsOddKeys(b *bench) {
	long := strings.Repeat("0123456789", 26)
	keys := []string{
		"a..b", "a.json", "x/.hidden", "-", "_", "--/-/-", "..x", "...", ".partial", ".trash/x..", "--help", "0", "con", "nul.json",
		"x/_", "x/-.-", "tmp", "index.html", "b/metadata.json", "xl.meta", long[1:256],
		strings.Join([]string{long[:255], long[:255], long[:255], long[:132]}, "/"), // 900 bytes
		strings.Repeat("d/", 40) + "e",
	}
	for _, key := range keys {
		b.mustCreate(key, []byte(key))
	}
	for _, key := range keys {
		b.mustHold(key, []byte(key))
	}
	slices.Sort(keys)
	if diff := cmp.Diff(keys, b.mustList("")); diff != "" {
		b.Errorf("list (-want +got):\n%s", diff)
	}
	for _, key := range keys {
		b.mustDelete(key)
		b.mustLack(key)
	}
}

func refusesIllegalKeys(b *bench) {
	b.mustCreate("a/b", []byte("content"))
	for _, key := range []string{
		"", "/", "/a", "a/", "a/b/", "/a/b", "a//b", ".", "..", "./a", "a/./b", "../a", "a/../a/b", "a/..", "A/B", "a/B", "a b", " a",
		"a\n", "a\x00", `a\b`, "a+b", "a%2fb", "a:b", "~", "a*", "a?b", "ä", "a\xff", strings.Repeat("x", 256), strings.Repeat("x/", 450) + "x",
	} {
		_, statErr := b.Stat(b.context(), key)
		content, readErr := b.Read(b.context(), key, whole())
		for method, err := range map[string]error{
			"create": b.Create(b.context(), key, []byte("content")), "read": readErr, "stat": statErr, "delete": b.Delete(b.context(), key),
		} {
			if !fault.Is(err, fault.Bug) || len(content) > 0 {
				b.Errorf("%s %.40q: got %q, %v of class %s, want class bug", method, key, content, err, fault.ClassOf(err))
			}
		}
	}
	b.mustHold("a/b", []byte("content"))
	if keys := b.mustList(""); !slices.Equal(keys, []string{"a/b"}) {
		b.Errorf("list: got %v, want a/b alone", keys)
	}
}

// listsNothingUnderAnIllegalPrefix: a bucket may refuse such a prefix, and must never show what lies elsewhere.
func listsNothingUnderAnIllegalPrefix(b *bench) {
	b.mustCreate("a/b", []byte("content"))
	for _, prefix := range []string{"/", "/a", "a//", "./", "./a", "../", "a/../", "a/../a/", "A", "a/B", `a\`, "a/b/", "a/*"} {
		for info, err := range b.List(b.context(), prefix) {
			if err == nil || !fault.Is(err, fault.Bug) {
				b.Errorf("list %q: got %s, %v, want nothing", prefix, info.Key, err)
			}
			if errors.Is(err, archive.ErrNotFound) {
				b.Errorf("list %q: %v", prefix, err)
			}
		}
	}
}
