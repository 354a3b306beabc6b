package reach_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/shared/fault"
	"tidemark/shared/kafka/reach"
)

// authority is a certificate authority and its files.
type authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{dir: t.TempDir()}
	a.cert = &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	a.cert, a.key = a.issue(t, "ca", a.cert)
	return a
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, name+".pem") }

// issue signs a certificate, the first one by itself, and writes NAME.pem and NAME-key.pem.
func (a *authority) issue(t *testing.T, name string, template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber, template.NotAfter = big.NewInt(1), time.Now().Add(time.Hour)
	parent, signer := a.cert, a.key
	if signer == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{
		a.file(name):          {Type: "CERTIFICATE", Bytes: der},
		a.file(name + "-key"): {Type: "PRIVATE KEY", Bytes: pkcs8},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

// server is the brokers' side, which wants a client's certificate of the same authority.
func (a *authority) server(t *testing.T) *tls.Config {
	t.Helper()
	a.issue(t, "server", &x509.Certificate{
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	pair, err := tls.LoadX509KeyPair(a.file("server"), a.file("server-key"))
	if err != nil {
		t.Fatal(err)
	}
	known := x509.NewCertPool()
	known.AddCert(a.cert)
	return &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: known,
	}
}

func start(t *testing.T, options ...kfake.Opt) []string {
	t.Helper()
	cluster, err := kfake.NewCluster(append(options, kfake.NumBrokers(1))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	return cluster.ListenAddrs()
}

// ask is one question over a connection of its own.
func ask(t *testing.T, options reach.Options) error {
	t.Helper()
	how, err := options.Client()
	if err != nil {
		return err
	}
	client, err := kgo.NewClient(how...)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	_, err = kmsg.NewPtrMetadataRequest().RequestWith(t.Context(), client)
	if err != nil {
		return reach.Fault(err, "ask")
	}
	return nil
}

func TestMutualTLS(t *testing.T) {
	t.Parallel()
	a, other := newAuthority(t), newAuthority(t)
	addresses := start(t, kfake.TLS(a.server(t)))
	client := &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	a.issue(t, "client", client)
	other.issue(t, "client", client)
	for name, c := range map[string]struct {
		how reach.TLS
		may bool
	}{
		"Takes/TheClientsCertificate":   {reach.TLS{CAFile: a.file("ca"), CertFile: a.file("client"), KeyFile: a.file("client-key")}, true},
		"Refuses/NoCertificate":         {reach.TLS{CAFile: a.file("ca")}, false},
		"Refuses/OneOfAnotherAuthority": {reach.TLS{CAFile: a.file("ca"), CertFile: other.file("client"), KeyFile: other.file("client-key")}, false},
		"Refuses/BrokersOfAnotherOne":   {reach.TLS{CAFile: other.file("ca"), CertFile: a.file("client"), KeyFile: a.file("client-key")}, false},
		"Refuses/BrokersOfAnotherName":  {reach.TLS{CAFile: a.file("ca"), CertFile: a.file("client"), KeyFile: a.file("client-key"), ServerName: "b"}, false},
		"Refuses/TheKeyOfAnotherOne":    {reach.TLS{CAFile: a.file("ca"), CertFile: a.file("client"), KeyFile: a.file("ca-key")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := ask(t, reach.Options{Brokers: addresses, TLS: &c.how})
			if c.may && err != nil || !c.may && !fault.Is(err, fault.Misconfigured) {
				t.Errorf("got %v of class %s", err, fault.ClassOf(err))
			}
		})
	}
}

// TestMutualTLS_ReadsARenewedCertificate has a certificate renewed in its place, under a client that lives.
func TestMutualTLS_ReadsARenewedCertificate(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	var shown atomic.Value
	config := a.server(t)
	config.VerifyConnection = func(state tls.ConnectionState) error {
		shown.Store(state.PeerCertificates[0].Subject.CommonName)
		return nil
	}
	addresses := start(t, kfake.TLS(config))
	issue := func(name string) {
		t.Helper()
		c := &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
		c.Subject.CommonName = name
		a.issue(t, "client", c)
	}
	issue("first")
	how, err := reach.Options{Brokers: addresses, TLS: &reach.TLS{
		CAFile: a.file("ca"), CertFile: a.file("client"), KeyFile: a.file("client-key"),
	}}.Client()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"first", "second"} {
		issue(name)
		client, err := kgo.NewClient(how...)
		if err != nil {
			t.Fatal(err)
		}
		if err := client.Ping(t.Context()); err != nil {
			t.Error(err)
		}
		client.Close()
		if got := shown.Load(); got != name {
			t.Errorf("got the certificate %v, want the %s", got, name)
		}
	}
}

// TestSecretsAreAskedForAnew: each connection asks, so that a rotated password is met.
func TestSecretsAreAskedForAnew(t *testing.T) {
	t.Parallel()
	addresses := start(t, kfake.EnableSASL(), kfake.Superuser(string(reach.SCRAM256), "u", "second"))
	current, asked := "first", 0
	options := reach.Options{Brokers: addresses, Timeout: time.Second, SASL: &reach.SASL{
		Mechanism: reach.SCRAM256, User: "u", Password: func(context.Context) (string, error) { asked++; return current, nil },
	}}
	if err := ask(t, options); err == nil { // the stand-in hangs up; what brokers say is in the tests against them
		t.Error("the old password does")
	}
	before := asked
	current = "second"
	if err := ask(t, options); err != nil || asked == before {
		t.Errorf("got %v after %d questions for the password, %d before, want the new one to do", err, asked, before)
	}
	lost := fault.New(fault.Retryable, "the store is away")
	options.SASL.Password = func(context.Context) (string, error) { return "", lost }
	if err := ask(t, options); !errors.Is(err, lost) || !fault.Is(err, fault.Retryable) {
		t.Errorf("got %v, want the store's error", err)
	}
}

// TestBrokersCannotNameAnotherMachine has a broker on loopback that says that it is elsewhere, as one at the far end of
// a tunnel does.
func TestBrokersCannotNameAnotherMachine(t *testing.T) {
	t.Parallel()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	cluster.ControlKey(int16(kmsg.Metadata), func(request kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		answer := kmsg.NewPtrMetadataResponse()
		answer.SetVersion(request.GetVersion())
		elsewhere := kmsg.NewMetadataResponseBroker()
		elsewhere.NodeID, elsewhere.Host, elsewhere.Port = 1, "192.0.2.1", 9092
		answer.Brokers, answer.ControllerID = append(answer.Brokers, elsewhere), 1
		return answer, nil, true
	})
	how, err := reach.Options{Brokers: cluster.ListenAddrs(), Timeout: 2 * time.Second}.Client()
	if err != nil {
		t.Fatal(err)
	}
	client, err := kgo.NewClient(how...)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := kmsg.NewPtrMetadataRequest().RequestWith(t.Context(), client); err != nil {
		t.Fatal(err)
	}
	_, err = client.Broker(1).Request(t.Context(), kmsg.NewPtrMetadataRequest())
	if class := reach.ClassOf(err); err == nil || class != fault.Misconfigured {
		t.Errorf("got %v of class %s, want misconfigured", err, class)
	}
}
