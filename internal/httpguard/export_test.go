package httpguard

// Known is how many clients a limiter remembers.
func Known(l *Limiter) int { return len(l.known) }
