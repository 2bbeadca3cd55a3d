package harness_test

import (
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/keywave-go/keywave/harness"
)

// A slow store takes its time to sync and to append, knows what lasts, and refuses to do two things at once.
type slow struct {
	harness.Memory
	toAppend, toSync time.Duration
	fail             error // of a sync

	mu        sync.Mutex
	appending bool
	syncing   bool
	written   uint64
	lasting   uint64
	began     []time.Time // of the syncs
	upTo      []uint64    // what each covers
	closed    bool
}

func (s *slow) Append(events ...harness.Event) error {
	s.mu.Lock()
	if s.appending || s.closed {
		panic("an append in an append, or after the close")
	}
	s.appending = true
	s.mu.Unlock()
	<-time.After(s.toAppend)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.appending = false
	s.written = events[len(events)-1].Seq
	return s.Memory.Append(events...)
}

func (s *slow) Sync() error {
	s.mu.Lock()
	if s.syncing || s.closed {
		panic("a sync in a sync, or after the close")
	}
	s.syncing = true
	upTo := s.written
	s.began, s.upTo = append(s.began, time.Now()), append(s.upTo, upTo)
	s.mu.Unlock()
	<-time.After(s.toSync)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.syncing = false
	if s.fail == nil {
		s.lasting = upTo
	}
	return s.fail
}

func (s *slow) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

// lasts is the highest seq that lasts now.
func (s *slow) lasts() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lasting
}

func (s *slow) syncs() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.began)
}

// bubble runs f in virtual time with a session over a slow store, which has synced once, for the first event.
func bubble(t *testing.T, toSync time.Duration, f func(t *testing.T, s *harness.Session, store *slow)) {
	synctest.Test(t, func(t *testing.T) {
		store := &slow{toSync: toSync}
		s := open(t, store)
		require.Equal(t, 1, store.syncs())
		f(t, s, store)
		_ = s.Close()
	})
}

// Appends that wait at the same time share a sync: the first has one of its own, all others the next.
func TestSyncAlwaysIsShared(t *testing.T) {
	bubble(t, 10*time.Millisecond, func(t *testing.T, s *harness.Session, store *slow) {
		began := time.Now()
		var wg sync.WaitGroup
		for n := range 100 {
			wg.Go(func() {
				first, err := s.Append(harness.SyncAlways, note(n), note(n))
				assert.NoError(t, err)
				assert.GreaterOrEqual(t, store.lasts(), first+1, "it lasts when Append returns")
			})
		}
		wg.Wait()
		assert.Equal(t, 3, store.syncs())
		assert.Equal(t, 20*time.Millisecond, time.Since(began))
	})
}

// However many appends of every durability there are, each sync covers all that was written before it: there are no more
// syncs than appends that wait.
func TestSyncsCoverAllThatWasWritten(t *testing.T) {
	bubble(t, 0, func(t *testing.T, s *harness.Session, store *slow) {
		var wg sync.WaitGroup
		for n := range 1000 {
			wg.Go(func() {
				seq := putWith(t, s, harness.SyncAlways, n)
				assert.GreaterOrEqual(t, store.lasts(), seq)
			})
		}
		wg.Wait()
		assert.LessOrEqual(t, store.syncs(), 1001)
		assert.IsNonDecreasing(t, store.upTo) // one can find more than it was asked for, and leave the next nothing
	})
}

// A sync that began before an event was handed over is not its sync.
func TestSyncAlwaysWaitsForASyncThatBeganLater(t *testing.T) {
	bubble(t, 10*time.Millisecond, func(t *testing.T, s *harness.Session, store *slow) {
		began := time.Now()
		go func() { _, _ = s.Append(harness.SyncAlways, note(1)) }()
		<-time.After(5 * time.Millisecond)
		_, err := s.Append(harness.SyncAlways, note(2))
		require.NoError(t, err)
		assert.Equal(t, 20*time.Millisecond, time.Since(began))
		assert.Equal(t, uint64(3), store.lasts())
	})
}

