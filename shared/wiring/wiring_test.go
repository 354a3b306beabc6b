package wiring_test

import (
	"bytes"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"filippo.io/age"

	"tidemark/shared/archive"
	"tidemark/shared/archive/filemark"
	"tidemark/shared/config"
	"tidemark/shared/config/location"
	"tidemark/shared/fault"
	"tidemark/shared/secret"
	"tidemark/shared/signing/localkey"
	"tidemark/shared/wiring"
)

func file(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// settings is an archive in a folder, with a key that is trusted.
func settings(t *testing.T) config.Archive {
	t.Helper()
	key, err := localkey.Generate()
	if err != nil {
		t.Fatal(err)
	}
	private := filepath.Join(t.TempDir(), "key.pem")
	if err := key.Write(private); err != nil {
		t.Fatal(err)
	}
	return config.Archive{
		Primary: folder(t.TempDir()), TrustedKeys: file(t, "trusted.pem", string(key.Key().PEM())),
		SigningKeys: []location.Key{{File: private}}, CompressionLevel: 1,
	}
}

func folder(path string) location.Place { return location.Place{Kind: location.File, Folder: path} }

func open(t *testing.T, c config.Archive) *archive.Archive {
	t.Helper()
	a, err := wiring.OpenArchive(t.Context(), c, "shop")
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	return a
}

func TestOpenArchive(t *testing.T) {
	t.Parallel()
	t.Run("OpensWhatIsNamed", func(t *testing.T) {
		t.Parallel()
		c := settings(t)
		c.Secondary = location.Place{Kind: location.S3, Bucket: "shop", Region: "eu-central-1"}
		a := open(t, c)
		if a.Target != "shop" || len(a.Trusted) != 1 || len(a.Places) != 2 || a.Places[0].Name != "primary" || a.Places[1].Name != "secondary" {
			t.Errorf("got %+v", a)
		}
		if err := a.Primary().Create(t.Context(), "a/b", []byte("content")); err != nil {
			t.Fatal(err)
		}
		if content, err := os.ReadFile(filepath.Join(c.Primary.Folder, "a", "b")); err != nil || string(content) != "content" {
			t.Errorf("got %q, %v", content, err)
		}
	})
	t.Run("ShowsTheStoreItsKeys", func(t *testing.T) {
		t.Parallel()
		for _, kind := range []location.Kind{location.S3, location.Minio} {
			var seen string
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				seen = r.URL.Path + " " + r.Header.Get("Authorization")
				w.WriteHeader(http.StatusForbidden)
			}))
			t.Cleanup(server.Close)
			c := settings(t)
			c.Primary = location.Place{
				Kind: kind, Bucket: "shop", Prefix: "a/b", Region: "eu-central-1", Endpoint: server.URL, PathStyle: true,
			}
			c.PrimaryLogin = location.Login{AccessKey: secret.New("me"), SecretKey: secret.New("hunter2")}
			c.CAFile = file(t, "ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
			err := open(t, c).Primary().Create(t.Context(), "c", []byte("content"))
			if !errors.Is(err, archive.ErrDenied) || !strings.HasPrefix(seen, "/shop/a/b/c ") || !strings.Contains(seen, "Credential=me/") ||
				!strings.Contains(seen, "/eu-central-1/s3/") {
				t.Errorf("%s: got %v, the store saw %s", kind, err, seen)
			}
		}
	})
	t.Run("OpensWhatWasEncrypted", func(t *testing.T) {
		t.Parallel()
		identity, err := age.GenerateX25519Identity()
		if err != nil {
			t.Fatal(err)
		}
		c := settings(t)
		c.Recipients = []string{identity.Recipient().String()}
		w, err := wiring.Writer(t.Context(), c, open(t, c), time.Now)
		if err != nil {
			t.Fatal(err)
		}
		packed, err := w.Pack([]byte("plain"))
		if err != nil || !packed.Object.Encrypted || w.Recipients != 1 {
			t.Fatalf("got %+v, %v, %d recipients", packed.Object, err, w.Recipients)
		}
		if _, err := open(t, c).Unpack(packed.Stored, packed.Object, 100); !fault.Is(err, fault.Misconfigured) {
			t.Errorf("without an identity: %v", err)
		}
		c.IdentityFile = file(t, "identities.txt", "# old and new\n"+identity.String()+"\n")
		a := open(t, c)
		var group sync.WaitGroup
		for range 8 { // objects are unpacked by several at once
			group.Go(func() {
				if plain, err := a.Unpack(packed.Stored, packed.Object, 100); err != nil || !bytes.Equal(plain, []byte("plain")) {
					t.Errorf("got %q, %v", plain, err)
				}
			})
		}
		group.Wait()
	})
}

func TestOpenArchiveRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(c *config.Archive, temp string) // temp has a file of garbage and a link to the folder
		says   []string
	}{
		"AFolderThatIsNotThere": {
			func(c *config.Archive, _ string) { c.Primary.Folder += "/unmounted" }, []string{"TIDEMARK_ARCHIVE: ", "unmounted", "not there"},
		},
		"ASecondFolderThatIsNotThere": {
			func(c *config.Archive, _ string) { c.Secondary = folder(c.Primary.Folder + "/unmounted") },
			[]string{"TIDEMARK_ARCHIVE_SECONDARY: ", "unmounted"},
		},
		"AFileInPlaceOfAFolder": {
			func(c *config.Archive, temp string) { c.Primary.Folder = temp + "/garbage" }, []string{"TIDEMARK_ARCHIVE: "},
		},
		"OneFolderUnderTwoNames": {
			func(c *config.Archive, temp string) { c.Secondary = folder(temp + "/link") }, []string{"TIDEMARK_ARCHIVE_SECONDARY: ", "under another name"},
		},
		"TrustedKeysThatAreNotThere": {
			func(c *config.Archive, _ string) { c.TrustedKeys += ".none" }, []string{"TIDEMARK_TRUSTED_KEYS: ", ".none"},
		},
		"TrustedKeysThatAreNone": {
			func(c *config.Archive, temp string) { c.TrustedKeys = temp + "/garbage" }, []string{"TIDEMARK_TRUSTED_KEYS: "},
		},
		"AuthoritiesThatAreNotThere": {
			func(c *config.Archive, _ string) { c.CAFile = "/none/ca.pem" }, []string{"TIDEMARK_ARCHIVE_CA_FILE: ", "/none/ca.pem"},
		},
		"AuthoritiesThatAreNone": {
			func(c *config.Archive, temp string) { c.CAFile = temp + "/garbage" },
			[]string{"TIDEMARK_ARCHIVE_CA_FILE: ", "no certificate"},
		},
		"IdentitiesThatAreNotThere": {
			func(c *config.Archive, _ string) { c.IdentityFile = "/none/id.txt" }, []string{"TIDEMARK_AGE_IDENTITY_FILE: ", "/none/id.txt"},
		},
		"IdentitiesThatAreNone": {
			func(c *config.Archive, temp string) { c.IdentityFile = temp + "/garbage" },
			[]string{"TIDEMARK_AGE_IDENTITY_FILE", "garbage", "line 1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := settings(t)
			temp := filepath.Dir(file(t, "garbage", "hunter2\n"))
			if err := os.Symlink(s.Primary.Folder, filepath.Join(temp, "link")); err != nil {
				t.Fatal(err)
			}
			c.change(&s, temp)
			_, err := wiring.OpenArchive(t.Context(), s, "shop")
			refused(t, err, c.says...)
		})
	}
	t.Run("AMissingFolderByName", func(t *testing.T) {
		t.Parallel()
		s := settings(t)
		s.Primary.Folder += "/unmounted"
		if _, err := wiring.OpenArchive(t.Context(), s, "shop"); !errors.Is(err, wiring.ErrNoFolder) {
			t.Errorf("got %v", err)
		}
	})
}

