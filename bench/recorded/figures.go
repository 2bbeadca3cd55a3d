package recorded

import "time"

// Limits are those at which batches are simulated, besides none at all.
var Limits = []int{1, 4, 8, 10, 32}

// Figures are what recorded batches come to.
type Figures struct {
	All     Sums     `json:"all"`
	Mixed   Sums     `json:"mixed"`   // of the batches with a write or an exclusive call
	Formats []Format `json:"formats"` // in the order of their names

	// KeyedSlower are the batches in which the keyed pool takes longer than ordered waves or the rolling pool, and
	// WavesSlower those in which ordered waves take longer than the rolling pool; without a limit.
	KeyedSlower []Slower `json:"keyedSlower"`
	WavesSlower []Slower `json:"wavesSlower"`
	// Anomalies are the batches in which the keyed pool takes longer than ordered waves or the rolling pool at one of
	// Limits, the first of them first. A schedule that lets more calls start can end later, if slots are few.
	Anomalies [][]Slower `json:"anomalies"`
	// Inverted are the batches that first-fit inverts, without a limit.
	Inverted []Inverted `json:"inverted"`
	// Covered are the batches in which one call claims a directory, another one something below it, and ordered waves
	// take more steps than if the two were no conflict.
	Covered []Covered `json:"covered"`
}

// A Format is the sums over the batches of one format.
type Format struct {
	Name string `json:"name"`
	Sums
}

// Sums are sums over batches. Times are those of the timed batches alone.
type Sums struct {
	Batches  int             `json:"batches"`
	Calls    int             `json:"calls"`
	Timed    int             `json:"timed"`    // batches whose times count: see trace's Batch.Timed
	Bound    []time.Duration `json:"boundNs"`  // at each of Limits: what no schedule can beat that keeps the order, batch by batch
	Free     time.Duration   `json:"freeNs"`   // the same without a limit
	Policies []Outcome       `json:"policies"` // as sim.Policies has them
	// Loose is the outcome of ordered waves and of the keyed pool if commands that run tests, a linter or a build were
	// declared as reads of the working directory, and were not exclusive.
	Loose []Outcome `json:"loose"`
	// Strict is the outcome of every policy if all commands of shells ran alone. Whoever recorded the batches judged
	// commands one by one, as [trace.Call].Guess says, and most only read; who does not look into commands has these
	// figures.
	Strict []Outcome `json:"strict"`
}

// StrictOf returns the outcome of a policy among Strict. It is zero if there is none of that name.
func (s Sums) StrictOf(policy string) Outcome { return of(s.Strict, policy) }

// An Outcome is what became of batches under a policy.
type Outcome struct {
	Policy  string          `json:"policy"`
	Ordered bool            `json:"ordered"` // it promises serial equivalence
	Steps   int             `json:"steps"`   // rounds, without a limit: see sim's Policy.Steps
	Time    time.Duration   `json:"ns"`      // without a limit
	Limited []time.Duration `json:"limitedNs"`
	// Pairs is how many conflicting calls ran together or changed places, in all batches and without a limit; Batches in
	// how many batches any did, and Keyed how many of the pairs meet over a key: neither call is exclusive. LimitedPairs
	// is the same as Pairs for the timed batches at each of Limits.
	Pairs        int   `json:"pairs"`
	Keyed        int   `json:"keyed"`
	Batches      int   `json:"inverted"`
	LimitedPairs []int `json:"limitedPairs"`
}

// Of returns the outcome of a policy. It is zero if there is none of that name.
func (s Sums) Of(policy string) Outcome { return of(s.Policies, policy) }

func of(outcomes []Outcome, policy string) Outcome {
	for _, o := range outcomes {
		if o.Policy == policy {
			return o
		}
	}
	return Outcome{}
}

// A Slower is a batch in which one policy takes longer than another.
type Slower struct {
	Batch string        `json:"batch"` // as ID has it
	Time  time.Duration `json:"ns"`
	Than  time.Duration `json:"thanNs"`
	Of    string        `json:"of"` // the other policy: the fastest of those that are compared
}

// An Inverted is a batch that a policy inverts.
type Inverted struct {
	Batch string `json:"batch"`
	Pairs int    `json:"pairs"`
}

// A Covered is a batch in which a claim of a directory covers another claim.
type Covered struct {
	Batch string `json:"batch"`
	Steps int    `json:"steps"` // of ordered waves
	Apart int    `json:"apart"` // of ordered waves if a directory that is written covered nothing
}
