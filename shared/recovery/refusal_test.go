package recovery_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"tidemark/shared/apply"
	"tidemark/shared/archive/archivetest"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/layout"
	"tidemark/shared/archive/writer/writertest"
	"tidemark/shared/fault"
	"tidemark/shared/recovery"
	"tidemark/shared/recovery/recoverytest"
	"tidemark/shared/recovery/refusal"
	"tidemark/shared/signing"
)

// scene is what a recovery meets, and what it says.
type scene struct {
	name  refusal.Name
	class fault.Class
	says  string // in the error
	hint  string // in the hint
	// set makes it so, in a shop that has one backup. It returns what is asked for, if anything.
	set func(t *testing.T, w *recoverytest.World, d *recoverytest.Database) func(*recovery.Options)
	// override goes on all the same; nil: nothing does.
	override func(*recovery.Options)
}

// TestRunRefusesByName: each refusal has its class, its name and a hint; it leaves the database as it was; and what it names as
// the way to go on goes on.
func TestRunRefusesByName(t *testing.T) {
	t.Parallel()
	world := recoverytest.New(t, 1)
	for title, s := range scenes() {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			w := shop(t, world.Fork(1))
			d := w.Database()
			change := s.set(t, w, d)
			if change == nil {
				change = func(*recovery.Options) {}
			}
			before := d.Try()
			_, err := run(t, w, d, change)
			wantRefusal(t, err, s.name, s.class)
			if !strings.Contains(err.Error(), string(s.name)+": ") || !strings.Contains(err.Error(), s.says) {
				t.Errorf("got %q, want the name and %q", err, s.says)
			}
			if hint := fault.HintOf(err); !strings.HasPrefix(hint, s.name.Meaning()+"; ") || !strings.Contains(hint, s.hint) {
				t.Errorf("got the hint %q, want the meaning and %q", hint, s.hint)
			}
			if after := d.Try(); (before == nil) != (after == nil) || d.State() == apply.StateLive {
				t.Errorf("the refusal changed the database: %q, %v to %v", d.State(), before, after)
			}
			if s.override != nil {
				mustRun(t, w, d, change, s.override)
			}
		})
	}
}

const final = "nothing overrides this"

func scenes() map[string]scene {
	all := archiveScenes()
	for title, s := range logScenes() {
		all[title] = s
	}
	for title, s := range databaseScenes() {
		all[title] = s
	}
	return all
}

type (
	setter  = func(t *testing.T, w *recoverytest.World, d *recoverytest.Database) func(*recovery.Options)
	changer = func(*recovery.Options)
)

// logs is a scene that only the log has changed for.
func logs(change func(w *recoverytest.World)) setter {
	return func(_ *testing.T, w *recoverytest.World, _ *recoverytest.Database) func(*recovery.Options) {
		change(w)
		return nil
	}
}

