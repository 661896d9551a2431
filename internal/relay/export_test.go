package relay

import "io"

// SetMetrics sends the metrics elsewhere.
func SetMetrics(w io.Writer) { metrics = w }
