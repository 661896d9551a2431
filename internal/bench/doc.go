// Package bench measures what the service costs: DynamoDB units and round trips of each operation, how they grow,
// processor time and allocations, how long a function takes from process start to its first answer, and from all that the
// price of a million tasks.
//
// All of it is tests. Units and round trips are exact, so their budgets are checked at every run; make bench runs the
// same with -out, which takes larger sizes and more repetitions, prints a table and writes the report (contract
// section 8).
package bench
