package guard

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestLazyTimeoutBeginsWhenItsEndIsAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent, stop := context.WithCancelCause(t.Context())
		l := newLazyTimeout(parent, time.Minute)
		defer l.cancel()
		time.Sleep(time.Hour)
		child, cancel := context.WithCancel(l)
		defer cancel()
		time.Sleep(time.Minute - 1)
		synctest.Wait()
		if err := child.Err(); err != nil {
			t.Fatalf("ended before its time: %v", err)
		}
		time.Sleep(1)
		synctest.Wait()
		if err := child.Err(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after the timeout: %v", err)
		}
		if cause := context.Cause(child); cause.Error() != "the message was not decided within 1m0s" {
			t.Errorf("the cause after the timeout: %v", cause)
		}

		canceled := newLazyTimeout(parent, time.Minute)
		canceled.cancel()
		if err := canceled.Err(); !errors.Is(err, context.Canceled) {
			t.Errorf("after cancel: %v", err)
		}
		ended := newLazyTimeout(parent, time.Minute)
		defer ended.cancel()
		stop(errors.New("the conversation has ended"))
		if cause := context.Cause(ended); cause == nil || cause.Error() != "the conversation has ended" {
			t.Errorf("the cause of the parent: %v", cause)
		}
	})
}
