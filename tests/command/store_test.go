package command_test

import (
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/archive/layout"
)

// refusing is a store that answers everything with one error.
func refusing(t *testing.T, status int, code string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, "<Error><Code>%s</Code><Message>no</Message></Error>", code)
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// TestStores says what an operator sees when the archive is not what it should be: where it is, whose, and in what state.
func TestStores(t *testing.T) {
	t.Parallel()
	s3 := func(address string) string { return "s3://shop/a?region=eu-central-1&endpoint=http://" + address }
	minio := func(address string) string { return "minio://" + address + "/shop/a?tls=false" }
	keys := map[string]string{"TIDEMARK_ARCHIVE_ACCESS_KEY": "me", "TIDEMARK_ARCHIVE_SECRET_KEY": secret}
	for name, c := range map[string]struct {
		set   map[string]string
		code  int
		parts []string
	}{
		"AnEmptyArchive":           {nil, 10, []string{"no backup", "TIDEMARK_ARCHIVE"}},
		"NoArchive":                {map[string]string{"TIDEMARK_ARCHIVE": ""}, 2, []string{"TIDEMARK_ARCHIVE is not set", "s3://BUCKET"}},
		"NoTrustedKeys":            {map[string]string{"TIDEMARK_TRUSTED_KEYS": ""}, 2, []string{"TIDEMARK_TRUSTED_KEYS is not set"}},
		"TrustedKeysThatAreAbsent": {map[string]string{"TIDEMARK_TRUSTED_KEYS": "/none/keys"}, 2, []string{"TIDEMARK_TRUSTED_KEYS", "/none/keys"}},
		"AFolderThatIsNotThere": {
			map[string]string{"TIDEMARK_ARCHIVE": "file:///none/archive"}, 20, []string{"TIDEMARK_ARCHIVE", "/none/archive", "mount it"},
		},
		"APathWithoutAScheme": {map[string]string{"TIDEMARK_ARCHIVE": "/srv/backups"}, 2, []string{"write file://"}},
		"AnUnknownParameter": {
			map[string]string{"TIDEMARK_ARCHIVE": "s3://shop/a?region=r&reigon=q"}, 2, []string{"none of region, kms_key, endpoint, path_style"},
		},
		"APasswordInTheAddress": {
			map[string]string{"TIDEMARK_ARCHIVE": "s3://me:" + secret + "@shop/a?region=r"}, 2, []string{"user or a password", "_SECRET_KEY"},
		},
		"AnArchiveInTheClear": {
			map[string]string{"TIDEMARK_ARCHIVE": "minio://store.example:9000/shop?tls=false"}, 2, []string{"without TLS"},
		},
		"MinioWithoutKeys": {
			map[string]string{"TIDEMARK_ARCHIVE": "minio://store.example:9000/shop"}, 2, []string{"TIDEMARK_ARCHIVE_SECRET_KEY"},
		},
		"APolicyThatKeepsNothing": {map[string]string{"TIDEMARK_KEEP_LAST": "0"}, 2, []string{"TIDEMARK_MIN_VERIFIED stands alone"}},
		"AnIdentityThatIsNone": {
			map[string]string{"TIDEMARK_AGE_IDENTITY_FILE": "/dev/null"}, 2, []string{"TIDEMARK_AGE_IDENTITY_FILE", "/dev/null"},
		},
		"AuthoritiesThatAreNone": {
			map[string]string{"TIDEMARK_ARCHIVE_CA_FILE": "/dev/null"}, 2, []string{"TIDEMARK_ARCHIVE_CA_FILE", "no certificate"},
		},
		"S3ThatDeniesAccess":     {with(keys, s3(refusing(t, 403, "AccessDenied"))), 20, []string{"AccessDenied", "rights"}},
		"S3WithoutTheBucket":     {with(keys, s3(refusing(t, 404, "NoSuchBucket"))), 20, []string{"NoSuchBucket", "create the bucket"}},
		"S3ThatIsAway":           {with(keys, s3("127.0.0.1:1")), 21, []string{"retryable"}},
		"S3InTrouble":            {with(keys, s3(refusing(t, 503, "SlowDown"))), 21, []string{"SlowDown"}},
		"MinioThatDeniesAccess":  {with(keys, minio(refusing(t, 403, "InvalidAccessKeyId"))), 20, []string{"access key"}},
		"MinioWithoutTheBucket":  {with(keys, minio(refusing(t, 404, "NoSuchBucket"))), 20, []string{"create the bucket"}},
		"MinioThatIsAway":        {with(keys, minio("127.0.0.1:1")), 21, []string{"retryable"}},
		"ASignerInPlaceOfAStore": {map[string]string{"TIDEMARK_ARCHIVE": "awskms:alias/a"}, 2, []string{"no scheme"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newArchivist(t)
			for variable, value := range c.set {
				a.env[variable] = value
			}
			a.must(c.code, c.parts, "expire")
			if found, err := os.ReadDir(a.primary); err != nil || len(found) > 0 {
				t.Errorf("the folder has %v, %v", found, err)
			}
		})
	}
}

