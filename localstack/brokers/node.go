package brokers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"tidemark/localstack/child"
)

// runtime is what a broker is run by.
type runtime struct {
	java string // the program
	jars string // the folder of the jars
}

// node is one broker, which is a controller too: its folder and, while it is up, its process.
type node struct {
	runtime

	id      int
	address string // of the plain listener
	dir     string // holds everything: configuration, data, keys, log
	guard   *child.Guard
	process *child.Process // nil while the broker is down
}

const (
	shutdownDeadline = 15 * time.Second
	killDeadline     = 10 * time.Second
)

// newNode makes a broker's folder with its configuration. Nothing runs yet but the guard.
func newNode(plan *plan, id int, run runtime) (_ *node, err error) {
	n := &node{runtime: run, id: id, address: plan.addresses(listenerPlain)[id-1]}
	if n.dir, err = os.MkdirTemp("", "tidemark-kafka-"); err != nil {
		return nil, fmt.Errorf("make a folder: %w", err)
	}
	if n.guard, err = child.StartGuard(n.dir, syscall.SIGKILL); err != nil {
		return nil, errors.Join(err, os.RemoveAll(n.dir))
	}
	for name, content := range map[string]string{
		"server.properties": plan.properties(id, n.dir),
		"log4j2.properties": logging,
		"format":            strings.Join(plan.format(n.path("server.properties")), "\n"),
		"server.pem":        string(slices.Concat(plan.keys.Key, plan.keys.Certificate, plan.keys.Authority)),
	} {
		if err := os.WriteFile(n.path(name), []byte(content), 0o600); err != nil {
			return nil, errors.Join(fmt.Errorf("configure a broker: %w", err), n.remove())
		}
	}
	return n, nil
}

func (n *node) path(name string) string { return filepath.Join(n.dir, name) }

// formatAll makes the brokers' storage. The arguments come from a file, because they hold a password.
func formatAll(ctx context.Context, nodes []*node) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, n := range nodes {
		group.Go(func() error {
			cmd := n.command(ctx, "kafka.tools.StorageTool", "@"+n.path("format"))
			if output, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("format the storage of broker %d: %w: %s", n.id, err, tail(output))
			}
			return os.Remove(n.path("format"))
		})
	}
	return group.Wait()
}

// start starts the process, which then takes a while to serve.
func (n *node) start(ctx context.Context) error {
	log, err := os.OpenFile(n.path("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open a broker's log: %w", err)
	}
	defer func() { _ = log.Close() }() // the broker has its own descriptor
	// The broker outlives ctx, which bounds the start alone.
	cmd := n.command(context.WithoutCancel(ctx), "kafka.Kafka", n.path("server.properties"))
	cmd.Stdout, cmd.Stderr = log, log
	if n.process, err = child.Start(cmd); err != nil {
		return fmt.Errorf("start broker %d: %w", n.id, err)
	}
	if err := n.guard.Watch(n.process.PID()); err != nil {
		return errors.Join(err, n.kill())
	}
	return nil
}

// command runs one of Kafka's programs away from terminals' signals (own process group) and without this process's
// environment, in which KAFKA_* and JAVA_* variables would change it. The heap is small and the compiler the quick one:
// a broker here lives for seconds.
func (n *node) command(ctx context.Context, class string, arguments ...string) *exec.Cmd {
	arguments = append([]string{
		"-Xms64m", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:+ExitOnOutOfMemoryError",
		"-XX:-UsePerfData", "-Djava.awt.headless=true", "-Djava.io.tmpdir=" + n.dir,
		"-Dlog4j2.configurationFile=" + n.path("log4j2.properties"), "-cp", filepath.Join(n.jars, "*"), class,
	}, arguments...)
	cmd := exec.CommandContext(ctx, n.java, arguments...) //nolint:gosec // the java that was found
	cmd.Dir = n.dir
	cmd.Env = []string{"LC_ALL=C", "TZ=UTC", "PATH=/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// shutdown lets the broker hand its partitions over. One that does not obey is killed.
func (n *node) shutdown() error {
	if n.process == nil {
		return nil
	}
	if err := n.process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("ask broker %d to stop: %w", n.id, err)
	}
	if !n.process.EndsWithin(shutdownDeadline) {
		return n.kill()
	}
	return n.reap()
}

func (n *node) kill() error {
	if n.process == nil {
		return nil
	}
	if err := n.process.Signal(syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill broker %d: %w", n.id, err)
	}
	if !n.process.EndsWithin(killDeadline) {
		return fmt.Errorf("kill broker %d: it is still there after %s", n.id, killDeadline)
	}
	return n.reap()
}

func (n *node) reap() error {
	n.process.Reap()
	n.process = nil
	return n.guard.Watch(0)
}

// remove kills the broker, removes its folder and dismisses the guard.
func (n *node) remove() error {
	return errors.Join(n.kill(), os.RemoveAll(n.dir), n.guard.Dismiss())
}

// logged is the end of the broker's log, for an error message.
func (n *node) logged() string {
	content, _ := os.ReadFile(n.path("log")) // no more than a message depends on it
	return tail(content)
}

const tailBytes = 1200

func tail(output []byte) string { return string(output[max(0, len(output)-tailBytes):]) }

// logging sends warnings and errors to standard output. Without a configuration Kafka says nothing at all.
const logging = `status = error
appender.out.type = Console
appender.out.name = OUT
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = [%d] %p %m (%c)%n%ex
rootLogger.level = warn
rootLogger.appenderRef.out.ref = OUT
`