func logScenes() map[string]scene {
	gap := fault.Gap
	return map[string]scene{
		"ATopicIsGone": {
			refusal.PartitionVanished, gap, "no partition orders/0; the log has no partition orders/1", final,
			logs(func(w *recoverytest.World) { w.Log.Drop(orders) }), nil,
		},
		"ATopicOfManyIsGone": {
			refusal.PartitionVanished, gap, "no partition many/4; and 15 more", final,
			func(t *testing.T, w *recoverytest.World, _ *recoverytest.Database) changer {
				t.Helper()
				w.Flows[shopFlow] = append(w.Flows[shopFlow], "many")
				w.Log.Create("many", 20)
				w.Backup(t, w.Stable())
				w.Log.Drop("many")
				return nil
			}, nil,
		},
		"APartitionIsGone": {
			refusal.PartitionVanished, gap, "no partition orders/3", final,
			logs(func(w *recoverytest.World) { w.Log.Shrink(orders) }), nil,
		},
		"ATopicWasMadeAnew": {
			refusal.TopicRecreated, gap, "topic orders is", final, logs(func(w *recoverytest.World) {
				w.Log.Create(orders, 4)
				for range 20 {
					w.Log.Append(at(0), w.Now(), recoverytest.Put("0-0", "other"))
				}
			}), nil,
		},
		"TheLogIsShorter": {
			refusal.LogShorterThanManifest, gap, "orders/1 ends at 3, and the target", final,
			logs(func(w *recoverytest.World) { w.Log.Truncate(at(1), 3) }), nil,
		},
		"TheLogIsShorterAndNoEpochIsKnown": {
			refusal.LogShorterThanManifest, gap, "orders/1 ends at 3, and the target has what lies below", final,
			func(t *testing.T, w *recoverytest.World, _ *recoverytest.Database) changer {
				t.Helper()
				w.Epochless = true
				w.Backup(t, w.Stable())
				w.Log.Truncate(at(1), 3)
				return nil
			}, nil,
		},
		"TheLogWasShorterAndGrew": {
			refusal.LogShorterThanManifest, gap, "leader epoch 0 of orders/1 ends at 3", final, logs(func(w *recoverytest.World) {
				w.Log.Truncate(at(1), 3)
				for range 20 {
					w.Log.Append(at(1), w.Now(), recoverytest.Put("1-0", "other"))
				}
			}), nil,
		},
		"TheLogNeverCameToThatEpoch": {
			refusal.LogShorterThanManifest, gap, "no leader epoch 1", final,
			func(t *testing.T, w *recoverytest.World, _ *recoverytest.Database) changer {
				t.Helper()
				w.Log.Elect(at(1))
				w.Log.Append(at(1), w.Now(), recoverytest.Put("1-1", "x"))
				w.Backup(t, w.Stable())
				w.Log.Reset(at(1))
				return nil
			}, nil,
		},
		"TheLogLetGo": {
			refusal.LogTruncated, gap, "orders/2 begins at 5, the target would stand at 4: 1 offsets are gone",
			"--allow-gap REASON; that loses every",
			logs(func(w *recoverytest.World) { w.Log.Trim(at(2), 5) }), allowGap,
		},
		"AnAddedPartitionLetGo": {
			refusal.LogTruncated, gap, "orders/4 begins at 1, the target would stand at 0", "--allow-gap REASON; that loses every",
			logs(func(w *recoverytest.World) {
				w.Log.Add(orders, 1)
				w.Log.Append(at(4), w.Now(), recoverytest.Put("4-0", "x"))
				w.Log.Append(at(4), w.Now(), recoverytest.Put("4-1", "x"))
				w.Log.Trim(at(4), 1)
			}), allowGap,
		},
		"TombstonesMayBeGone": {
			refusal.TombstonesExpired, gap, "topic orders keeps tombstones for 24h0m0s, partition 0 of the manifest is of 24h",
			"--allow-gap REASON; that loses deletes",
			logs(func(w *recoverytest.World) { w.Log.Configure(orders, 24*time.Hour); w.Pass(24 * time.Hour) }), allowGap,
		},
		"TheWorstComesFirst": {
			refusal.TopicRecreated, gap, "topic orders is", final, logs(func(w *recoverytest.World) {
				w.Log.Create(orders, 4)
				w.Log.Configure(orders, 0)
				for range 20 {
					w.Log.Append(at(0), w.Now(), recoverytest.Put("0-0", "other"))
				}
				w.Log.Trim(at(0), 10)
			}), nil,
		},
		"AnotherCluster": {
			refusal.IdentityMismatch, fault.Misconfigured, "the log is cluster other, the manifest was made from cluster-1", final,
			logs(func(w *recoverytest.World) { w.Log.Cluster = "other" }), nil,
		},
	}
}

// wipe empties both buckets of what a folder holds.
func wipe(t *testing.T, w *recoverytest.World, folder string, with []byte) {
	t.Helper()
	for _, bucket := range []*archivetest.Memory{w.Primary, w.Secondary} {
		for info, err := range bucket.List(t.Context(), folder) {
			if err != nil {
				t.Fatal(err)
			}
			replace(t, bucket, info.Key, with)
		}
	}
}