func TestSyncBatchDoesNotWait(t *testing.T) {
	bubble(t, 3*time.Millisecond, func(t *testing.T, s *harness.Session, store *slow) {
		began := time.Now()
		for n := range 1000 {
			_, err := s.Append(harness.SyncBatch, note(n))
			require.NoError(t, err)
		}
		assert.Zero(t, time.Since(began))
		assert.Equal(t, 1, store.syncs())
		<-time.After(harness.SyncDelay + 3*time.Millisecond)
		synctest.Wait()
		assert.Equal(t, 2, store.syncs(), "one for all")
		assert.Equal(t, harness.SyncDelay, store.began[1].Sub(began))
		assert.Equal(t, uint64(1001), store.lasts())
		<-time.After(time.Hour)
		assert.Equal(t, 2, store.syncs(), "and no more")
	})
}

// TestSyncBatchBegins lives with random gaps and syncs of random length: the sync of each event begins within
// SyncDelay, or when the sync that goes on then has ended.
func TestSyncBatchBegins(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		gaps := rapid.SliceOfN(rapid.IntRange(0, 25), 1, 40).Draw(r, "gaps")
		sync := rapid.IntRange(0, 40).Draw(r, "sync")
		synctest.Test(t, func(t *testing.T) {
			store := &slow{toSync: time.Duration(sync) * time.Millisecond}
			s := open(t, store)
			appended := map[uint64]time.Time{}
			for n, gap := range gaps {
				<-time.After(time.Duration(gap)*time.Millisecond + time.Microsecond)
				appended[putWith(t, s, harness.SyncBatch, n)] = time.Now()
			}
			<-time.After(time.Second)
			for seq, when := range appended {
				covered := false
				for i, upTo := range store.upTo {
					if upTo < seq {
						continue
					}
					latest := when.Add(harness.SyncDelay)
					if end := store.began[i-1].Add(store.toSync); end.After(latest) && store.began[i-1].Before(latest) {
						latest = end
					}
					assert.False(t, store.began[i].After(latest), "event %d", seq)
					covered = true
					break
				}
				assert.True(t, covered, "event %d", seq)
			}
			require.NoError(t, s.Close())
		})
	})
}

// While a sync takes long, one waits behind it for all batches, and not one for each.
func TestSyncBatchOfASlowDisk(t *testing.T) {
	bubble(t, time.Minute, func(t *testing.T, s *harness.Session, store *slow) {
		before := runtime.NumGoroutine()
		for n := range 200 {
			putWith(t, s, harness.SyncBatch, n)
			<-time.After(2 * harness.SyncDelay)
		}
		assert.LessOrEqual(t, runtime.NumGoroutine(), before+3)
		<-time.After(2 * time.Minute)
		assert.Equal(t, s.State().Seq, store.lasts())
		assert.Equal(t, 3, store.syncs())
	})
}

func putWith(t require.TestingT, s *harness.Session, d harness.Durability, n int) uint64 {
	first, err := s.Append(d, note(n))
	require.NoError(t, err)
	return first
}

// Nobody syncs for SyncNone, at the close neither; but a sync for another event is one of everything before it.
func TestSyncNone(t *testing.T) {
	bubble(t, time.Millisecond, func(t *testing.T, s *harness.Session, store *slow) {
		put(t, s, note(1))
		<-time.After(time.Hour)
		assert.Equal(t, 1, store.syncs())
		putWith(t, s, harness.SyncAlways, 2)
		assert.Equal(t, uint64(3), store.lasts())
		put(t, s, note(3))
		require.NoError(t, s.Sync())
		assert.Equal(t, uint64(4), store.lasts())
		put(t, s, note(4))
		require.NoError(t, s.Close())
		assert.Equal(t, 3, store.syncs())
	})
}

func TestCloseSyncsABatch(t *testing.T) {
	bubble(t, time.Millisecond, func(t *testing.T, s *harness.Session, store *slow) {
		putWith(t, s, harness.SyncBatch, 1)
		require.NoError(t, s.Close())
		assert.Equal(t, uint64(2), store.lasts())
	})
}

