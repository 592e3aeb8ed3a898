package toolhandler

import "context"

type slotKey struct{}

// withSlot adds a call's position in its round, from 1, to ctx.
func withSlot(ctx context.Context, index int) context.Context {
	return context.WithValue(ctx, slotKey{}, index+1)
}

// Slot returns a call's position in its round, from 1, from the context that its [Caller] gets; 0
// outside a round. It distinguishes identical concurrent calls.
func Slot(ctx context.Context) int {
	slot, _ := ctx.Value(slotKey{}).(int)
	return slot
}