// replace puts other content under a key; nil: none.
func replace(t *testing.T, bucket *archivetest.Memory, key string, with []byte) {
	t.Helper()
	if err := bucket.Delete(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	if with == nil {
		return
	}
	if err := bucket.Create(t.Context(), key, with); err != nil {
		t.Fatal(err)
	}
}

// mark remembers a manifest, as an outside of the buckets.
type mark struct{ history.Mark }

func (m mark) Load(context.Context) (history.Mark, error) { return m.Mark, nil }

func (mark) Raise(context.Context, history.Mark) error { return nil }

// seen says that a later manifest than all was committed.
func seen(w *recoverytest.World) changer {
	newer := history.Mark{Lineage: 1, Seq: 9, Statement: "00"}
	return func(o *recovery.Options) { o.HighWater = mark{newer}; o.Now = w.Now }
}

func archiveScenes() map[string]scene {
	return map[string]scene{
		"ThereIsNoBackup": {
			refusal.NoBackup, fault.Misconfigured, "there is no backup", "check the archive's address",
			func(t *testing.T, w *recoverytest.World, _ *recoverytest.Database) changer {
				t.Helper()
				wipe(t, w, "", nil)
				return nil
			}, nil,
		},
		"NobodyTrustedVouches": {
			refusal.Untrusted, fault.Corrupt, "", "",
			func(t *testing.T, _ *recoverytest.World, _ *recoverytest.Database) changer {
				t.Helper()
				return func(o *recovery.Options) {
					o.Archive.Trusted = signing.Keyring{{Key: writertest.NewKey(t, 2).Key()}}
				}
			}, nil,
		},
		"ChunksAreGone": {
			refusal.Corrupt, fault.Corrupt, "no such object", final,
			func(t *testing.T, w *recoverytest.World, _ *recoverytest.Database) changer {
				t.Helper()
				wipe(t, w, layout.Objects, nil)
				return nil
			}, nil,
		},
		"BodiesAreDamaged": {
			refusal.Corrupt, fault.Corrupt, "body of manifest", final,
			func(t *testing.T, w *recoverytest.World, _ *recoverytest.Database) changer {
				t.Helper()
				wipe(t, w, layout.Objects, []byte("x"))
				return nil
			}, nil,
		},
		"ANewerOneWasSeen": {
			refusal.OlderThanSeen, fault.Corrupt, "1/9 was committed", "--allow-older REASON; that loses what only the newer",
			func(_ *testing.T, w *recoverytest.World, _ *recoverytest.Database) changer { return seen(w) }, allowOlder,
		},
		"NobodyRemembersAndSomebodyMust": {
			refusal.FreshnessUnproven, fault.Misconfigured, "nobody outside the buckets", "--allow-older REASON; that loses what was backed up after",
			func(*testing.T, *recoverytest.World, *recoverytest.Database) changer {
				return func(o *recovery.Options) { o.RequireFresh = true }
			}, allowOlder,
		},
		"TwoLivesHaveOneNumber": {
			refusal.LineageForked, fault.Fenced, "two lives with one number", "removing the record",
			func(t *testing.T, w *recoverytest.World, _ *recoverytest.Database) changer {
				t.Helper()
				forkLives(t, w)
				return nil
			}, nil,
		},
		"TwoManifestsHaveOneNumber": {
			refusal.LineageForked, fault.Fenced, "two manifests have one number", "choose by --manifest RUN",
			func(t *testing.T, w *recoverytest.World, _ *recoverytest.Database) changer {
				t.Helper()
				other := w.World.Fork()
				w.Pass(time.Second) // another moment, another manifest
				w.Backup(t, w.Stable())
				other.NextRun() // and another run
				stray := &recoverytest.World{World: other, Log: w.Log, Flows: w.Flows}
				c := stray.Backup(t, w.Stable())
				merge(t, other.Primary, w.Primary)
				_ = c
				return nil
			}, nil,
		},
		"TheArchiveIsAnothers": {
			refusal.IdentityMismatch, fault.Misconfigured, "is the archive of test-target", "prefix of its own",
			func(*testing.T, *recoverytest.World, *recoverytest.Database) changer {
				return func(o *recovery.Options) { o.Archive.Target = "another" }
			}, nil,
		},
	}
}

// merge copies what a bucket has and another lacks.
func merge(t *testing.T, from, to *archivetest.Memory) {
	t.Helper()
	for info, err := range from.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		content, err := from.Read(t.Context(), info.Key, spanOf(info.Size))
		if err != nil {
			t.Fatal(err)
		}
		_ = to.Create(t.Context(), info.Key, content) // it may be there
	}
}

