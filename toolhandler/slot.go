package toolhandler

import "context"

type slotKey struct{}

// withSlot marks ctx with the place of a call in its round, from 1.
func withSlot(ctx context.Context, index int) context.Context {
	return context.WithValue(ctx, slotKey{}, index+1)
}

// Slot returns the place of a call in its round, from 1, of the context that its
// [Caller] gets; 0 outside a round. It tells two calls apart that are alike and run
// side by side.
func Slot(ctx context.Context) int {
	slot, _ := ctx.Value(slotKey{}).(int)
	return slot
}
