package turn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

func TestQueueLimitsPlacesPerKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewQueue(2)
		var all sync.WaitGroup
		release := make(chan struct{})
		for range 2 {
			all.Go(func() {
				if err := l.Do(t.Context(), "a", func(context.Context) error { <-release; return nil }); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if err := l.Do(t.Context(), "a", nil); !errors.Is(err, ErrQueueFull) {
			t.Errorf("the third place: %v", err)
		}
		if err := l.Do(t.Context(), "b", func(context.Context) error { return nil }); err != nil {
			t.Errorf("another session: %v", err)
		}
		close(release)
		all.Wait()
		if n := l.Waiting("a"); n != 0 {
			t.Errorf("%d places are left", n)
		}
	})
}

// Jobs with the same key run one at a time, in the order of Join. Canceled jobs do not run, and a
// failure does not block the later ones.
func TestJobsRunInOrderForEachKey(t *testing.T) {
	type job struct {
		key        string
		wait, work time.Duration // before Do; in Do
		patience   time.Duration // 0: no limit
		fails      bool
	}
	rapid.Check(t, func(r *rapid.T) {
		ms := rapid.Map(rapid.IntRange(0, 20), func(n int) time.Duration { return time.Duration(n) * time.Millisecond })
		jobs := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) job {
			return job{
				rapid.SampledFrom([]string{"a", "b"}).Draw(r, "key"), ms.Draw(r, "wait"), ms.Draw(r, "work"), ms.Draw(r, "patience"), rapid.Bool().Draw(r, "fails"),
			}
		}), 1, 20).Draw(r, "jobs")
		wrong := ""
		synctest.Test(t, func(t *testing.T) {
			l := NewQueue(len(jobs))
			var mu sync.Mutex
			ran, busy, gone := map[string][]int{}, map[string]bool{}, map[int]bool{}
			bad := func(format string, args ...any) {
				if wrong == "" {
					wrong = fmt.Sprintf(format, args...)
				}
			}
			failed := errors.New("no")
			var all sync.WaitGroup
			for i, j := range jobs {
				time.Sleep(j.wait)
				ctx, cancel := t.Context(), context.CancelFunc(func() {})
				if j.patience > 0 {
					ctx, cancel = context.WithTimeout(ctx, j.patience)
				}
				all.Go(func() {
					defer cancel()
					started := false
					err := l.Do(ctx, j.key, func(context.Context) error {
						mu.Lock()
						if busy[j.key] {
							bad("%d runs beside another", i)
						}
						busy[j.key], started = true, true
						ran[j.key] = append(ran[j.key], i)
						mu.Unlock()
						time.Sleep(j.work)
						mu.Lock()
						defer mu.Unlock()
						busy[j.key] = false
						if j.fails {
							return failed
						}
						return nil
					})
					mu.Lock()
					defer mu.Unlock()
					if gone[i] = !started; !started && (!errors.Is(err, context.DeadlineExceeded) || j.patience == 0) {
						bad("%d did not run: %v", i, err)
					}
					if started && errors.Is(err, failed) != j.fails {
						bad("%d: %v", i, err)
					}
				})
				synctest.Wait() // it is queued
			}
			all.Wait()
			for key, got := range ran {
				if !slices.IsSorted(got) {
					bad("%s: %v", key, got)
				}
				if l.Waiting(key) != 0 {
					bad("%s: places are left", key)
				}
			}
			if len(ran["a"])+len(ran["b"]) != len(jobs)-count(gone) {
				bad("%v ran, %v are gone, of %d", ran, gone, len(jobs))
			}
		})
		if wrong != "" {
			r.Fatal(wrong)
		}
	})
}

func count(m map[int]bool) (n int) {
	for _, yes := range m {
		if yes {
			n++
		}
	}
	return n
}
