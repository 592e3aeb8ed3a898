package database

import (
	"context"
	"database/sql"
)

// A Querier is a pool or a transaction.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// List returns the rows of a query, each converted by read; the list is never nil.
func List[T any](ctx context.Context, from Querier, read func(row *sql.Rows) (T, error), query string, args ...any) ([]T, error) {
	rows, err := from.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return ReadAll(rows, read)
}

// ReadAll is [List] for an open result. It closes the rows.
func ReadAll[T any](rows *sql.Rows, read func(row *sql.Rows) (T, error)) ([]T, error) {
	defer rows.Close()
	all := make([]T, 0, 8) // most lists are short
	for rows.Next() {
		one, err := read(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// One reads a row of a single column.
func One[T any](row *sql.Rows) (value T, err error) {
	err = row.Scan(&value)
	return value, err
}

// Changed returns how many rows a statement changed.
func Changed(res sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}
