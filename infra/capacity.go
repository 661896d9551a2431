package infra

import "slices"

// warm are the functions that a caller waits for at every step of a task.
var warm = []string{"SendTaskFunction", "ReadTaskFunction", "ReplyTaskFunction", "AddMessageFunction"}

// longCall is the time-out in seconds from which a function holds calls: waits take 25 s.
const longCall = 28

// addCapacity reserves concurrency, so that held calls cannot take what short ones need and no load can starve the
// relay, and keeps instances warm. Both are off until an installation gives figures.
func (w *wrap) addCapacity() {
	for _, id := range w.serving() {
		if w.source.Resources[id].timeout() >= longCall {
			w.override(id, "Properties.ReservedConcurrentExecutions", w.parameters.waiting.orNothing(w.parameters.waiting.value))
		}
		if slices.Contains(warm, id) {
			w.override(id, "Properties.ProvisionedConcurrencyConfig", w.parameters.provisioned.orNothing(map[string]any{
				"ProvisionedConcurrentExecutions": w.parameters.provisioned.value,
			}))
		}
	}
	for _, id := range w.working() {
		w.override(id, "Properties.ReservedConcurrentExecutions", w.parameters.relaying.orNothing(w.parameters.relaying.value))
		// A queue that starts more than may run counts what is refused as received, and gives up what was never tried.
		for name, most := range w.source.Resources[id].mostFromQueues() {
			w.override(id, "Properties.Events."+name+".Properties.ScalingConfig.MaximumConcurrency", w.parameters.relaying.or(most))
		}
	}
}
