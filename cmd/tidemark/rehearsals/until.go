package rehearsals

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"tidemark/cmd/tidemark/exit"
	"tidemark/shared/position"
	"tidemark/shared/recovery/inspection"
)

// mostJobs is more than any server has a use for.
const mostJobs = 64

// end is where the replay is to end. Errors: a wrong command line.
func (a *asked) end() (end inspection.End, err error) {
	if a.jobs < 1 || a.jobs > mostJobs {
		return end, exit.Usage(errors.New("--jobs: want 1 to 64"))
	}
	for _, text := range a.until {
		if !strings.Contains(text, "=") && len(a.until) == 1 {
			if end.At, err = time.Parse(time.RFC3339Nano, text); err != nil {
				err = exit.Usage(fmt.Errorf("--until %q: want a time as 2026-01-31T15:04:05Z, or TOPIC/PARTITION=OFFSET", text))
			}
			return end, err
		}
		p, next, err := position.ParseNext(text)
		if err != nil {
			return end, exit.Usage(fmt.Errorf("--until %q: want one time alone, or TOPIC/PARTITION=OFFSET: %w", text, err))
		}
		if _, twice := end.Offsets[p]; twice {
			return end, exit.Usage(fmt.Errorf("--until %q: %s is named twice", text, p))
		}
		if end.Offsets == nil {
			end.Offsets = position.Cut{}
		}
		end.Offsets[p] = next
	}
	return end, nil
}
