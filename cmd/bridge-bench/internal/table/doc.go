// Package table collects measurements, round by round, and prints them with their goals.
//
// Each figure of a report is the median of values added in this run. A row with a goal shows
// whether the median meets it. The package measures nothing itself. A Table must not be used
// concurrently.
package table
