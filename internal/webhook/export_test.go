package webhook

import "io"

// SetMetrics sends metrics elsewhere.
func SetMetrics(w io.Writer) { metrics = w }
