// Package table gathers what a benchmark measures, round by round, and prints it beside
// what it should be.
//
// It promises that a figure in a report is the median of values that were added in this
// run, and that a row with a goal says whether the median keeps to it. It measures
// nothing itself. A Table is used by one goroutine at a time.
package table
