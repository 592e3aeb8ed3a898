package store

import (
	"context"
	"time"
)

// Take counts one action under a name that allows perSecond, burst of them at once, over all
// replicas. It returns zero if allowed, else how long to wait.
func (s *Live) Take(ctx context.Context, name string, perSecond float64, burst int) (wait time.Duration, err error) {
	var tokens float64
	var passed bool
	err = s.db.Relaxed.QueryRowContext(ctx, s.db.SQL.Say(`INSERT INTO live_rates AS r (name, tokens, at, passed) VALUES ($2, $3::float8 - 1, NOW(), TRUE)
		ON CONFLICT (name) DO UPDATE SET (tokens, passed, at) = (
			SELECT CASE WHEN have >= 1 THEN have - 1 ELSE have END, have >= 1, NOW() FROM (
				SELECT least($3::float8, r.tokens + greatest(NOW() - r.at, 0) / 1000.0 * $4::float8) AS have) AS now)
		RETURNING tokens, passed`), s.db.Clock(), s.db.SQL.Text(name), burst, perSecond).Scan(&tokens, &passed)
	if err != nil || passed {
		return 0, s.db.Fault("count a turn", err)
	}
	return time.Duration((1 - tokens) / perSecond * float64(time.Second)), nil
}
