package pin

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestFlights(t *testing.T) {
	t.Parallel()
	slow := func(d time.Duration, started, cancelled *int) func(context.Context) (Answer, error) {
		return func(ctx context.Context) (Answer, error) {
			*started++
			select {
			case <-time.After(d):
				return Answer{Chain: []string{"done"}}, nil
			case <-ctx.Done():
				*cancelled++
				return Answer{}, ctx.Err()
			}
		}
	}

	t.Run("the one that started it leaves: the others get their answer", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			var fs flights
			var started, cancelled int
			lookup := slow(time.Second, &started, &cancelled)
			first, cancel := context.WithCancel(t.Context())
			gone := make(chan error, 1)
			go func() {
				_, err := fs.do(first, "a", lookup)
				gone <- err
			}()
			synctest.Wait()
			stayed := make(chan error, 1)
			go func() {
				a, err := fs.do(context.Background(), "a", lookup)
				if err == nil && len(a.Chain) == 0 {
					err = errors.New("no answer")
				}
				stayed <- err
			}()
			synctest.Wait()
			cancel()
			if err := <-gone; !errors.Is(err, context.Canceled) {
				t.Errorf("the one that left: %v", err)
			}
			if err := <-stayed; err != nil {
				t.Errorf("the one that stayed: %v", err)
			}
			if started != 1 || cancelled != 0 || len(fs.open) != 0 {
				t.Errorf("%d look-ups, %d cancelled, %d open", started, cancelled, len(fs.open))
			}
		})
	})

	t.Run("all leave: the look-up ends, and a later caller starts a new one", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			var fs flights
			var started, cancelled int
			lookup := slow(time.Second, &started, &cancelled)
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			if _, err := fs.do(ctx, "a", lookup); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
			if _, err := fs.do(t.Context(), "a", lookup); err != nil {
				t.Errorf("the later caller: %v", err)
			}
			if started != 2 || cancelled != 1 || len(fs.open) != 0 {
				t.Errorf("%d look-ups, %d cancelled, %d open", started, cancelled, len(fs.open))
			}
		})
	})

	t.Run("other names do not wait", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			var fs flights
			var started, cancelled int
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() { _, _ = fs.do(ctx, "slow", slow(time.Hour, &started, &cancelled)) }()
			synctest.Wait()
			begin := time.Now()
			if _, err := fs.do(t.Context(), "fast", slow(time.Second, &started, &cancelled)); err != nil {
				t.Error(err)
			}
			if took := time.Since(begin); took != time.Second {
				t.Errorf("took %v", took)
			}
		})
	})
}
