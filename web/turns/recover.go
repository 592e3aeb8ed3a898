package turns

import "context"

// reconcile reads what the ledger holds of the turns of this process, after a write of unknown
// outcome: what is stored is not written again.
func (s *Sharing) reconcile(ctx context.Context) error {
	held, turns := make(map[string]int), make(map[string]*Live)
	s.mu.Lock()
	for t, n := range s.mine {
		held[t.ID], turns[t.ID] = n, t
	}
	s.mu.Unlock()
	if len(held) == 0 {
		return nil
	}
	ended := make(map[string]bool)
	for more := true; more; {
		told, again, err := s.ledger.Read(ctx, held)
		if err != nil {
			return err
		}
		for id, news := range told {
			for _, r := range news.Rows {
				held[id] = r.Last
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
		if s.mine[t] = held[id]; ended[id] {
			delete(s.mine, t)
		}
	}
	return nil
}
