// Package page draws a [replay.Report] as one HTML file for people: what keyed parallelism would have saved, what a
// host without order could have broken, and the batches that show it, as timelines.
//
// The file is complete in itself. It loads nothing, it has no script, and its Content-Security-Policy allows nothing
// but its own style sheet, so that whatever the names in a report are, they are shown and never run. It adapts to a
// phone, to a dark screen, to paper and to a screen reader: each drawing has the same data as a table beside it.
//
// The report itself is in the page, as JSON in the element with the id "report", so that what is shown can be checked
// and used again.
package page
