//go:build drill

package recovery_test

import (
	"fmt"
	"testing"

	"tidemark/tests/internal/drilling"
	"tidemark/tests/internal/harness"
)

// atEveryRequest breaks each request that the command sends to the broker, in three forms: lost, its answer lost, the command
// killed. The client asks again for much of it, so that the command may come through; it never says so without having the rows.
// How often a client asks depends on when answers come: a recovery that needs fewer requests than the undisturbed one may miss
// the last of them.
func atEveryRequest(t *testing.T, w *world) {
	t.Helper()
	s := newSweep(t, w)
	proxy := newWire(t, w.cluster.Addresses()[0])
	proxy.arm(wireFault{})
	command := func() map[string]string {
		env := s.own()
		env["TIDEMARK_DATABASE_URL"], env["TIDEMARK_KAFKA_BROKERS"] = s.db.URL, proxy.listener.Addr().String()
		return env
	}
	s.run(t, 0, command(), recovering()...)
	s.want = state(t, s.db)
	requests, _ := proxy.seen()
	first, missed, told := firstForm(t), 0, map[string]int{}
	chosen := tellingRequests(requests)
	for _, number := range chosen {
		name := nthOf(requests[:number])
		for which, form := range drilling.Forms() {
			if !due(number, which, first) {
				continue
			}
			s.reset(t)
			started := make(chan *process, 1)
			fault := wireFault{request: name, after: which > 0}
			if form.Kills {
				fault.act = func() { (<-started).Kill() }
			}
			proxy.arm(fault)
			p := s.start(t, command(), recovering()...)
			started <- p
			code := p.Wait(t, patience)
			_, fired := proxy.seen()
			proxy.arm(wireFault{})
			switch {
			case !fired:
				missed++
			case form.Kills != (code == -1), code != -1 && code != 0 && code != 31:
				t.Fatalf("request %s, %s: exit code %d: %s", name, form.Name, code, &p.Errors)
			}
			s.alone(t)
			if live := s.live(t); live != (code == 0) {
				t.Errorf("request %s, %s: exit code %d, live: %v", name, form.Name, code, live)
			}
			s.goesOn(t)
			if told[fmt.Sprintf("%s: exit %d", form.Name, code)]++; t.Failed() {
				t.Fatalf("at request %s, %s", name, form.Name)
			}
		}
	}
	t.Logf("%d requests %v, of which these were broken: %v: %v, %d missed", len(requests), requests, chosen, told, missed)
	const most = 25 // in a hundred
	if len(chosen) < 8 || missed*100 > most*len(chosen) {
		t.Errorf("of %d requests %d were not reached", len(chosen), missed)
	}
}

// tellingRequests are the numbers of the requests that differ: the first of those that follow the same request.
func tellingRequests(requests []string) (chosen []int) {
	effects := make([]harness.Effect, len(requests))
	for i, name := range requests {
		effects[i] = harness.Effect{Number: i + 1, Text: name}
	}
	for _, e := range telling(effects) {
		chosen = append(chosen, e.Number)
	}
	return chosen
}
