// Package brokers starts real Apache Kafka brokers on loopback: one, or a cluster of three that outlives the loss of one.
//
// It owns where the brokers come from and how they end. They run from jars of a Maven repository, downloaded once against
// digests pinned in jars.txt, and need nothing of the machine but Java 17. It refuses to listen anywhere but on 127.0.0.1,
// to make topics by writing to them, and to guess: when there is no Java it says what to install. Brokers that exist
// already are used as they are and never stopped.
//
// Invariants: a broker that this package started dies with this process, also when the process is killed; its folder goes
// with it. Three brokers keep three replicas of everything and confirm a write only with two, no replica that lags becomes
// leader: what was confirmed outlives Kill of one. Nothing outlives Stop.
//
// No goroutine waits for a broker, so leak detectors stay quiet. Methods may be called from several goroutines; those that
// start or stop a broker take turns.
package brokers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/fault"
)

// Options says where brokers come from and what they offer. The zero value is one broker with a plain listener.
type Options struct {
	// Addresses are brokers that exist, and Client how to reach them. They are used as they are and never stopped.
	Addresses []string
	Client    []kgo.Opt

	// Count is the number of brokers, one or three. 0: one.
	Count int
	// Secure adds a listener with TLS, and SCRAM inside it, to the plain one.
	Secure bool
	// Settings are added to the brokers' configuration and win over this package's own.
	Settings map[string]string

	// Java is the program that runs them. Empty: of JAVA_HOME, else of PATH.
	Java string
	// Mirror is the address of a Maven repository that has the jars. Empty: Maven Central.
	Mirror string
	// CacheDir keeps downloaded jars. Empty: "tidemark/kafka" in the user's cache folder.
	CacheDir string
}

func (o Options) validate() error {
	switch {
	case len(o.Addresses) > 0 && o.Secure:
		return fault.New(fault.Misconfigured, "brokers that exist offer what they offer: no listener can be added to them")
	case o.Count != 0 && o.Count != 1 && o.Count != 3:
		return fault.New(fault.Misconfigured, "%d brokers: one loses everything with its own end, three keep a majority", o.Count)
	}
	return nil
}

// Cluster is brokers that are up until Stop. They are numbered from 1, as their node ids are.
type Cluster struct {
	addresses []string
	client    []kgo.Opt
	access    Access

	mu    sync.Mutex
	nodes []*node // empty when the caller named the brokers, and after Stop
}

const (
	startDeadline = 90 * time.Second
	portAttempts  = 3
)

// Start starts brokers, or takes those that options name. It returns when each of them has all of them in its cluster.
//
// Errors: fault.Misconfigured when there is no Java or no jars to be had, with what to do in its hint; fault.Corrupt when
// a download does not have the pinned digest.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	if err := options.validate(); err != nil {
		return nil, err
	}
	if len(options.Addresses) > 0 {
		client := append([]kgo.Opt{kgo.SeedBrokers(options.Addresses...)}, options.Client...)
		return &Cluster{addresses: options.Addresses, client: client}, nil
	}
	java, err := findJava(ctx, options.Java)
	if err != nil {
		return nil, err
	}
	jars, err := findJars(ctx, options)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startDeadline)
	defer cancel()
	// A port is free only until somebody else takes it, so brokers that die while starting get others.
	for attempt := 1; ; attempt++ {
		c, err := startCluster(ctx, options, runtime{java: java, jars: jars})
		if err == nil {
			return c, nil
		}
		if !errors.Is(err, errDied) || attempt == portAttempts {
			return nil, fmt.Errorf("start Kafka %s: %w", version, err)
		}
	}
}

func startCluster(ctx context.Context, options Options, run runtime) (_ *Cluster, err error) {
	plan, err := newPlan(ctx, options, cmp.Or(options.Count, 1))
	if err != nil {
		return nil, err
	}
	c := &Cluster{addresses: plan.addresses(listenerPlain)}
	c.client = []kgo.Opt{kgo.SeedBrokers(c.addresses...)}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Stop())
		}
	}()
	for id := range plan.ports {
		n, err := newNode(plan, id+1, run)
		if err != nil {
			return nil, err
		}
		c.nodes = append(c.nodes, n)
	}
	if options.Secure {
		if c.access, err = plan.access(c.nodes[0].dir); err != nil {
			return nil, err
		}
	}
	if err := formatAll(ctx, c.nodes); err != nil {
		return nil, err
	}
	for _, n := range c.nodes {
		if err := n.start(ctx); err != nil {
			return nil, err
		}
	}
	return c, awaitReady(ctx, c.nodes, c.nodes)
}

// Addresses are the brokers' plain listeners, or what the caller named. They stay valid over Restart.
func (c *Cluster) Addresses() []string { return slices.Clone(c.addresses) }

// Client is how a client reaches the brokers without further ado.
func (c *Cluster) Client() []kgo.Opt { return slices.Clone(c.client) }

// Secure is how clients reach the listener that Options.Secure asked for; the zero value without it.
func (c *Cluster) Secure() Access { return c.access }

// Stop ends the brokers and removes all that they kept. It is a no-op the second time and for brokers that the caller
// named.
func (c *Cluster) Stop() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var err error
	for _, n := range c.nodes {
		err = errors.Join(err, n.remove())
	}
	c.nodes = nil
	return err
}

// Kill ends a broker with SIGKILL, as a crash would, and returns when it is gone.
func (c *Cluster) Kill(number int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, err := c.own(number)
	if err != nil {
		return err
	}
	return n.kill()
}

// Restart brings a broker up again at the same addresses, after Kill or, by an orderly shutdown first, while it runs. It
// returns when the broker serves; what it missed it may still be fetching: see AwaitReplicas.
func (c *Cluster) Restart(ctx context.Context, number int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, err := c.own(number)
	if err != nil {
		return err
	}
	if err := n.shutdown(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startDeadline)
	defer cancel()
	if err := n.start(ctx); err != nil {
		return err
	}
	up := slices.DeleteFunc(slices.Clone(c.nodes), func(n *node) bool { return n.process == nil })
	return awaitReady(ctx, []*node{n}, up)
}

func (c *Cluster) own(number int) (*node, error) {
	switch {
	case len(c.nodes) == 0:
		return nil, fault.New(fault.Misconfigured, "the brokers are stopped or belong to somebody else")
	case number < 1 || number > len(c.nodes):
		return nil, fault.New(fault.Misconfigured, "there is no broker %d", number)
	}
	return c.nodes[number-1], nil
}
