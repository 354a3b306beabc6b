package brokers

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"tidemark/shared/fault"
)

func TestMain(m *testing.M) {
	flag.Parse()
	goleak.VerifyTestMain(m)
}

func TestStartRefuses(t *testing.T) {
	t.Parallel()
	java := filepath.Join(t.TempDir(), "java")
	script := "#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n"
	if err := os.WriteFile(java, []byte(script), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		options Options
		ways    []string // that the hint must name
	}{
		"TwoBrokers":         {Options{Count: 2}, nil},
		"AListenerForOthers": {Options{Addresses: []string{"192.0.2.1:9092"}, Secure: true}, nil},
		"NoJava":             {Options{Java: filepath.Join(t.TempDir(), "none")}, []string{"install a Java runtime", "JAVA_HOME", "Addresses"}},
		"AnOldJava":          {Options{Java: java}, []string{"install a Java runtime"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Start(t.Context(), c.options)
			if !fault.Is(err, fault.Misconfigured) {
				t.Fatalf("got %v, want misconfigured", err)
			}
			for _, way := range c.ways {
				if !strings.Contains(fault.HintOf(err), way) {
					t.Errorf("got the hint %q, want it to name %s", fault.HintOf(err), way)
				}
			}
		})
	}
}

func TestStartTakesBrokersThatAreNamed(t *testing.T) {
	t.Parallel()
	named := []string{"192.0.2.1:9092", "192.0.2.2:9092"}
	c, err := Start(t.Context(), Options{Addresses: named})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(named, c.Addresses()); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
	if err := c.Kill(1); !fault.Is(err, fault.Misconfigured) {
		t.Errorf("got %v, want a refusal to kill somebody else's broker", err)
	}
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
}

func TestMajorOf(t *testing.T) {
	t.Parallel()
	for output, want := range map[string]int{
		"openjdk version \"17.0.15\" 2025-04-15\nOpenJDK Runtime Environment":   17,
		"openjdk version \"25\" 2025-09-16":                                     25,
		"java version \"1.8.0_392\"":                                            8,
		"The operation couldn't be completed. Unable to locate a Java Runtime.": 0,
	} {
		if got := majorOf(output); got != want {
			t.Errorf("%q: got %d, want %d", output, got, want)
		}
	}
}

func TestPinnedJars(t *testing.T) {
	t.Parallel()
	jars, err := parseList(pinned)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, jar := range jars {
		names = append(names, path.Base(jar.Path))
	}
	slices.Sort(names)
	if unique := slices.Compact(slices.Clone(names)); len(unique) != len(names) {
		t.Error("two jars have one name: they would overwrite each other")
	}
	if !slices.Contains(names, "kafka_2.13-"+version+".jar") {
		t.Errorf("got %q, want Kafka %s among them", names, version)
	}
	if _, err := parseList("0123  a.jar\n"); !fault.Is(err, fault.Bug) {
		t.Errorf("got %v for a short digest, want a bug", err)
	}
}

func TestInstallJars(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		switch r.URL.Path {
		case "/m/g/one.jar":
			_, _ = io.WriteString(w, "1")
		case "/m/g/two.jar", "/m/g/three.jar":
			_, _ = io.WriteString(w, "2")
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	line := func(name, content string) string {
		sum := sha256.Sum256([]byte(content))
		return hex.EncodeToString(sum[:]) + "  g/" + name + ".jar\n"
	}
	list := line("one", "1") + line("two", "2")
	mirror, cache := server.URL+"/m/", t.TempDir()

	for range 2 {
		dir, err := installJars(t.Context(), mirror, cache, list)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"one.jar", "two.jar"}, entries(t, dir)); diff != "" {
			t.Errorf("jars (-want +got):\n%s", diff)
		}
	}
	if got := asked.Load(); got != 2 {
		t.Errorf("got %d downloads, want two: the second time is from the cache", got)
	}
	if _, err := installJars(t.Context(), mirror, cache, list+line("three", "other bytes")); !fault.Is(err, fault.Corrupt) {
		t.Errorf("got %v, want other bytes refused", err)
	}
	if _, err := installJars(t.Context(), mirror, cache, list+line("missing", "")); err == nil {
		t.Error("an installation with a missing jar passed")
	}
	if left := entries(t, cache); len(left) != 1 {
		t.Errorf("got %q in the cache, want the one whole installation", left)
	}
}

func entries(t *testing.T, dir string) []string {
	t.Helper()
	found, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range found {
		names = append(names, entry.Name())
	}
	return names
}

func TestStartWithoutAMirror(t *testing.T) {
	t.Parallel()
	_, err := findJars(t.Context(), Options{Mirror: "http://127.0.0.1:1", CacheDir: t.TempDir()})
	if !fault.Is(err, fault.Misconfigured) || !strings.Contains(fault.HintOf(err), "Mirror") {
		t.Errorf("got %v with the hint %q, want misconfigured and the ways out", err, fault.HintOf(err))
	}
}
