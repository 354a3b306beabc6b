package reach_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/fault"
	"tidemark/shared/kafka/reach"
)

// TestClassOf is the table of errors, row by row.
func TestClassOf(t *testing.T) {
	t.Parallel()
	secret := fault.New(fault.Fenced, "the store's own error")
	for class, rows := range map[fault.Class][]error{
		fault.Fenced: {secret, fmt.Errorf("dial: %w", secret)},
		fault.Gap:    {kerr.OffsetOutOfRange, kerr.UnknownTopicID, kerr.InconsistentTopicID},
		fault.Corrupt: {
			kerr.CorruptMessage, kerr.InvalidRecord,
		},
		fault.Misconfigured: {
			kerr.UnknownTopicOrPartition, kerr.InvalidTopicException, kerr.TopicAuthorizationFailed, kerr.ClusterAuthorizationFailed,
			kerr.GroupAuthorizationFailed, kerr.SaslAuthenticationFailed, kerr.UnsupportedSaslMechanism, kerr.IllegalSaslState,
			kerr.SecurityDisabled, kerr.UnsupportedVersion, kerr.UnsupportedCompressionType, kerr.InvalidConfig, kerr.PolicyViolation,
			kerr.InconsistentClusterID, kerr.MismatchedEndpointType, kerr.UnsupportedEndpointType, kerr.UnsupportedForMessageFormat,
			&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}},
			x509.HostnameError{Certificate: &x509.Certificate{}},
			tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"},
			&net.OpError{Op: "remote error", Err: tls.AlertError(42)},
		},
		fault.Bug: {kerr.InvalidRequest, kerr.InvalidFetchSize, kgo.ErrClientClosed},
		fault.Retryable: {
			kerr.NotLeaderForPartition, kerr.LeaderNotAvailable, kerr.FencedLeaderEpoch, kerr.UnknownLeaderEpoch, kerr.RequestTimedOut,
			kerr.NetworkException, kerr.BrokerNotAvailable, kerr.ReplicaNotAvailable, kerr.KafkaStorageError, kerr.OffsetNotAvailable,
			kerr.NotController, kerr.ThrottlingQuotaExceeded, kerr.PreferredLeaderNotAvailable, kerr.ListenerNotFound,
			context.DeadlineExceeded, context.Canceled, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, &kgo.ErrFirstReadEOF{},
			&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, &net.DNSError{IsNotFound: true}, errors.New("the client's own"),
		},
		fault.Unclassified: {kerr.UnknownServerError, kerr.InvalidTimestamp, kerr.UnknownMemberID, kerr.ProducerFenced},
	} {
		for _, err := range rows {
			if got := reach.ClassOf(err); got != class {
				t.Errorf("%v: got class %s, want %s", err, got, class)
			}
			if got := reach.ClassOf(fmt.Errorf("deeper: %w", err)); got != class {
				t.Errorf("%v, wrapped: got class %s, want %s", err, got, class)
			}
		}
	}
}

func TestFault(t *testing.T) {
	t.Parallel()
	for hint, err := range map[string]error{
		"user and password":             kerr.SaslAuthenticationFailed,
		"another way to log in":         kerr.UnsupportedSaslMechanism,
		"DescribeConfigs on the topic":  kerr.TopicAuthorizationFailed,
		"Describe on the cluster":       kerr.ClusterAuthorizationFailed,
		"authority's certificate":       &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}},
		"it wants TLS":                  &kgo.ErrFirstReadEOF{},
		"ask the keeper of the secrets": fault.New(fault.Retryable, "away").WithHint("ask the keeper of the secrets"),
	} {
		got := reach.Fault(err, "read %s", "orders/3")
		if !errors.Is(got, err) || !strings.HasPrefix(got.Error(), "read orders/3: ") || !strings.Contains(fault.HintOf(got), hint) {
			t.Errorf("got %v with the hint %q, want a hint at %q", got, fault.HintOf(got), hint)
		}
	}
	if got := reach.Fault(io.EOF, "read"); fault.HintOf(got) != "" {
		t.Errorf("got the hint %q, want none", fault.HintOf(got))
	}
}
