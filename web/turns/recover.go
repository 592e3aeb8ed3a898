package turns

import "context"

// reconcile reads which items of the turns of this process the ledger holds, after a write of
// unknown outcome, so that stored items are not written again.
func (s *Sharing) reconcile(ctx context.Context) error {
	stored, turns := make(map[string]int), make(map[string]*Live)
	s.mu.Lock()
	for t, n := range s.mine {
		stored[t.ID], turns[t.ID] = n, t
	}
	s.mu.Unlock()
	if len(stored) == 0 {
		return nil
	}
	ended := make(map[string]bool)
	for more := true; more; {
		updates, again, err := s.ledger.Read(ctx, stored)
		if err != nil {
			return err
		}
		for id, news := range updates {
			for _, r := range news.Rows {
				stored[id] = r.Last
			}
			ended[id] = news.Ended && !news.Lost
		}
		more = again
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, t := range turns {
		if _, mine := s.mine[t]; !mine {
			continue
		}
		if s.mine[t] = stored[id]; ended[id] {
			delete(s.mine, t)
		}
	}
	return nil
}
