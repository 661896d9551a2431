package localstack

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"

	"go.yaml.in/yaml/v3"
)

// gatewayResponse is what the gateway answers by itself, as the template declares it.
type gatewayResponse struct {
	StatusCode int `yaml:"StatusCode"`
	Parameters struct {
		Headers map[string]string `yaml:"Headers"`
	} `yaml:"ResponseParameters"`
	Templates map[string]string `yaml:"ResponseTemplates"`
}

// setGatewayResponses gives the API the template's gateway responses: the local AWS drops them when it imports an API.
// They take effect with a new deployment of the stage.
func (t Tree) setGatewayResponses(ctx context.Context, s Server, api, stage string) error {
	text, err := os.ReadFile(t.Path("template.yaml"))
	if err != nil {
		return err
	}
	var template struct {
		Resources struct {
			Api struct {
				Properties struct {
					GatewayResponses map[string]gatewayResponse `yaml:"GatewayResponses"`
				} `yaml:"Properties"`
			} `yaml:"Api"`
		} `yaml:"Resources"`
	}
	if err := yaml.Unmarshal(text, &template); err != nil {
		return fmt.Errorf("template.yaml: %w", err)
	}
	for kind, r := range template.Resources.Api.Properties.GatewayResponses {
		headers := map[string]string{}
		for name, value := range r.Parameters.Headers {
			headers["gatewayresponse.header."+name] = value
		}
		err := s.configure(ctx, http.MethodPut, "/restapis/"+api+"/gatewayresponses/"+kind, map[string]any{
			"statusCode": fmt.Sprint(r.StatusCode), "responseParameters": headers, "responseTemplates": r.Templates,
		})
		if err != nil {
			return err
		}
	}
	return s.configure(ctx, http.MethodPost, "/restapis/"+api+"/deployments", map[string]any{"stageName": stage})
}

func (s Server) configure(ctx context.Context, method, path string, input any) error {
	body, err := json.Marshal(input)
	if err != nil {
		return err
	}
	status, err := s.call(ctx, "apigateway", method, path, body)
	if err == nil && status == http.StatusNotFound {
		err = fmt.Errorf("%s %s: not found", method, path)
	}
	return err
}
