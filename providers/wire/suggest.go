package wire

import (
	"context"
	"errors"
	"time"

	"molar/internal/text"
	"molar/providers"
)

// suggestTime bounds the listing of models for an error.
const suggestTime = 3 * time.Second

// Suggest adds the nearest of the service's models to the error of an unknown model.
func Suggest(ctx context.Context, e *providers.Error, model string, models func(context.Context) ([]string, error)) *providers.Error {
	if e.Kind != providers.KindModelNotFound {
		return e
	}
	ctx, cancel := context.WithTimeout(ctx, suggestTime)
	defer cancel()
	if names, err := models(ctx); err == nil {
		e.Err = errors.New(e.Err.Error() + DidYouMean(model, names))
	}
	return e
}

// DidYouMean returns the question for the nearest name, "" if none is near or the model has that name.
func DidYouMean(model string, names []string) string {
	if near := text.Nearest(model, names); near != "" && near != model {
		return ", did you mean " + near + "?"
	}
	return ""
}
