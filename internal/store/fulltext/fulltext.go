// Package fulltext is an index in memory over a few hundred documents, by SQLite's FTS5.
package fulltext

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"molar/internal/store/database" // it brings the driver "sqlite"
)

// An Index is a full-text index (FTS5) over a few hundred short documents, in
// memory. It knows no language: documents and queries are terms that the caller has
// folded, and only equal terms meet. It is safe for concurrent use.
type Index struct {
	db   *sql.DB
	find *sql.Stmt
}

// A Field is a part of every document, with what a term in it counts for.
type Field struct {
	// Name is a letter, then letters and digits.
	Name   string
	Weight float64
}

// A Hit is a document, numbered from 0 in the order in which it was given,
// with its BM25: higher is better, with no upper bound.
type Hit struct {
	Doc   int
	Score float64
}

// maxTerms bounds a query; FTS5 nests at most 256 of them.
const maxTerms = 200

// New builds an index. Every document has one list of terms a field; a term may
// hold any character but white space and ASCII punctuation other than '_'. The
// caller closes the index.
func New(ctx context.Context, fields []Field, docs [][][]string) (*Index, error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, fmt.Errorf("build index: %w", err)
	}
	// Every connection would have an empty database of its own.
	db.SetMaxOpenConns(1)
	db.SetMaxIdleConns(1)
	x := &Index{db: db}
	if err := x.build(ctx, fields, docs); err != nil {
		_ = x.Close() // the first fault is the one to tell
		return nil, fmt.Errorf("build index: %w", err)
	}
	return x, nil
}

func (x *Index) build(ctx context.Context, fields []Field, docs [][][]string) error {
	names, weights := make([]string, len(fields)), make([]string, len(fields))
	for i, f := range fields {
		names[i], weights[i] = f.Name, fmt.Sprintf("%g", f.Weight)
	}
	// The tokenizer "ascii" takes every character above ASCII for a letter: what was
	// not folded stays as it is. The terms alone are kept, not the text.
	create := fmt.Sprintf(`CREATE VIRTUAL TABLE docs USING fts5(%s, content='', tokenize="ascii tokenchars '_'")`, strings.Join(names, ", "))
	insert := fmt.Sprintf("INSERT INTO docs(rowid, %s) VALUES (?%s)", strings.Join(names, ", "), strings.Repeat(", ?", len(fields)))
	err := database.InTx(ctx, x.db, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, create); err != nil {
			return err
		}
		stmt, err := tx.PrepareContext(ctx, insert)
		if err != nil {
			return err
		}
		defer stmt.Close()
		for i, doc := range docs {
			row := []any{i + 1}
			for _, terms := range doc {
				row = append(row, strings.Join(terms, " "))
			}
			if _, err := stmt.ExecContext(ctx, row...); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	x.find, err = x.db.PrepareContext(ctx, fmt.Sprintf(
		"SELECT rowid, -bm25(docs, %s) AS score FROM docs WHERE docs MATCH ? ORDER BY score DESC, rowid LIMIT ?", strings.Join(weights, ", ")))
	return err
}

// Find returns the documents that hold any of the terms, best first. Terms beyond
// the 200th are not looked for.
func (x *Index) Find(ctx context.Context, terms []string, limit int) ([]Hit, error) {
	if len(terms) == 0 || ctx.Err() != nil {
		return nil, ctx.Err()
	}
	terms = terms[:min(len(terms), maxTerms)]
	quoted := make([]string, len(terms))
	for i, t := range terms {
		quoted[i] = `"` + strings.ReplaceAll(t, `"`, `""`) + `"`
	}
	// A cancelled query could cost the connection, and the index lives in it.
	rows, err := x.find.QueryContext(context.WithoutCancel(ctx), strings.Join(quoted, " OR "), limit)
	if err != nil {
		return nil, fmt.Errorf("search index: %w", err)
	}
	defer rows.Close()
	var hits []Hit
	for rows.Next() {
		var h Hit
		if err := rows.Scan(&h.Doc, &h.Score); err != nil {
			return nil, fmt.Errorf("search index: %w", err)
		}
		h.Doc--
		hits = append(hits, h)
	}
	return hits, rows.Err()
}

// Close gives the memory back. Searches after it fail.
func (x *Index) Close() error { return x.db.Close() }
