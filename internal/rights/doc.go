// Package rights holds what the functions' roles permit against what the functions were seen to do: nothing may be missing
// and nothing may be too much. Only tests import it. How calls are seen is localstack's (calls.jsonl of a test run), and
// making the functions do all that they ever do is system's.
//
// Names are compared as they stand, without wildcards being matched: what has no random part must be named in full, and
// what is made at run time is named up to its id.
package rights
