package metrics

// What is measured. Alarms and the dashboard (infra/) know these by their names, so a name that changes must change there.
var (
	// Of a request; httpapi measures them.
	DurationMs  = Metric{"DurationMs", Milliseconds}
	ReadUnits   = Metric{"ReadUnits", Count}
	WriteUnits  = Metric{"WriteUnits", Count}
	RoundTrips  = Metric{"RoundTrips", Count}
	RefusedKeys = Metric{"RefusedKeys", Count} // answers of 401
	Throttled   = Metric{"Throttled", Count}   // answers of 429
	Faults      = Metric{"Faults", Count}      // answers of 500 and above

	// Of a call to AWS; lambdaenv measures it.
	DeniedCalls = Metric{"DeniedCalls", Count} // for want of a right

	// Of a batch of changes; relay measures them.
	ChangesRelayed  = Metric{"ChangesRelayed", Count}
	ChangesToRetry  = Metric{"ChangesToRetry", Count}
	ChangesFailed   = Metric{"ChangesFailed", Count} // they went to the failure queue
	OldestChangeAge = Metric{"OldestChangeAge", Milliseconds}

	// Of an organization's bus; relay measures them.
	BusEvents        = Metric{"BusEvents", Count}
	BusFailures      = Metric{"BusFailures", Count} // calls of which the bus did not take all, after several tries
	BusTime          = Metric{"BusTime", Milliseconds}
	BusEventsWaiting = Metric{"BusEventsWaiting", Count} // in the log, for a bus that takes them
	BusesGone        = Metric{"BusesGone", Count}

	// Of a delivery to a webhook; webhook measures them.
	DeliveriesMade   = Metric{"DeliveriesMade", Count}
	DeliveriesFailed = Metric{"DeliveriesFailed", Count}
	DeliveriesParked = Metric{"DeliveriesParked", Count} // given up
	DeliveryMs       = Metric{"DeliveryMs", Milliseconds}
)
