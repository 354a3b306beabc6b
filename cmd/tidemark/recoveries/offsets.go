package recoveries

import (
	"fmt"

	"tidemark/shared/position"
)

func offsets(flag string, texts []string, want string) (position.Cut, error) {
	var cut position.Cut
	for _, text := range texts {
		p, next, err := position.ParseNext(text)
		if err != nil {
			return nil, fmt.Errorf("%s %q: %s: %w", flag, text, want, err)
		}
		if cut == nil {
			cut = position.Cut{}
		}
		if _, twice := cut[p]; twice {
			return nil, fmt.Errorf("%s %q: %s is named twice", flag, text, p)
		}
		cut[p] = next
	}
	return cut, nil
}
