// Package rehearsal plays a disaster on a local AWS: the tables are lost, and come back from a backup that an earlier
// version of the code wrote, under the same functions. It shows that callers get the answers of before, that retries are
// known, and that logs go on densely. docs/operations.md, "Restore", is what it rehearses; make restore-rehearsal runs it.
package rehearsal