// with is keys of a store and its address.
func with(keys map[string]string, address string) map[string]string {
	set := map[string]string{"TIDEMARK_ARCHIVE": address}
	for name, value := range keys {
		set[name] = value
	}
	return set
}

// TestStoreWithItsOwnAuthority reaches a store whose certificate no authority of the machine vouches for.
func TestStoreWithItsOwnAuthority(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte("<Error><Code>AccessDenied</Code></Error>"))
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // what the client refuses is meant to be refused
	server.StartTLS()
	t.Cleanup(server.Close)
	a := newArchivist(t)
	a.env["TIDEMARK_ARCHIVE"] = "minio://" + strings.TrimPrefix(server.URL, "https://") + "/shop"
	a.env["TIDEMARK_ARCHIVE_ACCESS_KEY"], a.env["TIDEMARK_ARCHIVE_SECRET_KEY"] = "me", secret
	a.must(2, []string{"certificate"}, "expire")
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	a.env["TIDEMARK_ARCHIVE_CA_FILE"] = a.file("ca.pem", string(authority))
	a.must(20, []string{"AccessDenied"}, "expire")
}

// TestDamage says what an expiry does with an archive that it cannot trust: name it, and touch nothing.
func TestDamage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		damage func(a *archivist, id layout.ID)
		code   int
		parts  []string
	}{
		"AStrangersKey": {
			func(a *archivist, _ layout.ID) {
				a.env["TIDEMARK_TRUSTED_KEYS"] = newArchivist(a.t).env["TIDEMARK_TRUSTED_KEYS"]
			},
			12,
			[]string{"not signed by a trusted key"},
		},
		"AManifestThatIsGarbage": {
			func(a *archivist, id layout.ID) { a.damage(layout.Manifest(id), "garbage") }, 13, []string{"1/2", "tidemark revoke"},
		},
		"AManifestThatIsEmpty": {
			func(a *archivist, id layout.ID) { a.damage(layout.Manifest(id), "") }, 13, []string{"1/2", "tidemark revoke"},
		},
		"AnOwnerThatIsGarbage": {
			func(a *archivist, _ layout.ID) { a.damage(layout.Owner, "garbage") }, 13, []string{"owner"},
		},
		"AnotherTargetsArchive": {
			func(a *archivist, _ layout.ID) { a.env["TIDEMARK_TARGET_ID"] = "other" }, 15, []string{"shop", "other", "prefix of its own"},
		},
		"ABodyThatIsGone": {
			func(a *archivist, _ layout.ID) {
				if err := os.RemoveAll(filepath.Join(a.primary, layout.Objects)); err != nil {
					a.t.Fatal(err)
				}
			}, 13, []string{"body of manifest 1/2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newArchivist(t)
			a.backUp(1, 1, a.primary)
			c.damage(a, a.backUp(2, 1, a.primary))
			before := tree(t, a.primary)
			a.expect(c.code, c.parts, "expire", "--confirm")
			if diff := cmp.Diff(before, tree(t, a.primary)); diff != "" {
				t.Error("an expiry that refuses removed something: " + diff)
			}
		})
	}
}
