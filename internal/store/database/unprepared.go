package database

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// prepares reports whether pgx may use prepared statements. They fail behind a pooler that gives each
// transaction another connection; its users set default_query_exec_mode=exec in the URL.
func prepares(cfg *pgx.ConnConfig) bool {
	return cfg.DefaultQueryExecMode != pgx.QueryExecModeExec && cfg.DefaultQueryExecMode != pgx.QueryExecModeSimpleProtocol
}

// An unprepared connector's connections send every statement anew, prepared ones too.
type unprepared struct{ driver.Connector }

// Connect implements [driver.Connector].
func (u unprepared) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := u.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return unpreparedConn{conn.(*stdlib.Conn)}, nil //nolint:forcetypeassert // pgx's connector makes no other
}

type unpreparedConn struct{ *stdlib.Conn }

// PrepareContext implements [driver.ConnPrepareContext].
func (c unpreparedConn) PrepareContext(_ context.Context, query string) (driver.Stmt, error) {
	return unpreparedStmt{c.Conn, query}, nil
}

type unpreparedStmt struct {
	conn  *stdlib.Conn
	query string
}

var errNoContext = errors.New("a statement is run with a context")

func (unpreparedStmt) Close() error                               { return nil }
func (unpreparedStmt) NumInput() int                              { return -1 }
func (unpreparedStmt) Exec([]driver.Value) (driver.Result, error) { return nil, errNoContext }
func (unpreparedStmt) Query([]driver.Value) (driver.Rows, error)  { return nil, errNoContext }

// ExecContext implements [driver.StmtExecContext].
func (s unpreparedStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return s.conn.ExecContext(ctx, s.query, args)
}

// QueryContext implements [driver.StmtQueryContext].
func (s unpreparedStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.conn.QueryContext(ctx, s.query, args)
}
