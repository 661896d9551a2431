package httpapi

import "reflect"

// Bodies are the types that the schemas of request bodies are read into, for the test that they agree.
var Bodies = map[string]reflect.Type{
	"SendTask":          reflect.TypeFor[sendBody](),
	"AddMessage":        reflect.TypeFor[messageBody](),
	"ReplyTask":         reflect.TypeFor[replyBody](),
	"CancelTask":        reflect.TypeFor[cancelBody](),
	"SetTaskState":      reflect.TypeFor[setBody](),
	"ClaimTask":         reflect.TypeFor[claimBody](),
	"Part":              reflect.TypeFor[partBody](),
	"File":              reflect.TypeFor[fileBody](),
	"OrganizationEdit":  reflect.TypeFor[organizationBody](),
	"IdentityEdit":      reflect.TypeFor[identityBody](),
	"SkillEdit":         reflect.TypeFor[skillBody](),
	"KeyRequest":        reflect.TypeFor[keyBody](),
	"ConnectionRequest": reflect.TypeFor[connectBody](),
	"AccessRules":       reflect.TypeFor[accessBody](),
	"Replay":            reflect.TypeFor[replayRequest](),
	"WebhookEdit":       reflect.TypeFor[webhookBody](),
}
