package reach

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/fault"
)

// ClassOf gives an error its class. What a broker answers is judged by its code, and a code that is not listed is
// Unclassified. What came of no answer is a matter of the network and passes, but for a certificate that does not fit.
func ClassOf(err error) fault.Class {
	if known, ok := errors.AsType[*fault.Error](err); ok {
		return known.Class // the caller's own: a secret that is not to be had, an address that may not be dialled
	}
	if answered, ok := errors.AsType[*kerr.Error](err); ok {
		return classOfCode(answered)
	}
	switch {
	case isRefusedByTLS(err):
		return fault.Misconfigured
	case errors.Is(err, kgo.ErrClientClosed):
		return fault.Bug
	}
	return fault.Retryable
}

func classOfCode(code *kerr.Error) fault.Class {
	switch code {
	case kerr.OffsetOutOfRange, kerr.UnknownTopicID, kerr.InconsistentTopicID:
		return fault.Gap
	case kerr.CorruptMessage, kerr.InvalidRecord:
		return fault.Corrupt
	case kerr.UnknownTopicOrPartition, kerr.InvalidTopicException, kerr.TopicAuthorizationFailed, kerr.ClusterAuthorizationFailed,
		kerr.GroupAuthorizationFailed, kerr.SaslAuthenticationFailed, kerr.UnsupportedSaslMechanism, kerr.IllegalSaslState,
		kerr.SecurityDisabled, kerr.UnsupportedVersion, kerr.UnsupportedCompressionType, kerr.InvalidConfig, kerr.PolicyViolation,
		kerr.InconsistentClusterID, kerr.MismatchedEndpointType, kerr.UnsupportedEndpointType, kerr.UnsupportedForMessageFormat:
		return fault.Misconfigured
	case kerr.InvalidRequest, kerr.InvalidFetchSize:
		return fault.Bug
	}
	if code.Retriable {
		return fault.Retryable
	}
	return fault.Unclassified
}

// isRefusedByTLS says whether a handshake failed for what one side is, rather than for the network's sake.
func isRefusedByTLS(err error) bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return true
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return true // the other side does not speak TLS
	}
	// An alert of the other side, such as that it wants a certificate. Its type is crypto/tls's own.
	remote, ok := errors.AsType[*net.OpError](err)
	return ok && remote.Op == "remote error"
}

// Fault gives an error of the client or of a broker its class, what was asked and, where there is something, what to do.
func Fault(err error, format string, args ...any) error {
	f := fault.New(ClassOf(err), format+": %w", append(args, err)...)
	if hint := hintFor(err); hint != "" {
		return f.WithHint("%s", hint)
	}
	return f
}

func hintFor(err error) string {
	if hint := fault.HintOf(err); hint != "" {
		return hint
	}
	_, hungUp := errors.AsType[*kgo.ErrFirstReadEOF](err)
	switch {
	case hungUp:
		return "a broker hung up on the first request: unless it just went down, it wants TLS or a login, or wants none"
	case errors.Is(err, kerr.SaslAuthenticationFailed):
		return "check user and password, and that the brokers know the user under this mechanism"
	case errors.Is(err, kerr.UnsupportedSaslMechanism), errors.Is(err, kerr.IllegalSaslState):
		return "the brokers' listener offers another way to log in"
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		return "grant the user the operations Read, Describe and DescribeConfigs on the topic"
	case errors.Is(err, kerr.ClusterAuthorizationFailed):
		return "grant the user the operation Describe on the cluster"
	case isRefusedByTLS(err):
		return "check the authority's certificate, the name in the brokers' certificates, the client's own certificate and the port"
	}
	return ""
}
