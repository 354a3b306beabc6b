package servicestest

import "testing"

func TestSharedTakesTheServerThatIsNamed(t *testing.T) {
	const named = "postgres://somebody@192.0.2.1:5432/theirs"
	t.Setenv(URLVariable, named)
	var s shared
	postgres, err := s.start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := postgres.URL(); got != named {
		t.Errorf("got %s, want %s", got, named)
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
}
