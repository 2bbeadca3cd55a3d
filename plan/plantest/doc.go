// Package plantest checks planners and admissions against the contracts of package plan, your own as well as those
// that plan brings.
//
// Point [CheckPlanner] at any function that makes a plan and [CheckAdmission] at any function that opens an
// admission, and say which contracts it claims; each contract is a property that rapid tries to refute and shrinks
// when it can. An admission that can be cloned is a [Machine], and [Explore] walks every state that it can reach
// over a small alphabet of calls: every batch, every order of submitting, starting, settling and committing.
//
// Everything here is written to be obviously right and not to be fast: conflicts come from splitting keys into
// components, never from plan.Conflict; [Ordered] is the longest path in the conflict graph, computed as such;
// [NewRolling] is the rolling pool in a dozen lines. That is what makes agreement with them worth something.
package plantest
