package aws

import (
	_ "embed"
	"net"
	"path/filepath"
	"strconv"

	"tidemark/localstack/child"
)

// program is a stand-in as it is installed and run.
type program struct {
	name     string // for people
	version  string // that the list of packages pins
	module   string // as the launcher calls it
	oldest   int    // Python 3.oldest is the oldest that it runs on
	packages string // that it is made of, as pip reads them

	// settings are the environment that it runs with, on a port, with its files in dir.
	settings func(port int, dir, region string) []string
}

//go:embed loopback.py
var launcher string

//go:embed packages/setup.txt
var setupPackages string

//go:embed packages/localstack.txt
var localStackPackages string

//go:embed packages/ministack.txt
var miniStackPackages string

// localStack runs on the machine itself. It is told that this is no container even where it would think so, or it would
// write to fixed folders of the system; it asks the network for nothing: no names, no certificate, no news.
func localStack() program {
	return program{
		name: "LocalStack", version: "4.14.0", module: "localstack", oldest: 12, packages: localStackPackages,
		settings: func(port int, dir, region string) []string {
			address := net.JoinHostPort(child.Loopback, strconv.Itoa(port))
			return []string{
				"AWS_DEFAULT_REGION=" + region, "GATEWAY_LISTEN=" + address, "LOCALSTACK_HOST=" + address,
				"OVERRIDE_IN_DOCKER=0", "FILESYSTEM_ROOT=" + filepath.Join(dir, "system"), "PERSISTENCE=0",
				"DNS_ADDRESS=0", "SKIP_SSL_CERT_DOWNLOAD=1", "DISABLE_EVENTS=1", "EAGER_SERVICE_LOADING=0",
			}
		},
	}
}

// miniStack looks for no containers and serves no devices, whose door would be a fixed port.
func miniStack() program {
	return program{
		name: "MiniStack", version: "1.5.33", module: "ministack", oldest: 11, packages: miniStackPackages,
		settings: func(port int, dir, region string) []string {
			return []string{
				"MINISTACK_REGION=" + region, "BIND_HOST=" + child.Loopback, "MINISTACK_HOST=" + child.Loopback,
				"GATEWAY_PORT=" + strconv.Itoa(port), "S3_DATA_DIR=" + filepath.Join(dir, "s3"),
				"DOCKER_HOST=unix://" + filepath.Join(dir, "none.sock"), "IOT_MTLS_ENABLED=0", "SFTP_ENABLED=0",
			}
		},
	}
}