// A Close that comes while an Append is on its way to the store waits for it, and syncs it.
func TestCloseBehindAnAppend(t *testing.T) {
	for range 50 {
		bubble(t, time.Millisecond, func(t *testing.T, s *harness.Session, store *slow) {
			store.toAppend = time.Second
			errs := make(chan error, 3)
			for n := range 3 {
				go func() {
					_, err := s.Append(harness.SyncAlways, note(n))
					errs <- err
				}()
			}
			synctest.Wait()
			require.NoError(t, s.Close())
			for range 3 {
				assert.NoError(t, <-errs)
			}
			assert.Equal(t, uint64(4), store.lasts())
		})
	}
}

// Close syncs what is to be synced, once, and those who wait for it are told.
func TestCloseSyncs(t *testing.T) {
	bubble(t, 10*time.Millisecond, func(t *testing.T, s *harness.Session, store *slow) {
		putWith(t, s, harness.SyncBatch, 1)
		errs := make(chan error, 2)
		for n := range 2 {
			go func() {
				_, err := s.Append(harness.SyncAlways, note(n))
				errs <- err
			}()
		}
		<-time.After(time.Millisecond)
		require.NoError(t, s.Close())
		assert.Equal(t, uint64(4), store.lasts())
		assert.NoError(t, <-errs)
		assert.NoError(t, <-errs)
		n := store.syncs()
		<-time.After(time.Hour)
		assert.Equal(t, n, store.syncs(), "no timer is left")
	})
}

// After a sync that failed nothing is taken any more: what another sync would say is not about the same.
func TestH10FailedSync(t *testing.T) {
	for name, d := range map[string]harness.Durability{"always": harness.SyncAlways, "batch": harness.SyncBatch} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 10*time.Millisecond, func(t *testing.T, s *harness.Session, store *slow) {
				store.fail = errDisk
				var wg sync.WaitGroup
				for n := range 10 {
					wg.Go(func() {
						_, err := s.Append(d, note(n))
						if d == harness.SyncAlways {
							assert.ErrorIs(t, err, harness.ErrBroken)
							assert.ErrorIs(t, err, errDisk)
						} else {
							assert.NoError(t, err)
						}
					})
				}
				wg.Wait()
				<-time.After(time.Second)
				n := store.syncs()
				store.fail = nil
				for _, d := range []harness.Durability{harness.SyncNone, harness.SyncBatch, harness.SyncAlways} {
					_, err := s.Append(d, note(1))
					assert.ErrorIs(t, err, harness.ErrBroken)
				}
				assert.ErrorIs(t, s.Sync(), harness.ErrBroken)
				_, err := s.Resume(nil)
				assert.NoError(t, err, "there is nothing to do")
				assert.Len(t, logOf(t, s), 11)
				assert.ErrorIs(t, s.Close(), errDisk)
				assert.Equal(t, n, store.syncs())
			})
		})
	}
}

// A store may take its time: who waits for it waits in a way that virtual time sees.
func TestSlowAppendsQueue(t *testing.T) {
	bubble(t, 0, func(t *testing.T, s *harness.Session, store *slow) {
		store.toAppend = time.Second
		began := time.Now()
		var wg sync.WaitGroup
		for n := range 5 {
			wg.Go(func() { put(t, s, note(n)) })
		}
		wg.Wait()
		assert.Equal(t, 5*time.Second, time.Since(began))
	})
}

func TestFirstEventThatFails(t *testing.T) {
	store := &broken{Store: new(harness.Memory), append: func() error { return errDisk }}
	s, err := harness.New(store)
	assert.ErrorIs(t, err, errDisk)
	assert.Nil(t, s)
	store = &broken{Store: new(harness.Memory), sync: func() error { return errDisk }}
	_, err = harness.New(store)
	assert.ErrorIs(t, err, errDisk)
	assert.True(t, errors.Is(err, harness.ErrBroken))
}
