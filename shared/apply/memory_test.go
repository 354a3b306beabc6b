package apply_test

import (
	"testing"

	"tidemark/shared/apply/applytest"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	applytest.Exercise(t, func(*testing.T) applytest.Subject { return applytest.NewMemory() })
}
