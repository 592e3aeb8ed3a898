package traffic

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"molar/eval/cassettes"
)

// Folder checks all recordings below a folder, one file on each CPU. Files are named by their paths
// from the folder on, with slashes. faults are recordings that cannot be read; other files are skipped.
func Folder(ctx context.Context, root string) (answers []Answer, faults []error, err error) {
	var paths []string
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	type result struct {
		answers []Answer
		err     error
	}
	results := make([]result, len(paths))
	next := make(chan int)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := range next {
				results[i].answers, results[i].err = checkFile(ctx, root, paths[i])
			}
		})
	}
	for i := range paths {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	workers.Wait()
	for _, r := range results {
		answers = append(answers, r.answers...)
		if r.err != nil && !errors.Is(r.err, cassettes.ErrUnknown) {
			faults = append(faults, r.err)
		}
	}
	return answers, faults, ctx.Err()
}

func checkFile(ctx context.Context, root, path string) ([]Answer, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	name, err := filepath.Rel(root, path)
	if err != nil {
		return nil, err
	}
	if name == "." { // root is the file
		name = filepath.Base(path)
	}
	name = filepath.ToSlash(name)
	all, err := recorded(name, data)
	if err != nil {
		return nil, err
	}
	return Check(ctx, name, all), nil
}
