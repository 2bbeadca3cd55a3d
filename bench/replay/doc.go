// Package replay says what the tool calls in transcripts of coding agents would have taken under other ways of
// scheduling, and where one of them would have run conflicting calls in the wrong order.
//
// [Run] reads transcripts of any format that package transcript knows. Each answer of the model with two or more calls
// is a batch. Its calls are declared as package rules says, or as they were recorded, and the batch is simulated under
// every policy of package sim. A [Report] has the sums, in total, by format and by session; what the keyed pool kept
// calls back for; what the exclusive calls of each tool cost; and batches worth a look, call by call. Package page
// draws it.
//
// # What the figures mean
//
// Each batch is simulated by itself, from the moment at which all its calls are there. So a time is that for which
// tools ran, one or several at once, and a difference is what would be saved of that. What the model took to answer is
// in none of them, nor what starting tools while the model still writes would bring. That calls take as long next to
// others as they took is assumed: true of what waits for a disk, a network or a person, and less true of two builds on
// one processor.
//
// Calls are taken as they were asked for. With another schedule a tool might have answered something else, and the
// model might have asked for something else then.
//
// How long a call took is what [transcript.Batch.Took] says. Formats differ in how good that is, which
// [FormatFigure].Text tells: an upper bound holds waiting, and then what is saved is an upper bound too. A call that
// was rejected took no time: its body did not run. One that was cancelled took what it took until then. Times count of
// those batches alone of which they are known of each call: not if one has no result, no clock or one that goes
// backwards, nor if it started an agent, asked a person or went on in the background. Steps, which need no clock, and
// inversions are those of all batches.
//
// Declarations decide which calls conflict. A tool without a rule is exclusive, as shells are by default, so that what
// is saved is what is safe to save: [Report].Tools says what a better declaration would bring at most. An inversion
// says that two calls that are declared to conflict would have run together or changed places. That is a risk that the
// policy takes, and no proof that something broke: around a command that only looked nothing did.
//
// A session that was resumed or forked may repeat an earlier one, and what a sub-agent does may be in two files. Such
// batches count each time, and among the problems it is said how many there are, of each source: those with the calls,
// their arguments and their ids of another before them. Without ids that no other call has, they cannot be told from
// others. A log that is read while it is written counts as far as it goes.
//
// # What is bounded
//
// Transcripts may be hostile, and without end. Sessions beyond the first 10,000 are summed in one; so are tools beyond
// 1,000 and waits beyond 4,000, of a source's session at most 1,000 sub-agents are counted, and problems are counted
// where they are not listed. A batch of more than 4,096 calls is left out, as is one with thousands of claims or a
// megabyte of keys; one of more than 100 calls is not drawn; and where one has very many exclusive tools other
// declarations are not tried. Each such batch is told among the problems. Repeats are looked for among 65,536 different
// batches.
//
// # What is told of a transcript
//
// No text: no prompt, no result, no argument, no id. A tool is named if its name looks like one, that is if it
// consists of at most 64 letters, digits and _ . : / -; and so are types of records that are not known. Keys are
// replaced, component by component, by names of the batch's own: d1/f2 is a file, ./ the working directory, ext/d1/f2
// is outside of it, url/u1 on a network, @todo/n1 something else. With [Options].Names keys are as they are. Of a line
// that is no JSON the one character is told at which that shows.
package replay