func TestWriter(t *testing.T) {
	t.Parallel()
	t.Run("HasWhatIsConfigured", func(t *testing.T) {
		t.Parallel()
		c := settings(t)
		c.ObjectLock, c.HighWater = time.Hour, location.Mark{File: filepath.Join(t.TempDir(), "newest.json")}
		a := open(t, c)
		w, err := wiring.Writer(t.Context(), c, a, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		if w.Archive != a || len(w.Signers) != 1 || w.Signers[0].Key().ID() != a.Trusted[0].Key.ID() || w.Retain != time.Hour || w.Now == nil ||
			w.HighWater != filemark.At(c.HighWater.File) || w.Encryption != "" {
			t.Errorf("got %+v", w)
		}
		one, err := w.Pack([]byte("one"))
		if err != nil {
			t.Fatal(err)
		}
		two, err := w.Pack([]byte("two"))
		if err != nil {
			t.Fatal(err)
		}
		if plain, err := a.Unpack(one.Stored, one.Object, 3); err != nil || string(plain) != "one" {
			t.Errorf("the first object is %q after the second %s: %v", plain, two.Object.Digest, err)
		}
	})
	t.Run("SaysHowTheStoreEncrypts", func(t *testing.T) {
		t.Parallel()
		c := settings(t)
		c.Primary = location.Place{Kind: location.S3, Bucket: "shop", Region: "r", KMSKey: "alias/a"}
		w, err := wiring.Writer(t.Context(), c, open(t, c), time.Now)
		if err != nil || w.Encryption != "aws:kms alias/a" || w.HighWater != nil {
			t.Errorf("got %+v, %v", w, err)
		}
	})
	for name, c := range map[string]struct {
		change func(c *config.Archive)
		says   []string
	}{
		"NoSigningKey": {func(c *config.Archive) { c.SigningKeys = nil }, []string{"TIDEMARK_SIGNING_KEYS is not set"}},
		"ASigningKeyThatIsNotThere": {
			func(c *config.Archive) { c.SigningKeys = []location.Key{{File: "/none/key.pem"}} },
			[]string{"TIDEMARK_SIGNING_KEYS: ", "/none/key.pem"},
		},
		"APublicKeyToSignWith": {
			func(c *config.Archive) { c.SigningKeys = []location.Key{{File: c.TrustedKeys}} },
			[]string{"TIDEMARK_SIGNING_KEYS: "},
		},
		"RecipientsThatAreNone": {
			func(c *config.Archive) { c.Recipients = []string{"age1hunter2"} },
			[]string{"TIDEMARK_AGE_RECIPIENTS: ", "line 1"},
		},
	} {
		t.Run("Refuses"+name, func(t *testing.T) {
			t.Parallel()
			s := settings(t)
			a := open(t, s)
			c.change(&s)
			_, err := wiring.Writer(t.Context(), s, a, time.Now)
			refused(t, err, c.says...)
		})
	}
}

// TestServicesOfAWS changes the environment that the SDK reads, so nothing here runs in parallel.
func TestServicesOfAWS(t *testing.T) {
	home := t.TempDir()
	for name, value := range map[string]string{
		"HOME": home, "AWS_CONFIG_FILE": home + "/none", "AWS_SHARED_CREDENTIALS_FILE": home + "/none", "AWS_PROFILE": "",
		"AWS_EC2_METADATA_DISABLED": "true", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "hunter2",
		"AWS_REGION": "", "AWS_DEFAULT_REGION": "",
	} {
		t.Setenv(name, value)
	}
	c := settings(t)
	c.SigningKeys, c.HighWater = []location.Key{{KMS: "alias/a"}}, location.Mark{Parameter: "/a/newest"}
	_, err := wiring.Signers(t.Context(), c)
	refused(t, err, "TIDEMARK_SIGNING_KEYS: ", "alias/a", "region")
	_, err = wiring.HighWater(t.Context(), c)
	refused(t, err, "TIDEMARK_HIGH_WATER: ", "/a/newest", "region")
	t.Setenv("AWS_REGION", "eu-central-1")
	if mark, err := wiring.HighWater(t.Context(), c); err != nil || mark == nil {
		t.Errorf("got %v, %v", mark, err)
	}
}

// refused fails unless err is of class Misconfigured, says all of that and no secret, and has a hint.
func refused(t *testing.T, err error, says ...string) {
	t.Helper()
	if !fault.Is(err, fault.Misconfigured) {
		t.Fatalf("got %v of class %v, want misconfigured", err, fault.ClassOf(err))
	}
	for _, text := range says {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("got %q, want it to say %q", err, text)
		}
	}
	if strings.Contains(fault.Line(err), "hunter2") {
		t.Errorf("it shows what may be a secret: %v", err)
	}
}
