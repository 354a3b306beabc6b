package harness

// Trigger says at which effect a proxy acts, and what it does there. It fires once.
type Trigger struct {
	Number int    // of the effect, counted from Arm; 0: Text alone decides
	Text   string // of the effect; empty: Number alone decides
	// After acts when the server has executed the statement, before its answer is passed on; otherwise the act comes
	// before the statement reaches the server. A COPY's statement is executed when the server takes rows; the rows
	// themselves it never answers, so After them is when they were sent. Either way the connection stands still until
	// Act returns.
	After bool
	// Act says how the connection goes on. Nil cuts it.
	Act func(Point) Verdict
}

// Point is where a trigger fired.
type Point struct {
	Effect

	ServerPID uint32 // of the server's session; 0 before a connection is made
}

// Verdict says how a connection goes on after an act.
type Verdict uint8

// The verdicts.
const (
	Cut    Verdict = iota // close both its sides: nothing more reaches either
	Pass                  // as if nothing had been
	Orphan                // close the client's side and leave the server's session open, as a dead network would;
	// after an effect the server still gets the end of the round trip, before one it waits for the rest
)

// armed is a trigger that a proxy watches for.
type armed struct {
	Trigger

	signal chan Point
}

func (t *armed) meets(e Effect) bool {
	return t != nil && (t.Number == 0 || t.Number == e.Number) && (t.Text == "" || t.Text == e.Text)
}

func (t *armed) act(at Point) Verdict {
	if t.Act == nil {
		return Cut
	}
	return t.Act(at)
}

// ErrorBefore cuts the connection before the effect reaches the server.
func ErrorBefore(number int) Trigger { return Trigger{Number: number} }

// ReplyDropped lets the server execute the effect, then cuts the connection without passing the answer.
func ReplyDropped(number int) Trigger { return Trigger{Number: number, After: true} }

// KillBefore kills the client before the effect reaches the server. kill returns when the client is gone.
func KillBefore(number int, kill func()) Trigger {
	return Trigger{Number: number, Act: killing(kill)}
}

// KillAfter lets the server execute the effect, then kills the client without passing the answer.
func KillAfter(number int, kill func()) Trigger {
	return Trigger{Number: number, After: true, Act: killing(kill)}
}

func killing(kill func()) func(Point) Verdict {
	return func(Point) Verdict {
		kill()
		return Cut
	}
}