// forkLives has two recoveries take one number, one in each bucket.
func forkLives(t *testing.T, w *recoverytest.World) {
	t.Helper()
	other := w.Fork(2)
	other.Log, other.Flows = w.Log, w.Flows
	merge(t, w.Primary, other.Primary)
	merge(t, w.Secondary, other.Secondary)
	other.NextRun()
	other.NextRun()
	mustRun(t, w, w.Database())
	mustRun(t, other, other.Database())
	key := layout.Lineage(2)
	content, err := other.Secondary.Read(t.Context(), key, spanOf(1<<20))
	if err != nil {
		t.Fatal(err)
	}
	replace(t, w.Secondary, key, content)
}

func databaseScenes() map[string]scene {
	claimed := func(t *testing.T, w *recoverytest.World, d *recoverytest.Database) {
		t.Helper()
		if _, err := runBy(t, w.Process(d, stopAt("Restore"))); err == nil {
			t.Fatal("the first call went through")
		}
	}
	return map[string]scene{
		"TheDatabaseIsNotEmpty": {
			refusal.TargetNotEmpty, fault.Misconfigured, "it has table x", "name an empty database; that loses nothing",
			func(_ *testing.T, _ *recoverytest.World, d *recoverytest.Database) changer {
				d.Foreign = "table x"
				return nil
			}, nil,
		},
		"TheDatabaseIsAnotherManifests": {
			refusal.TargetNotEmpty, fault.Misconfigured, "a recovery from manifest 1/1-", "name that manifest or an empty database; that loses nothing",
			func(t *testing.T, w *recoverytest.World, d *recoverytest.Database) changer {
				t.Helper()
				claimed(t, w, d)
				return func(o *recovery.Options) { o.Manifest = "99999999-0000-4000-8000-000000000001" }
			}, func(o *recovery.Options) { o.Manifest = "" },
		},
		"TheDatabaseIsAnotherTargets": {
			refusal.IdentityMismatch, fault.Misconfigured, "a recovery of target test-target, the archive is of another", final,
			func(t *testing.T, w *recoverytest.World, d *recoverytest.Database) changer {
				t.Helper()
				claimed(t, w, d)
				return func(o *recovery.Options) { o.Archive.Target = "another" }
			}, func(o *recovery.Options) { o.Archive.Target = writertest.Target },
		},
	}
}

// stopAt is the plan that the first call of a method fails.
func stopAt(method string) writertest.Plan {
	stopped := false
	return func(c writertest.Call) writertest.Form {
		if c.Method != method || stopped {
			return ""
		}
		stopped = true
		return writertest.KillBefore
	}
}

// afterClaim is the plan that the process dies between the database and the life.
func afterClaim(c writertest.Call) writertest.Form {
	if c.Method == "Claim" {
		return writertest.KillAfter
	}
	return ""
}

// TestNameHasAMeaning: no refusal leaves an operator with a name alone.
func TestNameHasAMeaning(t *testing.T) {
	t.Parallel()
	told := map[string]refusal.Name{}
	for _, name := range []refusal.Name{
		refusal.NoBackup, refusal.Untrusted, refusal.Corrupt, refusal.OlderThanSeen, refusal.LogTruncated, refusal.TopicRecreated,
		refusal.LogShorterThanManifest, refusal.PartitionVanished, refusal.TombstonesExpired, refusal.TargetNotEmpty,
		refusal.IdentityMismatch, refusal.HeldByAnother, refusal.LineageForked, refusal.FreshnessUnproven,
	} {
		meaning := name.Meaning()
		if other, twice := told[meaning]; twice || meaning == "" {
			t.Errorf("%s means %q, as %q does", name, meaning, other)
		}
		told[meaning] = name
	}
}
