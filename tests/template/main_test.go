package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/shared/config"
)

const (
	realTemplate = "../../template.yaml"
	sampleFlow   = "../../functions/apply/flow.yaml"
)

func TestTemplate(t *testing.T) {
	t.Parallel()
	t.Run("IsCurrent", func(t *testing.T) {
		t.Parallel()
		if code, said := generate("-check", "-template", realTemplate, "-flow", sampleFlow); code != 0 {
			t.Fatalf("exit code %d: %s", code, said)
		}
	})
	t.Run("NamesTheFirstStaleLine", func(t *testing.T) {
		t.Parallel()
		path, flow := copied(t), flowFile(t, "orders", "[orders]")
		code, said := generate("-check", "-template", path, "-flow", flow)
		want := "- " + strings.Repeat(" ", 8) + "TopicdbnShopOrders276c1af9:\n+ " + strings.Repeat(" ", 8) + "Topicorders:\n"
		if code != 1 || !strings.Contains(said, "is stale; run make template FLOW="+flow) || !strings.HasSuffix(said, want) {
			t.Errorf("exit code %d: got %q, want %q at its end", code, said, want)
		}
	})
	t.Run("FollowsTheFlowAndBack", func(t *testing.T) {
		t.Parallel()
		path, flow := copied(t), flowFile(t, "orders", "[orders, a.b, 'true']")
		before := read(t, path)
		if code, said := generate("-template", path, "-flow", flow); code != 0 {
			t.Fatalf("exit code %d: %s", code, said)
		}
		for _, part := range []string{
			"        Topictrue:\n", `Topics: ["true"]`,
			`ConsumerGroupId: !Sub "${AWS::StackName}-orders-a.b"`, `Value: "orders"}`,
		} {
			if !strings.Contains(read(t, path), part) {
				t.Errorf("no %q in the template", part)
			}
		}
		if code, said := generate("-check", "-template", path, "-flow", flow); code != 0 {
			t.Errorf("after writing: exit code %d: %s", code, said)
		}
		if code, said := generate("-template", path, "-flow", sampleFlow); code != 0 || read(t, path) != before {
			t.Errorf("exit code %d: %s; the first flow did not bring back the first template", code, said)
		}
	})
	t.Run("RefusesAFlowWithoutPlace", func(t *testing.T) {
		t.Parallel()
		code, said := generate("-template", copied(t), "-flow", flowFile(t, "x", "["+strings.Repeat("t", 140)+"]"))
		if code != 1 || !strings.Contains(said, "its consumer group STACK-x-ttt") {
			t.Errorf("exit code %d: %s", code, said)
		}
	})
	t.Run("RefusesMarksThatAreGone", func(t *testing.T) {
		t.Parallel()
		for _, mark := range []string{
			"# BEGIN events: written by make template\n", "# END events\n", "# BEGIN resources: written by make template\n",
		} {
			for name, text := range map[string]string{"none": "", "two": mark + mark} {
				path := copied(t)
				damaged := strings.Replace(read(t, path), mark, text, 1)
				if err := os.WriteFile(path, []byte(damaged), 0o600); err != nil {
					t.Fatal(err)
				}
				code, said := generate("-template", path, "-flow", sampleFlow)
				if code != 1 || !strings.Contains(said, "wants the lines") {
					t.Errorf("%s %q: exit code %d: %s", name, mark, code, said)
				}
				if read(t, path) != damaged {
					t.Errorf("%s %q: the template was written", name, mark)
				}
			}
		}
	})
	t.Run("RefusesUnknownFlags", func(t *testing.T) {
		t.Parallel()
		if code, _ := generate("-chek"); code != 2 {
			t.Errorf("exit code %d", code)
		}
	})
}

func TestTopics(t *testing.T) {
	t.Parallel()
	t.Run("HaveLegalIDs", func(t *testing.T) {
		t.Parallel()
		for name, want := range map[string]string{
			"orders": "orders", "Orders2": "Orders2", "-": "3973e022", "_": "d2e2adf7",
			"dbn.shop.orders": "dbnShopOrders276c1af9", "dbn-shop_orders": "dbnShopOrders259f9190",
		} {
			if got := logicalID(name); got != want {
				t.Errorf("%s: got %s, want %s", name, got, want)
			}
		}
	})
	t.Run("CollidingIDsAreRefused", func(t *testing.T) {
		t.Parallel()
		_, err := topicsOf(config.Flow{Name: "shop", Topics: []string{"dbn.shop.orders", "dbnShopOrders276c1af9"}})
		want := "topics dbn.shop.orders and dbnShopOrders276c1af9 would both be dbnShopOrders276c1af9 in the template"
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	})
	t.Run("GroupsFitBehindTheLongestStack", func(t *testing.T) {
		t.Parallel()
		room := maxGroup - maxStack - len("-x-")
		for length, fits := range map[int]bool{room: true, room + 1: false} {
			if _, err := topicsOf(config.Flow{Name: "x", Topics: []string{strings.Repeat("t", length)}}); (err == nil) != fits {
				t.Errorf("%d characters: got %v, want fit: %v", length, err, fits)
			}
		}
	})
	t.Run("ShareThePollers", func(t *testing.T) {
		t.Parallel()
		for count, fits := range map[int]bool{maxTopics: true, maxTopics + 1: false} {
			if _, err := topicsOf(config.Flow{Name: "x", Topics: numbered(count, 10)}); (err == nil) != fits {
				t.Errorf("%d topics: got %v, want fit: %v", count, err, fits)
			}
		}
	})
	t.Run("FitIntoTheirPolicies", func(t *testing.T) {
		t.Parallel()
		topics, err := topicsOf(config.Flow{Name: "x", Topics: numbered(60, 100)})
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		for _, portion := range policies(topics) {
			seen += len(portion)
			size := policyFrame
			for _, topic := range portion {
				size += len(`"",""`) + 2*maxARN + len(topic.Name) + maxStack + 1 + len(topic.Group)
			}
			if size > maxPolicySize || len(portion) == 0 {
				t.Errorf("a policy of %d topics may have %d characters", len(portion), size)
			}
		}
		if seen != len(topics) {
			t.Errorf("%d of %d topics are in a policy", seen, len(topics))
		}
		_, err = topicsOf(config.Flow{Name: "x", Topics: numbered(100, 130)})
		if err == nil || !strings.Contains(err.Error(), "a role takes 10") {
			t.Errorf("got %v, want too many policies", err)
		}
	})
}

// numbered are topics with names of that length.
func numbered(count, length int) []string {
	names := make([]string, count)
	for i := range names {
		names[i] = fmt.Sprintf("%0*d", length, i)
	}
	return names
}

func generate(arguments ...string) (int, string) {
	var stderr bytes.Buffer
	code := run(arguments, &stderr)
	return code, stderr.String()
}

// copied is a copy of the template.
func copied(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "template.yaml")
	if err := os.WriteFile(path, []byte(read(t, realTemplate)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func flowFile(t *testing.T, name, topics string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "flow.yaml")
	if err := os.WriteFile(path, []byte("flow: "+name+"\nformat: debezium\nlog: dense\ntopics: "+topics+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path) //nolint:gosec // the test's own files
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
