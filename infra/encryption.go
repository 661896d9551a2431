package infra

// addEncryption puts the data under the customer's key where one is given. The key's policy, which also lets functions
// use it through these services, is in docs/operations.md: the key outlives the stack and is not its own.
func (w *wrap) addEncryption() {
	key := w.parameters.key
	for _, id := range w.source.ids(tableType) {
		w.override(id, "Properties.SSESpecification", key.orNothing(map[string]any{
			"SSEEnabled": true, "SSEType": "KMS", "KMSMasterKeyId": key.value,
		}))
	}
	for _, id := range w.source.ids(secretType) {
		w.override(id, "Properties.KmsKeyId", key.orNothing(key.value))
	}
	for _, id := range w.source.ids(queueType) {
		w.override(id, "Properties.KmsMasterKeyId", key.orNothing(key.value))
	}
}
