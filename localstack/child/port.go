package child

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Loopback is where servers listen.
const Loopback = "127.0.0.1"

// FreePort is a port of loopback that nobody has now.
func FreePort(ctx context.Context) (int, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", net.JoinHostPort(Loopback, "0"))
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer func() { _ = listener.Close() }() // only its number was wanted
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		return 0, fmt.Errorf("find a free port: %s is no TCP address", listener.Addr())
	}
	return address.Port, nil
}

// FreePorts are different ports of loopback below the range that outgoing connections are given: a server that is down for a
// while finds its own free when it comes back.
func FreePorts(ctx context.Context, count int) (ports []int, err error) {
	const from, until, attempts = 20_000, 32_000, 1000
	var held []net.Listener // until all are found, so that none is found twice
	defer func() {
		for _, listener := range held {
			err = errors.Join(err, listener.Close())
		}
	}()
	for range attempts {
		if len(ports) == count {
			return ports, nil
		}
		port := from + rand.IntN(until-from) //nolint:gosec // a port is no secret
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", net.JoinHostPort(Loopback, strconv.Itoa(port)))
		if err != nil {
			continue
		}
		held, ports = append(held, listener), append(ports, port)
	}
	return nil, fmt.Errorf("find %d free ports between %d and %d", count, from, until)
}
