package kernel

import (
	"context"
	"fmt"
	"log/slog"
)

// levelAbove passes on only records of a level or above: Proto.Actor tells of every start and stop of an actor.
type levelAbove struct {
	slog.Handler
	level slog.Level
}

func (l levelAbove) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= l.level && l.Handler.Enabled(ctx, level)
}

func (l levelAbove) WithAttrs(a []slog.Attr) slog.Handler {
	return levelAbove{l.Handler.WithAttrs(a), l.level}
}
func (l levelAbove) WithGroup(n string) slog.Handler {
	return levelAbove{l.Handler.WithGroup(n), l.level}
}

func typeName(v any) string {
	if r, ok := v.(*Request); ok {
		v = r.Command
	}
	return fmt.Sprintf("%T", v)
}
