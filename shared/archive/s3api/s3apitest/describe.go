package s3apitest

import (
	"errors"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/archive"
	"tidemark/shared/archive/s3api"
)

// lifecycle is what a bucket's rules may look like, by every age of the API.
const lifecycle = `<LifecycleConfiguration>` +
	`<Rule><ID>all</ID><Status>Enabled</Status><Filter></Filter><Expiration><Days>30</Days></Expiration></Rule>` +
	`<Rule><ID>above</ID><Status>Enabled</Status><Filter><Prefix>team/</Prefix></Filter><Expiration><Days>7</Days></Expiration></Rule>` +
	`<Rule><ID>part</ID><Status>Enabled</Status><Prefix>team/archive/objects/</Prefix>` +
	`<Expiration><Date>2027-01-31T00:00:00Z</Date></Expiration></Rule>` +
	`<Rule><ID>small</ID><Status>Enabled</Status><Filter><And><Prefix>team/archive/</Prefix>` +
	`<ObjectSizeLessThan>100</ObjectSizeLessThan></And></Filter><Expiration><Days>1</Days></Expiration></Rule>` +
	`<Rule><ID>beside</ID><Status>Enabled</Status><Filter><Prefix>team/archive-old/</Prefix></Filter>` +
	`<Expiration><Days>1</Days></Expiration></Rule>` +
	`<Rule><ID>tagged</ID><Status>Enabled</Status><Filter><Tag><Key>k</Key><Value>v</Value></Tag></Filter>` +
	`<Expiration><Days>1</Days></Expiration></Rule>` +
	`<Rule><ID>tagged2</ID><Status>Enabled</Status><Filter><And><Prefix>team/</Prefix><Tag><Key>k</Key><Value>v</Value></Tag>` +
	`</And></Filter><Expiration><Days>1</Days></Expiration></Rule>` +
	`<Rule><ID>off</ID><Status>Disabled</Status><Filter></Filter><Expiration><Days>1</Days></Expiration></Rule>` +
	`<Rule><ID>markers</ID><Status>Enabled</Status><Filter></Filter>` +
	`<Expiration><ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker></Expiration></Rule>` +
	`<Rule><ID>old</ID><Status>Enabled</Status><Filter></Filter>` +
	`<NoncurrentVersionExpiration><NoncurrentDays>1</NoncurrentDays></NoncurrentVersionExpiration></Rule>` +
	`</LifecycleConfiguration>`

const encryption = `<ServerSideEncryptionConfiguration><Rule><ApplyServerSideEncryptionByDefault>` +
	`<SSEAlgorithm>aws:kms</SSEAlgorithm><KMSMasterKeyID>arn:key</KMSMasterKeyID>` +
	`</ApplyServerSideEncryptionByDefault></Rule></ServerSideEncryptionConfiguration>`

// describing holds a Describe to what the bucket says of itself.
func describing(t *testing.T, open Open) {
	t.Helper()
	everything := func(w http.ResponseWriter, r *http.Request) {
		switch query := r.URL.Query(); {
		case query.Has("lifecycle"):
			answerXML(w, lifecycle)
		case query.Has("encryption"):
			answerXML(w, encryption)
		default:
			(&vault{now: clock}).ServeHTTP(w, r)
		}
	}
	nothing := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", clock.Format(http.TimeFormat))
		switch query := r.URL.Query(); {
		case query.Has("lifecycle"):
			Refuse(w, http.StatusNotFound, "NoSuchLifecycleConfiguration")
		case query.Has("encryption"):
			Refuse(w, http.StatusNotFound, "ServerSideEncryptionConfigurationNotFoundError")
		case query.Has("object-lock"):
			Refuse(w, http.StatusNotImplemented, "NotImplemented")
		case query.Has("versioning"):
			answerXML(w, "<VersioningConfiguration></VersioningConfiguration>")
		default:
			page(w, false, nil, 0, false)
		}
	}
	full := archive.Properties{Versioning: true, ObjectLock: true, Encryption: "aws:kms arn:key", ServerTime: clock, LifecycleExpires: []string{
		`rule "all" deletes what begins with "" after 30 days`,
		`rule "above" deletes what begins with "team/" after 7 days`,
		`rule "part" deletes what begins with "team/archive/objects/" on 2027-01-31`,
		`rule "small" deletes what begins with "team/archive/" after 1 days`,
	}}
	own := archive.Properties{Encryption: "aws:kms mine", ServerTime: clock}
	ownKey := func(o *s3api.Options) { o.SSEKMSKeyID = "mine" }
	t.Run("SaysEverything", func(t *testing.T) { t.Parallel(); compare(t, Serve(t, open, everything), full) })
	t.Run("SaysWhatIsNotSet", func(t *testing.T) {
		t.Parallel()
		compare(t, Serve(t, open, nothing), archive.Properties{ServerTime: clock})
	})
	t.Run("SaysTheKeyOfItsOwn", func(t *testing.T) { t.Parallel(); compare(t, Serve(t, open, nothing, ownKey), own) })
	for _, setting := range []string{"lifecycle", "encryption", "object-lock", "versioning"} {
		t.Run("RefusesToGuess/"+setting, func(t *testing.T) {
			t.Parallel()
			bucket := Serve(t, open, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Has(setting) {
					Refuse(w, http.StatusForbidden, "AccessDenied")
					return
				}
				everything(w, r)
			})
			if got, err := bucket.Describe(t.Context()); !errors.Is(err, archive.ErrDenied) {
				t.Errorf("got %+v, %v, want it denied", got, err)
			}
		})
	}
}

func compare(t *testing.T, bucket *s3api.Bucket, want archive.Properties) {
	t.Helper()
	got, err := bucket.Describe(t.Context())
	if failed(t, err) {
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
