package replay

import (
	"fmt"
	"sync"
)

// progress adds up what is read of all sources, and tells it now and then.
type progress struct {
	mu          sync.Mutex
	call        func(done, total int64) // nil: nobody asks, or it panicked
	fail        func(error)             // is told of a panic of call
	done, total int64
	told        int64
}

// often is how many bytes lie between two calls.
const often = 1 << 20

// add says that so many bytes were read, and that there are so many more in all than was known.
func (p *progress) add(read, more int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += read
	p.total += more
	if p.call != nil && p.done-p.told >= often {
		p.told = p.done
		p.tell(p.done)
	}
}

// tell calls it. What panics is not called again.
func (p *progress) tell(done int64) {
	defer func() {
		if v := recover(); v != nil {
			p.call = nil
			p.fail(fmt.Errorf("%w: Progress panicked: %v", ErrOptions, v))
		}
	}()
	p.call(done, p.total)
}

// end says that all is read.
func (p *progress) end() {
	if p.call != nil {
		p.tell(p.total)
	}
}
